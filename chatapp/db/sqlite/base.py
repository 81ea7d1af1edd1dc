"""The backend, in the module that Django looks for."""

import sqlite3
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.backends.sqlite3.schema import DatabaseSchemaEditor as SQLiteSchemaEditor

from chatapp.db.schema_editors import WithoutTriggers


class DatabaseSchemaEditor(WithoutTriggers, SQLiteSchemaEditor):
    pass


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = DatabaseSchemaEditor

    def create_cursor(self, name: Any = None) -> Any:
        return self.connection.cursor(factory=Cursor)


class Cursor(base.SQLiteCursorWrapper):
    """A cursor that closes itself when a statement fails, in the thread of its connection.

    Otherwise the error and the cursor form a reference cycle, which Python may collect in any
    thread. To finalize a statement, SQLite takes the connection's mutex while Python holds the GIL:
    if the connection was waiting for a locked database, the whole process waited with it.
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
