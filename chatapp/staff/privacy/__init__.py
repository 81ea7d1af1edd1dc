"""The Privacy page: who may read a person's chats, who did, and exporting or erasing their data.

Imports `staff.usage`, `chat`, `accounts`, `models` and what is below them.
"""
