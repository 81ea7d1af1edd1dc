"""The pages of people: accounts, roles, groups, invitations, and access to models.

Imports `accounts`, `realtime`, `models` and what is below them.
"""
