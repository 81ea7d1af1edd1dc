"""The pages that connect an upstream: address, key, a test, and the models that people get.

Rarely changed settings of an upstream are in the admin. Imports `staff.admin`, `staff.people`,
`accounts`, `realtime`, `catalogue`, `models` and what is below them.
"""
