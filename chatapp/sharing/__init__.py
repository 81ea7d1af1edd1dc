"""Shared chats: the dialog and list of their owners, and the read-only page of their readers.

A reader's page has a socket of its own, which takes no actions. Imports `files`, `chat`,
`accounts`, `realtime`, `rendering`, `sessions`, `models` and what is below them.
"""
