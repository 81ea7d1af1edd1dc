"""The database migrations. They import only field types, choices and validators of `models`.

A migration must work while processes of the previous version run; see docs/development.md.
"""
