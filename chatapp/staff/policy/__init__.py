"""The page of the review policy: what reviewers may read.

Imports `staff.people`, `accounts`, `realtime`, `models` and what is below them.
"""
