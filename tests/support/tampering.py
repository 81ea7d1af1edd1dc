"""Attacks of somebody who owns the database but lacks the key of the audit log."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

TABLES = ("chatapp_auditevent", "chatapp_auditdetail")


@contextmanager
def without_triggers() -> Iterator[None]:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            for table in TABLES:
                cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            yield
            for table in TABLES:
                cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
            return
        cursor.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%audit%'"
        )
        triggers = cursor.fetchall()
        assert triggers
        for name, _ in triggers:
            cursor.execute(f"DROP TRIGGER {name}")
        yield
        for _, sql in triggers:
            cursor.execute(sql)


def tamper(sql: str, *values: int | str) -> None:
    with without_triggers(), connection.cursor() as cursor:
        cursor.execute(sql, values)
