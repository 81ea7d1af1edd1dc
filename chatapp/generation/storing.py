"""Writes from the event loop, in a thread of their own.

A write waits for as long as another program holds the database: SQLite's one lock, or a row of
PostgreSQL. What only reads must not wait behind it, or no tab could connect meanwhile; that goes
by Channels' own thread.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

from channels.db import database_sync_to_async

NOTICE_SECONDS = 1.5  # until whoever waits is told that it takes long

T = TypeVar("T")

# One, so that our own writes wait for their turn here and not for each other's locks.
thread = ThreadPoolExecutor(1, "writes")


async def stored(
    write: Callable[[], T], tell_of_delay: Callable[[], Awaitable[None]] | None = None
) -> T:
    """What `write` returns. Where it takes long, that is told once, and it goes on."""
    in_thread = database_sync_to_async(write, thread_sensitive=False, executor=thread)
    writing = asyncio.create_task(in_thread())
    if tell_of_delay:
        await asyncio.wait({writing}, timeout=NOTICE_SECONDS)
        if not writing.done():
            await tell_of_delay()
    return cast(T, await writing)
