"""The page on which administrators see what people share, and stop it.

Imports `accounts`, `models` and what is below them.
"""
