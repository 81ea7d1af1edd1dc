"""Django middleware that every page passes through.

Imports `sessions`, `models` and what is below them.
"""
