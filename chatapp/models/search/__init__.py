"""The full-text index over conversations, and reviewers' searches.

Imports `review` and what is below it.
"""
