"""The audit log for administrators: what was done, by whom, and whether the log is intact.

Imports `accounts`, `models` and what is below them.
"""
