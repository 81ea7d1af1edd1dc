"""Threads that are kept, and whose turn it is to use them.

A thread that is started for each request holds up the event loop until the system lets it run, and
needs a connection to the database of its own. And the interpreter's lock is one for all: the more
threads want it, the longer the event loop waits for its turn, and with it every running reply.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from asgiref.sync import sync_to_async

from chatapp.worker.tasks import Tasks

LONG_SECONDS = 0.1  # after which work is taken to wait for something, and no other waits for it

T = TypeVar("T")


class Lane:
    """Work goes `at_once`, the rest waits in the order in which it came; and what takes long does
    not count, so that `threads` may work in all."""

    def __init__(self, threads: int, at_once: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._turns = asyncio.Semaphore(at_once)
        self._ending = Tasks()

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns. Whoever is cancelled before its turn is forgotten; after that the
        work is done to its end, and keeps its turn meanwhile."""
        await self._turns.acquire()
        in_thread = sync_to_async(work, thread_sensitive=False, executor=self._threads)
        working = asyncio.create_task(in_thread())
        self._ending.start(self._end_turn(working))
        return await asyncio.shield(working)

    async def _end_turn(self, working: "asyncio.Task[T]") -> None:
        await asyncio.wait({working}, timeout=LONG_SECONDS)
        self._turns.release()
