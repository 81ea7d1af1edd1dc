"""The pages of tool servers: their settings, their tools, and deleting one.

Imports `staff.admin`, `staff.people`, `accounts`, `tools`, `models` and what is below them.
"""
