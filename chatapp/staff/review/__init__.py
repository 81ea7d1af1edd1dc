"""The review: lists of chats, opening one for a reason, reading it, decisions, labels and rules.

Imports `staff.usage`, `accounts`, `rendering`, `sessions`, `models` and what is below them.
"""
