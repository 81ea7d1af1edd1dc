"""Writes from the event loop, in a thread of their own.

A write waits for as long as another program holds the database: SQLite's one lock, or a row of
PostgreSQL. What only reads must not wait behind it, or no tab could connect meanwhile; that goes
by Channels' own thread.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from django.db import close_old_connections

NOTICE_SECONDS = 1.5  # until whoever waits is told that it takes long

T = TypeVar("T")

# One, so that our own writes wait for their turn here and not for each other's locks.
thread = ThreadPoolExecutor(1, "writes")


async def stored(
    write: Callable[[], T], tell_of_delay: Callable[[], Coroutine[Any, Any, None]] | None = None
) -> T:
    """What `write` returns. Where it takes long, that is told once, and it goes on."""
    loop = asyncio.get_running_loop()
    writing = loop.run_in_executor(thread, copy_context().run, _with_connection, write)
    if tell_of_delay is None:
        return await writing
    telling: list[asyncio.Task[None]] = []

    def tell() -> None:
        telling.append(loop.create_task(tell_of_delay()))

    notice = loop.call_later(NOTICE_SECONDS, tell)
    try:
        return await writing
    finally:
        notice.cancel()
        for one in telling:
            await one


def _with_connection(write: Callable[[], T]) -> T:
    """As `channels.db` does it, whose way there and back takes as long as a short write. Looked at
    once it has written, a connection is never one that broke while it was idle: PostgreSQL's go
    back to their pool."""
    try:
        return write()
    finally:
        close_old_connections()
