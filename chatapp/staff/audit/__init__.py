"""The page of the audit log: what staff did, and whether the log is unchanged.

Imports `accounts`, `models` and what is below them.
"""
