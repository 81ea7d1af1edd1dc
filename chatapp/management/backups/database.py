"""Common parts of SQLite and PostgreSQL backups: the snapshot, and checks of row counts."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError

from chatapp.models.audit import Head

# Tables that `migrate` fills.
SEEDED = frozenset({"django_migrations", "django_content_type", "auth_permission"})

Execute = Callable[[Any], Any]  # runs SQL and returns a cursor


@dataclass(frozen=True)
class Snapshot:
    """A copy of the database as it was at one moment."""

    rows: Mapping[str, int]  # number of rows by table
    migrations: list[str]  # applied ones, as app.name
    audit_head: str  # end of the audit log
    size: int  # approximate size of `chunks` in bytes; 0 if unknown
    chunks: Iterator[bytes]


def count_rows(execute: Execute, tables: Iterable[str]) -> dict[str, int]:
    return {
        table: execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]  # noqa: S608 - names from the database
        for table in sorted(tables)
    }


def read_migrations(execute: Execute, tables: Iterable[str]) -> list[str]:
    if "django_migrations" not in tables:
        raise CommandError("There is nothing to back up: the database has no tables yet.")
    rows = execute("SELECT app, name FROM django_migrations ORDER BY id").fetchall()
    return [f"{app}.{name}" for app, name in rows]


def audit_head(execute: Execute, tables: Iterable[str]) -> str:
    """Return the end of the audit log, formatted as `Head`; "" if it is empty."""
    if "chatapp_audithead" not in tables:
        return ""
    rows = execute("SELECT sequence, link FROM chatapp_audithead").fetchall()
    return "".join(str(Head(*row)) for row in rows)


def refuse_rows(rows: Mapping[str, int], remedy: str) -> None:
    """Raise `CommandError` if a table has rows that `migrate` didn't create."""
    filled_tables = [
        f"{count} in {table}" for table, count in rows.items() if count and table not in SEEDED
    ]
    if filled_tables:
        raise CommandError(
            f"This installation is not empty (rows: {', '.join(filled_tables)}). "
            f"Nothing was changed. {remedy}"
        )


def refuse_difference(rows: Mapping[str, int], expected: Mapping[str, int]) -> None:
    if rows != expected:
        raise CommandError(
            "The row counts of the restored tables differ from the backup. Don't use this database."
        )
