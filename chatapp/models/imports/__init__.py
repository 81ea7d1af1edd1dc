"""Imports of chats from other apps: what was uploaded, what came of it, and how it is undone."""
