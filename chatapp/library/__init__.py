"""The library of saved prompts: its pages, its files, and the list in the composer.

Imports `accounts`, `realtime`, `sessions`, `models`, `text` and what is below them.
"""
