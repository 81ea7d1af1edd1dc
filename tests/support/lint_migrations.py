"""Refuses migrations that break old processes that still run, or fail because of triggers.

`python -m tests.support.lint_migrations` judges the SQL for PostgreSQL, whichever database is
configured, and needs no server: its connection renders statements and never connects. It does not
know existing constraints, so it misses a migration that only drops one, which breaks no process.
For triggers, it runs all migrations on SQLite in memory (`tests.support.lint_rebuilds`).
"""

import sys
from collections.abc import Sequence
from contextlib import nullcontext

import django
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from django_migration_linter import MigrationLinter
from psycopg.sql import quote

from tests.support.lint_rebuilds import describe_rebuild_under_triggers

# 0002 has a constraint that the single process of 0.1.0 always met, so it can't break that version.
# 0016 replaces it with a weaker one. 0042 renames what no released version knows. The constraint of
# 0074 ignores rows without an owner, and old processes store no others.
KNOWN_TO_BE_SAFE = [
    "0002_processes",
    "0016_one_streams_a_slot",
    "0042_stored_bytes",
    "0074_files_of_people",
]


def lint() -> bool:
    """Return whether all of the app's migrations pass, and print what is wrong with the others."""
    connected = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = _writer(connected.settings_dict)
    try:
        linter = MigrationLinter(
            include_apps=["chatapp"],
            ignore_name=KNOWN_TO_BE_SAFE,
            quiet=["ok", "ignore"],
            no_cache=True,
            analyser_string="postgresql",
        )
        linter.lint_all_migrations()
    finally:
        connections[DEFAULT_DB_ALIAS] = connected
    return not linter.has_errors


def _writer(settings: dict[str, object]) -> DatabaseWrapper:
    connection = DatabaseWrapper({**settings, "OPTIONS": {}}, DEFAULT_DB_ALIAS)
    vars(connection).update(cursor=nullcontext, pg_version=150000)
    connection.features.can_rollback_ddl = False  # nothing is executed, so no transaction is begun
    nothing = {"get_table_list": lambda cursor: [], "get_constraints": lambda cursor, table: {}}
    vars(connection.introspection).update(nothing)
    vars(connection.ops).update(compose_sql=_compose_sql)
    return connection


def _compose_sql(sql: str, params: Sequence[object] | None) -> str:
    return sql % tuple(map(quote, params)) if params else sql


if __name__ == "__main__":
    django.setup()
    if not lint():
        sys.exit(
            "While an upgrade runs, old processes work on the new schema: add first (nullable, or "
            "with db_default), and drop or rename in a later version."
        )
    if problem := describe_rebuild_under_triggers():
        sys.exit(
            f"A migration rebuilds a table while triggers name it: {problem}\n"
            "Make it atomic, so that triggers are dropped before it and restored after it."
        )
