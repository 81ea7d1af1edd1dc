"""The pages that connect an upstream: address, key, a test, and the models that people get.

Imports `staff.secret_forms`, `staff.people`, `accounts`, `realtime`, `catalogue`, `tools`, `models`
and what is below them.
"""
