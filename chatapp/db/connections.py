"""Database connections outside the pool that pages and sockets share, and their lock timeouts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler


def unpooled_connection(
    databases: dict[str, Any], lock_seconds: float | None = None
) -> BaseDatabaseWrapper:
    """Return a new connection to the default database that does not wait for the pool.

    On SQLite it waits at most `lock_seconds` for a lock, if given.
    """
    default = dict(databases["default"])
    options = {name: value for name, value in default.get("OPTIONS", {}).items() if name != "pool"}
    if lock_seconds is not None and "timeout" in options:
        options["timeout"] = lock_seconds
    handler = ConnectionHandler({"default": default | {"OPTIONS": options}})
    connection: BaseDatabaseWrapper = handler["default"]
    return connection


def is_locked(error: Exception) -> bool:
    """Whether SQLite reports that another connection holds the lock."""
    return "database is locked" in str(error)


@contextmanager
def limit_lock_wait(connection: BaseDatabaseWrapper, seconds: float = 0.0) -> Iterator[None]:
    """Limit how long writes wait for SQLite's lock; they fail after that. No effect elsewhere."""
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
    """Truncate SQLite's write-ahead log, which otherwise keeps old pages until overwritten.

    Return whether it was truncated: False if other connections were in its way for longer than
    `seconds`, during which they can't write. Always False on PostgreSQL.
    """
    if connection.vendor != "sqlite":
        return False
    with limit_lock_wait(connection, seconds), connection.cursor() as cursor:
        was_busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not was_busy
