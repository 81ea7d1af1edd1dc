"""A conversation with its settings, its place in lists and projects, and its feedback.

Imports `threads` and `messages`.
"""
