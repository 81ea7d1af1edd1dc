"""Review: staff find conversations, open them with a reason, read them and decide about them.

Imports `staff.usage`, `accounts`, `rendering`, `sessions`, `models` and what is below them.
"""
