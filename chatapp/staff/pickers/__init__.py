"""Suggestions while somebody types a person, a model or a chat, for fields of all staff pages.

Without JavaScript they are plain text fields that take a username, a model's ID or a chat's ID.
Imports `accounts`, `catalogue`, `models` and what is below them.
"""
