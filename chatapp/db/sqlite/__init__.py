"""Django's SQLite backend, changed so that no thread waits for another connection's lock.

Imports nothing of the app.
"""
