"""The backend itself, by the name that Django looks for."""

import sqlite3
from typing import Any

from django.db.backends.sqlite3 import base


class DatabaseWrapper(base.DatabaseWrapper):
    def create_cursor(self, name: Any = None) -> Any:
        return self.connection.cursor(factory=Cursor)


class Cursor(base.SQLiteCursorWrapper):
    """One that failed lets its statement go at once, in the thread of its connection.

    Its error refers to it, in a cycle that Python's collector may end in any thread. To let a
    statement go, SQLite takes the connection's lock, and Python holds its own meanwhile: with the
    connection waiting for a locked database, the whole process stood still for as long.
    """

    def execute(self, query: str, params: Any = None) -> Any:
        try:
            return super().execute(query, params)
        except sqlite3.Error:
            self.close()
            raise

    def executemany(self, query: str, param_list: Any) -> Any:
        try:
            return super().executemany(query, param_list)
        except sqlite3.Error:
            self.close()
            raise
