"""Django middleware, which every page goes through.

Imports `sessions`, `models` and what is below them.
"""
