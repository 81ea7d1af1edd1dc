"""SQL in files of its own, one for each database, in a folder `sql` beside the module that runs it.

Triggers and full-text indexes are created after every `migrate` and not by a migration: on SQLite,
Django rebuilds a table to change it, and its triggers are dropped with the old one.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.core.exceptions import FieldDoesNotExist
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate

Migrated = Callable[[BaseDatabaseWrapper], None]


def read_sql(module: str, name: str, connection: BaseDatabaseWrapper) -> str:
    """Return the text of `sql/<name>.<database>.sql`, beside the file of the module."""
    return (Path(module).parent / "sql" / f"{name}.{connection.vendor}.sql").read_text()


def run_sql(module: str, name: str, connection: BaseDatabaseWrapper) -> None:
    """Run all statements of such a file in one transaction."""
    script = read_sql(module, name, connection)
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        for statement in _statements(script) if connection.vendor == "sqlite" else (script,):
            cursor.execute(statement)


def _statements(script: str) -> Iterator[str]:
    """Split a script, as SQLite runs one statement at a time; each must end its line."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def after_migrate(model: str, field: str) -> Callable[[Migrated], Migrated]:
    """Call the decorated function after each `migrate`, with the connection.

    It is not called after migrating back to a version whose model lacks this field.
    """

    def decorate(function: Migrated) -> Migrated:
        def receive(sender: AppConfig, using: str, apps: Any = global_apps, **_: object) -> None:
            if sender.name == "chatapp" and _has_field(apps, model, field):
                function(connections[using])

        post_migrate.connect(receive, weak=False)
        return function

    return decorate


def _has_field(apps: Any, model: str, field: str) -> bool:
    with suppress(LookupError, FieldDoesNotExist):
        apps.get_model("chatapp", model)._meta.get_field(field)
        return True
    return False
