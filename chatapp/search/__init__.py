"""Search over a person's own messages, replies and chats, and over the app's commands.

Imports `sessions`, `models`, `text` and what is below them.
"""
