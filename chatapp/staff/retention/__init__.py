"""The page of retention: how long data is kept, with a preview of what would be deleted.

Imports `staff.people`, `accounts`, `models` and what is below them.
"""
