"""What reviewers read, flag and decide, and the facets by which they find conversations.

Imports `conversations` and what is below it.
"""
