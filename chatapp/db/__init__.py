"""What Django lacks at the database: prepared statements, locks, encrypted fields, errors in words.

Imports `checks`.
"""
