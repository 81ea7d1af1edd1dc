"""Files: bytes that are stored once, by their hash, outside of the database.

Imports `models.refusals` and what is below `models`.
"""
