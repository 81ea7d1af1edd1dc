"""Readers of single chats, a module for each app that exports them.

Each has `is_chat`, which recognises the JSON of a chat, and `read_chat`, which reads it.
"""
