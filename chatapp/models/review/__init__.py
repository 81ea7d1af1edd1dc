"""The reading, flags and decisions of reviewers, and the facets that find conversations.

Imports `conversations` and what is below it.
"""
