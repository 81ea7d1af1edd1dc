"""The page of the settings of the whole installation.

Imports `staff.people`, `accounts`, `models` and what is below them.
"""
