"""Runs database writes from the event loop in a thread of their own.

A write waits while another program holds SQLite's lock or a PostgreSQL row. Reads must not queue
behind it, or no tab could connect meanwhile, so they use Channels' own thread.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from django.db import close_old_connections

NOTICE_SECONDS = 1.5  # after which `tell_of_delay` is called

T = TypeVar("T")

# One thread, so that our own writes queue here instead of waiting for each other's locks.
thread = ThreadPoolExecutor(1, "writes")


async def run_in_write_thread(
    write: Callable[[], T], tell_of_delay: Callable[[], Coroutine[Any, Any, None]] | None = None
) -> T:
    """Run `write` in the write thread and return its result.

    If it takes longer than `NOTICE_SECONDS`, call `tell_of_delay` once and go on waiting.
    """
    loop = asyncio.get_running_loop()
    writing = loop.run_in_executor(thread, copy_context().run, _with_connection, write)
    if tell_of_delay is None:
        return await writing
    notices: list[asyncio.Task[None]] = []

    def notify() -> None:
        notices.append(loop.create_task(tell_of_delay()))

    timer = loop.call_later(NOTICE_SECONDS, notify)
    try:
        return await writing
    finally:
        timer.cancel()
        for notice in notices:
            await notice


def _with_connection(write: Callable[[], T]) -> T:
    """Run `write` and close connections that are unusable, as `channels.db` does.

    `channels.db` itself would take as long again as a short write. Checking after each write is
    enough: PostgreSQL's connections go back to their pool, so none breaks here while idle.
    """
    try:
        return write()
    finally:
        close_old_connections()
