"""A person's Privacy page: who read their chats, all their data as an archive, erasing the account.

Imports `staff.usage`, `chat`, `accounts`, `models` and what is below them.
"""
