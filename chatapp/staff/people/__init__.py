"""The administrators' People pages: accounts, roles, groups, invitations and who may join.

Imports `accounts`, `realtime`, `models` and what is below them.
"""
