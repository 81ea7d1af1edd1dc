"""Chats that their owners share: links, for whom they are, and what they show.

Imports `models.conversations` and what is below it.
"""
