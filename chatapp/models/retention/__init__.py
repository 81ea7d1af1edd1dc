"""The retention of data: periods, and the deletion of what is due, also from database files.

Imports `search`, `review` and what is below them.
"""
