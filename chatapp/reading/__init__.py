"""Reads and scales images in threads: those of a request to a model, and those of tools.

Imports `tools`, `models`, `documents` and what is below them.
"""
