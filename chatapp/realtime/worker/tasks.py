"""A set of background tasks that are not awaited one by one.

Keeps a reference to each until it ends: the event loop itself keeps only weak references.
"""

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import Any


class Tasks:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(
        self, work: Coroutine[Any, Any, None], context: Context | None = None
    ) -> asyncio.Task[None]:
        task = asyncio.create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def until_done(self, seconds: float | None = None) -> None:
        """Wait for the tasks that are running now, for at most `seconds`."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=seconds)

    def cancel(self) -> None:
        """Cancel and forget all running tasks; new ones can still be started."""
        for task in self._tasks:
            task.cancel()
        self._tasks = set()

    async def end(self) -> None:
        """Cancel all running tasks and wait until they have ended."""
        tasks = list(self._tasks)
        self.cancel()
        if tasks:
            await asyncio.wait(tasks)
