"""Connections to the database beside the pool that pages and sockets share, and their patience."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler


def unpooled_connection(
    databases: dict[str, Any], lock_seconds: float | None = None
) -> BaseDatabaseWrapper:
    """A connection to the default database of these settings, which waits for no other to end.

    On SQLite it waits `lock_seconds` for a lock, where that is given.
    """
    default = dict(databases["default"])
    options = {name: value for name, value in default.get("OPTIONS", {}).items() if name != "pool"}
    if lock_seconds is not None and "timeout" in options:
        options["timeout"] = lock_seconds
    handler = ConnectionHandler({"default": default | {"OPTIONS": options}})
    connection: BaseDatabaseWrapper = handler["default"]
    return connection


def is_locked(error: Exception) -> bool:
    """Whether it is SQLite's word for a lock that another connection holds."""
    return "database is locked" in str(error)


@contextmanager
def impatient(connection: BaseDatabaseWrapper, seconds: float = 0.0) -> Iterator[None]:
    """What is written meanwhile fails where another program locks SQLite for longer than that."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        (usual,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual}")


def empty_write_ahead_log(connection: BaseDatabaseWrapper, seconds: float = 0.0) -> bool:
    """SQLite's, which has old pages of the database for as long as nobody writes over them; whether
    nobody was in its way for longer than that, in which nobody else writes."""
    if connection.vendor != "sqlite":
        return False
    with impatient(connection, seconds), connection.cursor() as cursor:
        was_busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not was_busy
