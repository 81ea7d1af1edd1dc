"""Django's SQLite backend, changed so that no thread waits for another connection's lock and that
migrations run without the app's triggers.
"""
