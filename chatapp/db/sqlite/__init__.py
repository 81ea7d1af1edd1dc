"""Django's SQLite backend, in which no thread waits for another thread's lock.

Imports nothing of the app.
"""
