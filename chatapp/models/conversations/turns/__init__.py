"""What people do in a conversation: ask, retry, delete, fork, leave out, summarise.

Imports `chats`, `threads` and `messages`.
"""
