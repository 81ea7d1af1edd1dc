"""Locks between processes that share a database, or on SQLite a data directory."""

import fcntl
import logging
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from django.conf import settings
from django.db import connection

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.1


@contextmanager
def only_one_process(name: str) -> Iterator[None]:
    """Run the body in one process at a time; the others wait here for their turn.

    The lock is released when its process dies, so a crash locks nobody out. Not reentrant.
    """
    attempts = _advisory_lock if connection.vendor == "postgresql" else _file_lock
    with attempts(name) as attempt:
        if not attempt():
            logger.info("Waiting for another process to finish: %s", name)
            while not attempt():
                time.sleep(POLL_SECONDS)
        yield


@contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Hold a lock for the rest of the transaction; others with the same name wait until it ends.

    SQLite needs no such lock: its transactions begin as writers, so there is one at a time.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [zlib.crc32(name.encode())])
    yield


@contextmanager
def _advisory_lock(name: str) -> Iterator[Callable[[], bool]]:
    """Yield a function that tries to take the lock, in a database session of its own.

    So the body may close its connection. The caller polls, because a session that waits in
    `pg_advisory_lock` holds a snapshot, and the holder of the lock might be waiting for that to end
    (`CREATE INDEX CONCURRENTLY` does).
    """
    with closing(connection.copy()) as session, session.cursor() as cursor:

        def attempt() -> bool:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [zlib.crc32(name.encode())])
            return bool(cursor.fetchone()[0])

        try:
            yield attempt
        finally:
            # Otherwise the session would go back to the pool with the lock still held.
            cursor.execute("SELECT pg_advisory_unlock_all()")


@contextmanager
def _file_lock(name: str) -> Iterator[Callable[[], bool]]:
    with (settings.DATA_DIR / f"{name}.lock").open("w") as file:

        def attempt() -> bool:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        yield attempt
