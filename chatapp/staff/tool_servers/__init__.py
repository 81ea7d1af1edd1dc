"""The pages of tool servers: their settings, their tools, and deleting one.

Imports `staff.secret_forms`, `staff.people`, `accounts`, `tools`, `models` and what is below them.
"""
