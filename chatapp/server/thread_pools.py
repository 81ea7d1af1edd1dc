"""Thread pools that run synchronous work and limit how much of it runs at once.

Starting a thread for each request would block the event loop until the system schedules the thread,
and each would need its own database connection. All threads share the interpreter's lock: the more
of them want it, the longer the event loop waits for it, and with it every running reply.
"""

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from chatapp.concurrency.turns import Turns

LONG_SECONDS = 0.1  # then work is assumed to be waiting for I/O and stops counting
FINISH_SECONDS = 1.0

T = TypeVar("T")

_working: set[asyncio.Task[Any]] = set()  # in all pools


async def finish() -> None:
    """Wait until all pools are idle. Cancel work that takes longer than `FINISH_SECONDS`.

    An asynchronous view runs in the event loop while its thread waits for it. If the loop stopped
    first, the thread would wait forever, and Python's exit would wait for the thread.
    """
    if _working:
        await asyncio.wait(_working, timeout=FINISH_SECONDS)
    if _working:
        for task in asyncio.all_tasks() - _working - {asyncio.current_task()}:
            task.cancel()
        await asyncio.wait(_working, timeout=FINISH_SECONDS)


class BoundedThreadPool:
    """A pool of `threads` that starts `at_once` jobs at a time; people's other jobs wait in turn.

    Work that runs longer than `LONG_SECONDS` does not count, so that the others get a turn. Of each
    person no more than `each` run.
    """

    def __init__(self, threads: int, at_once: int, name: str, each: int | None = None) -> None:
        # Made once, since `sync_to_async` inspects what it wraps.
        self._in_thread = sync_to_async(
            _call, thread_sensitive=False, executor=ThreadPoolExecutor(threads, name)
        )
        self._turns = Turns(at_once, LONG_SECONDS, each or threads)

    async def run(self, work: Callable[[], T], who: Hashable = None) -> T:
        """Run `work` for somebody in a thread and return its result.

        If the caller is cancelled before its turn, `work` never starts. Once started it runs to its
        end and keeps its place until then.
        """
        turn = await self._turns.begin(who)
        working: asyncio.Task[T] = asyncio.create_task(self._in_thread(work))
        _working.add(working)
        working.add_done_callback(_working.discard)
        working.add_done_callback(lambda _: turn.end())
        return await asyncio.shield(working)


def _call(work: Callable[[], T]) -> T:
    return work()
