"""SQL in files of its own, one for each database, in a folder `sql` beside the module that runs it.

Full-text indexes are created after every `migrate` and not by a migration, because Django knows no
portable form of them. For triggers see `chatapp.db.triggers`.
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

MigrateCallback = Callable[[BaseDatabaseWrapper], None]


def read_sql(module: str, name: str, vendor: str, **pieces: str) -> str:
    """Return the text of `sql/<name>.<vendor>.sql`, beside the file of the module.

    The pieces replace their names in braces.
    """
    script = (Path(module).parent / "sql" / f"{name}.{vendor}.sql").read_text()
    for piece, sql in pieces.items():
        script = script.replace(f"{{{piece}}}", sql)
    return script


def run_sql(module: str, name: str, connection: BaseDatabaseWrapper) -> None:
    """Run all statements of such a file in one transaction."""
    script = read_sql(module, name, connection.vendor)
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        for statement in split_script(script, connection.vendor):
            cursor.execute(statement)


def split_script(script: str, vendor: str) -> Iterator[str]:
    """Split a script for SQLite, which runs one statement at a time; each must end its line."""
    if vendor != "sqlite":
        if script:
            yield script
        return
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def after_migrate(model: str, field: str) -> Callable[[MigrateCallback], MigrateCallback]:
    """Call the decorated function after each `migrate`, with the connection.

    It is not called after migrating back to a version whose model lacks this field.
    """

    def decorate(function: MigrateCallback) -> MigrateCallback:
        def receive(sender: AppConfig, using: str, apps: Any = global_apps, **_: object) -> None:
            if sender.name == "chatapp" and has_field(apps, model, field):
                function(connections[using])

        post_migrate.connect(receive, weak=False)
        return function

    return decorate


def has_field(apps: Any, model: str, field: str) -> bool:
    """Return whether this version of the app's models has the field."""
    with suppress(LookupError, FieldDoesNotExist):
        apps.get_model("chatapp", model)._meta.get_field(field)
        return True
    return False
