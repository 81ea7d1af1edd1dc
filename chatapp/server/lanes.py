"""Threads that are kept, and whose turn it is to use them.

A thread that is started for each request holds up the event loop until the system lets it run, and
needs a connection to the database of its own. And the interpreter's lock is one for all: the more
threads want it, the longer the event loop waits for its turn, and with it every running reply.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from chatapp.concurrency.turns import FewAtATime

LONG_SECONDS = 0.1  # after which work is taken to wait for something, and no other waits for it
FINISH_SECONDS = 1.0

T = TypeVar("T")

_working: set[asyncio.Task[Any]] = set()  # of all lanes


async def finish() -> None:
    """Waits until no lane works. What takes longer than `FINISH_SECONDS` is cancelled.

    An asynchronous view runs in the event loop while its thread waits. If the loop stopped for good
    before that, the thread would wait forever, and Python's exit would wait for the thread.
    """
    if _working:
        await asyncio.wait(_working, timeout=FINISH_SECONDS)
    if _working:
        for task in asyncio.all_tasks() - _working - {asyncio.current_task()}:
            task.cancel()
        await asyncio.wait(_working, timeout=FINISH_SECONDS)


class Lane:
    """Work goes `at_once`, the rest waits in the order in which it came; and what takes long does
    not count, so that `threads` may work in all."""

    def __init__(self, threads: int, at_once: int, name: str) -> None:
        # Made once: it looks closely at what it wraps.
        self._in_thread = sync_to_async(
            _done, thread_sensitive=False, executor=ThreadPoolExecutor(threads, name)
        )
        self._places = FewAtATime(at_once, LONG_SECONDS)

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns. Whoever is cancelled before its turn is forgotten; after that the
        work is done to its end, and keeps its place meanwhile."""
        place = await self._places.begin()
        working: asyncio.Task[T] = asyncio.create_task(self._in_thread(work))
        _working.add(working)
        working.add_done_callback(_working.discard)
        working.add_done_callback(lambda _: place.give_back())
        return await asyncio.shield(working)


def _done(work: Callable[[], T]) -> T:
    return work()
