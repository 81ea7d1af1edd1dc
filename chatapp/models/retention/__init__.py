"""How long data is kept, and deleting what is due, from the database's files, too.

Imports `search`, `review` and what is below them.
"""
