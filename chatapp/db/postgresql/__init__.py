"""Django's PostgreSQL backend, with transactions that can end in one message.

Imports nothing of the app.
"""
