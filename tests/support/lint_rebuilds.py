"""Finds migrations that rebuild a table of SQLite while triggers name it.

SQLite refuses that, or silently drops the table's own triggers. `chatapp.db.schema_editors` drops
all triggers before a migration and restores them after it, but not for one that isn't atomic.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ProjectState

from chatapp.db.sqlite.base import DatabaseWrapper

NAMES_TABLE = (
    'CREATE TRIGGER "names_{table}" AFTER INSERT ON "{other}"'
    ' BEGIN DELETE FROM "{table}" WHERE false; END'
)


def describe_rebuild_under_triggers() -> str:
    """Apply all migrations to a new database and describe the first bad one, "" if all are good."""
    with _new_database() as connection:
        executor = MigrationExecutor(connection)
        state = ProjectState(real_apps=executor.loader.unmigrated_apps)
        connection.prepare_database()
        executor.recorder.ensure_schema()
        for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes()):
            _replace_triggers(connection)
            expected = _read_triggers(connection)
            try:
                state = executor.apply_migration(state, migration)
            except DatabaseError as error:
                return f"{migration}: {error}"
            tables = connection.introspection.table_names()
            remaining = _read_triggers(connection)
            lost = [name for name, on in expected if on in tables and (name, on) not in remaining]
            if lost:
                return f"{migration} drops triggers, such as {min(lost)}"
    return ""


@contextmanager
def _new_database() -> Iterator[BaseDatabaseWrapper]:
    """Connect the default alias, which migrations use, to an empty SQLite database."""
    connected = connections[DEFAULT_DB_ALIAS]
    settings = {**connected.settings_dict, "OPTIONS": {}, "NAME": ":memory:"}
    connection = connections[DEFAULT_DB_ALIAS] = DatabaseWrapper(settings, DEFAULT_DB_ALIAS)
    try:
        yield connection
    finally:
        connection.close()
        connections[DEFAULT_DB_ALIAS] = connected


def _replace_triggers(connection: BaseDatabaseWrapper) -> None:
    """Make one trigger for each table, which belongs to another table and names this one."""
    tables = connection.introspection.table_names()
    with connection.cursor() as cursor:
        for name, _ in _read_triggers(connection):
            cursor.execute(f'DROP TRIGGER "{name}"')
        for table, other in zip(tables, tables[1:] + tables[:1], strict=True):
            cursor.execute(NAMES_TABLE.format(table=table, other=other))


def _read_triggers(connection: BaseDatabaseWrapper) -> set[tuple[str, str]]:
    """Return the triggers as pairs of their name and their table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'")
        return {(name, table) for name, table in cursor.fetchall()}
