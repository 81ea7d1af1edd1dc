"""Writes from the event loop, in a thread of their own.

A write waits for as long as another program holds the database: SQLite's one lock, or a row of
PostgreSQL. What only reads must not wait behind it, or no tab could connect meanwhile; that goes
by Channels' own thread.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from django.db import close_old_connections

NOTICE_SECONDS = 1.5  # until whoever waits is told that it takes long

T = TypeVar("T")

# One, so that our own writes wait for their turn here and not for each other's locks.
thread = ThreadPoolExecutor(1, "writes")


async def stored(
    write: Callable[[], T], tell_of_delay: Callable[[], Awaitable[None]] | None = None
) -> T:
    """What `write` returns. Where it takes long, that is told once, and it goes on."""
    loop = asyncio.get_running_loop()
    writing = loop.run_in_executor(thread, copy_context().run, _with_connection, write)
    if tell_of_delay:
        await asyncio.wait({writing}, timeout=NOTICE_SECONDS)
        if not writing.done():
            await tell_of_delay()
    return await writing


def _with_connection(write: Callable[[], T]) -> T:
    """As `channels.db` does it, whose way there and back takes as long as a short write."""
    close_old_connections()
    try:
        return write()
    finally:
        close_old_connections()
