"""The app's triggers, with their views and functions: drop and restore those in the database, make
this version's.

A package registers the SQL of its triggers with `trigger_source`. After each `migrate` the database
has exactly the registered ones; while a migration runs it has none (`chatapp.db.schema_editors`):
SQLite can't rebuild a table that another table's trigger names, and PostgreSQL can't change a
column that a trigger or a view names. What to drop is read from the database, because the triggers
there are those of the version that made them.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.apps import AppConfig
from django.apps import apps as installed_apps
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate
from django.dispatch import receiver

from chatapp.db.sql_files import has_field, split_script

logger = logging.getLogger(__name__)

LOCK_TIMEOUT = "200ms"  # less than PostgreSQL's deadlock_timeout, so that nobody is cancelled
RETRY_SECONDS = 0.1
SCRATCH_SCHEMA = "chatapp_expected_triggers"

# SQLite looks at all triggers when it renames a table, so those of others are included.
SQLITE_DEFINITIONS = [
    "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')"
    " ORDER BY rowid"
]
POSTGRESQL_DEFINITIONS = [
    """
SELECT 'function', proname, '', pg_get_functiondef(oid)
FROM pg_proc
WHERE proname LIKE 'chatapp\\_%' AND pronamespace = current_schema()::regnamespace
ORDER BY oid
""",
    """
SELECT 'view', relname, '',
  'CREATE VIEW ' || quote_ident(relname) || ' AS ' || pg_get_viewdef(oid)
FROM pg_class
WHERE relkind = 'v' AND relname LIKE 'chatapp\\_%' AND relnamespace = current_schema()::regnamespace
ORDER BY oid
""",
    """
SELECT 'trigger', tgname, relname, pg_get_triggerdef(pg_trigger.oid), tgenabled = 'O'
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE NOT tgisinternal AND tgname LIKE 'chatapp\\_%'
AND relnamespace = current_schema()::regnamespace
""",
]
CREATED_IN_SQLITE = re.compile(r"CREATE (?P<kind>TRIGGER|VIEW) (?:IF NOT EXISTS )?(?P<name>\w+)\s")


class Definition(NamedTuple):
    """A trigger, a view or, on PostgreSQL, a function as the database stores it."""

    kind: str  # "trigger", "view" or "function"
    name: str
    table: str  # whose trigger it is
    sql: str
    is_enabled: bool = True

    @property
    def is_ours(self) -> bool:
        return self.name.startswith("chatapp_")


class TriggerSource(NamedTuple):
    """Registered SQL: `script` returns it for a vendor, "" if that needs none."""

    model: str
    field: str
    script: Callable[[str], str]
    refresh: Callable[[BaseDatabaseWrapper], None] | None


_sources: list[TriggerSource] = []


def trigger_source(
    model: str, field: str, refresh: Callable[[BaseDatabaseWrapper], None] | None = None
) -> Callable[[Callable[[str], str]], Callable[[str], str]]:
    """Register the decorated function, which returns the SQL for "sqlite" or "postgresql".

    The triggers are left out after a migration back to a version whose model lacks this field.
    `refresh` runs in the transaction that makes the triggers, if the database may have changed
    without them: it updates what they maintain, or marks it as out of date.
    """

    def register(script: Callable[[str], str]) -> Callable[[str], str]:
        _sources.append(TriggerSource(model, field, script, refresh))
        return script

    return register


@receiver(post_migrate)
def after_migrating(
    sender: AppConfig,
    using: str,
    plan: Sequence[Any] = (),
    apps: Any = installed_apps,
    **_: object,
) -> None:
    if sender.name == "chatapp" and (plan or not are_current(connections[using], apps)):
        make_triggers(using, apps)


def make_triggers(using: str = DEFAULT_DB_ALIAS, apps: Any = installed_apps) -> None:
    """Replace the app's triggers, views and functions in the database with this version's."""
    connection = connections[using]
    with transaction.atomic(using):
        drop_triggers(connection)
        sources = _sources_for(apps)
        with connection.cursor() as cursor:
            for source in sources:
                for statement in split_script(source.script(connection.vendor), connection.vendor):
                    cursor.execute(statement)
        for source in sources:
            if source.refresh:
                source.refresh(connection)


def are_current(connection: BaseDatabaseWrapper, apps: Any = installed_apps) -> bool:
    """Return whether the database has exactly this version's triggers, views and functions."""
    return not find_differences(connection, apps)


def find_differences(connection: BaseDatabaseWrapper, apps: Any = installed_apps) -> list[str]:
    """Return the names of triggers, views and functions that are missing, changed or unknown."""
    expected = {
        _normalize_definition(definition) for definition in _expected_definitions(connection, apps)
    }
    existing = {
        _normalize_definition(definition)
        for definition in read_definitions(connection)
        if definition.is_ours
    }
    return sorted({definition.name for definition in expected ^ existing})


def read_definitions(connection: BaseDatabaseWrapper) -> list[Definition]:
    """Return what is in the database, each after those it may depend on."""
    definitions = []
    with connection.cursor() as cursor:
        for query in (
            SQLITE_DEFINITIONS if connection.vendor == "sqlite" else POSTGRESQL_DEFINITIONS
        ):
            cursor.execute(query)
            definitions += [Definition(*row) for row in cursor.fetchall()]
    return definitions


def drop_triggers(connection: BaseDatabaseWrapper) -> list[Definition]:
    """Drop the triggers, views and functions, and return them for `restore_triggers`.

    Must run in a transaction. On PostgreSQL nobody else can use the app's tables until it ends.
    """
    if connection.vendor == "postgresql":
        _lock_tables(connection)
    definitions = read_definitions(connection)
    with connection.cursor() as cursor:
        for definition in reversed(definitions):  # views may read earlier views
            table = f' ON "{definition.table}"' if definition.kind == "trigger" else ""
            on = table if connection.vendor == "postgresql" else ""
            cursor.execute(f'DROP {definition.kind} "{definition.name}"{on}')
    return definitions


def restore_triggers(connection: BaseDatabaseWrapper, definitions: Iterable[Definition]) -> None:
    """Make them again as they were, except those that no longer fit the schema.

    Until the upgrade has ended, they serve the processes of the version that made them.
    """
    for definition in definitions:
        try:
            with _savepoint(connection), connection.cursor() as cursor:
                cursor.execute(definition.sql)
        except DatabaseError as error:
            logger.info("Left out %s %s: %s", definition.kind, definition.name, error)


def _sources_for(apps: Any) -> list[TriggerSource]:
    return [source for source in _sources if has_field(apps, source.model, source.field)]


def _expected_definitions(connection: BaseDatabaseWrapper, apps: Any) -> list[Definition]:
    scripts = [source.script(connection.vendor) for source in _sources_for(apps)]
    if connection.vendor == "postgresql":
        return _definitions_in_scratch(connection, scripts)
    statements = (statement for script in scripts for statement in split_script(script, "sqlite"))
    created = ((CREATED_IN_SQLITE.search(statement), statement) for statement in statements)
    return [
        Definition(match["kind"].lower(), match["name"], "", statement[match.start() :])
        for match, statement in created
        if match
    ]


def _definitions_in_scratch(
    connection: BaseDatabaseWrapper, scripts: Iterable[str]
) -> list[Definition]:
    """Make the triggers on empty copies of the tables, so that PostgreSQL writes their definitions.

    Everything is rolled back. The tables themselves are only read.
    """
    with _rollback(connection), connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        [schema] = cursor.fetchone()
        tables = _read_tables(cursor)
        cursor.execute(f"CREATE SCHEMA {SCRATCH_SCHEMA}")
        for table in tables:
            cursor.execute(f'CREATE TABLE {SCRATCH_SCHEMA}."{table}" (LIKE "{schema}"."{table}")')
        cursor.execute(f"SET LOCAL search_path TO {SCRATCH_SCHEMA}")
        for script in filter(None, scripts):
            cursor.execute(script)
        return read_definitions(connection)


def _normalize_definition(definition: Definition) -> Definition:
    """Return the definition without what differs between equal ones: the names of schemas, IF NOT
    EXISTS and the final semicolon. Its text names its table."""
    sql = re.sub(r"\b\w+\.(?=chatapp_)|(?<=TRIGGER )IF NOT EXISTS ", "", definition.sql)
    return definition._replace(table="", sql=sql.strip().rstrip(";"))


def _read_tables(cursor: Any) -> list[str]:
    cursor.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        " AND tablename LIKE 'chatapp\\_%' ORDER BY 1"
    )
    return [name for (name,) in cursor.fetchall()]


def _lock_tables(connection: BaseDatabaseWrapper) -> None:
    """Lock all tables of the app, so that the old version, which still serves, can't deadlock.

    Dropping a trigger locks its table anyway. The wait is short and is repeated, because
    others who want a table queue behind it.
    """
    with connection.cursor() as cursor:
        tables = ", ".join(f'"{table}"' for table in _read_tables(cursor))
        if not tables:
            return
        cursor.execute(f"SET LOCAL lock_timeout TO '{LOCK_TIMEOUT}'")
        has_logged = False
        while True:
            try:
                with _savepoint(connection):
                    cursor.execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")
                break
            except OperationalError as error:
                if "lock timeout" not in str(error):
                    raise
                if not has_logged:
                    logger.info("Waiting for other sessions to release the tables")
                has_logged = True
                time.sleep(RETRY_SECONDS)
        cursor.execute("SET LOCAL lock_timeout TO DEFAULT")


@contextmanager
def _savepoint(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Undo the block if it raises an error. `atomic` would do so for an alias only."""
    savepoint = _begin_savepoint(connection)
    try:
        yield
    except BaseException:
        connection.savepoint_rollback(savepoint)
        raise
    connection.savepoint_commit(savepoint)


@contextmanager
def _rollback(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Undo the block in any case."""
    if connection.in_atomic_block:
        savepoint = _begin_savepoint(connection)
        try:
            yield
        finally:
            connection.savepoint_rollback(savepoint)
        return
    connection.set_autocommit(False)
    try:
        yield
    finally:
        connection.rollback()
        connection.set_autocommit(True)


def _begin_savepoint(connection: BaseDatabaseWrapper) -> str:
    savepoint = connection.savepoint()
    if savepoint is None:
        raise transaction.TransactionManagementError("There is no transaction to undo a part of.")
    return savepoint
