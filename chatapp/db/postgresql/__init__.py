"""Django's PostgreSQL backend, extended to send the last statements together with the COMMIT.

Imports nothing of the app.
"""
