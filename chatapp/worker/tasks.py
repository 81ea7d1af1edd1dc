"""Tasks that nobody awaits one by one: they are kept until they end, or they might be collected."""

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
        """Waits for those that run now, or for so long."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=seconds)

    def cancel(self) -> None:
        """Cancels them all; those that start from now on are others."""
        for task in self._tasks:
            task.cancel()
        self._tasks = set()

    async def end(self) -> None:
        """Cancels them all, and waits until they have ended."""
        tasks = list(self._tasks)
        self.cancel()
        if tasks:
            await asyncio.wait(tasks)
