"""Imports of chats from other apps: the pages, and the job that reads an export and stores it.

`transfer` reads the exports. `rows` turns its records into database rows, and `storing` stores them
in short transactions.
"""
