"""What both databases have in common: what a copy holds, and what an empty one does."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError

from chatapp.models.audit import Head

# What `migrate` fills by itself.
SEEDED = frozenset({"django_migrations", "django_content_type", "auth_permission"})

Execute = Callable[[Any], Any]  # of a connection: SQL to a cursor that can be fetched from


@dataclass(frozen=True)
class Snapshot:
    """A copy of the database as it was at one moment."""

    rows: Mapping[str, int]  # of each table
    migrations: list[str]  # that were applied, as app.name
    audit_head: str  # where the audit log ends
    size: int  # about that of `chunks`, in bytes; 0 where nobody knows
    chunks: Iterator[bytes]


def counted(execute: Execute, tables: Iterable[str]) -> dict[str, int]:
    return {
        table: execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]  # noqa: S608 - the database's own names
        for table in sorted(tables)
    }


def applied(execute: Execute, tables: Iterable[str]) -> list[str]:
    if "django_migrations" not in tables:
        raise CommandError("There is nothing to back up: the database has no tables yet.")
    rows = execute("SELECT app, name FROM django_migrations ORDER BY id").fetchall()
    return [f"{app}.{name}" for app, name in rows]


def audit_head(execute: Execute, tables: Iterable[str]) -> str:
    """As `chatapp.models.audit.Head` writes it; "" where nothing was recorded yet."""
    if "chatapp_audithead" not in tables:
        return ""
    rows = execute("SELECT sequence, link FROM chatapp_audithead").fetchall()
    return "".join(str(Head(*row)) for row in rows)


def refuse_rows(rows: Mapping[str, int], cure: str) -> None:
    """Raises `CommandError` where a table holds what somebody may miss."""
    held = [f"{count} in {table}" for table, count in rows.items() if count and table not in SEEDED]
    if held:
        raise CommandError(
            f"This installation is not empty (rows: {', '.join(held)}). Nothing was changed. {cure}"
        )


def refuse_difference(rows: Mapping[str, int], expected: Mapping[str, int]) -> None:
    if rows != expected:
        raise CommandError(
            "The restored tables have other numbers of rows than the backup says: do not use them."
        )
