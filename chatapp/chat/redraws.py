"""The redraw of a tab that is due later: at most one waits, and at most one runs."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

Draw = Callable[[], Coroutine[Any, Any, None]]


class Redraws:
    """Starts scheduled redraws. Call `cancel` when nothing may be drawn any more."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None  # starts the task below
        self._task: asyncio.Task[None] | None = None

    @property
    def is_scheduled(self) -> bool:
        return self._timer is not None

    def schedule(self, seconds: float, draw: Draw) -> None:
        """Run `draw` in a task after some seconds, in place of what was scheduled before."""
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._start, draw)

    def cancel(self) -> None:
        """Cancel the scheduled and the running redraw."""
        for pending in (self._timer, self._task):
            if pending:
                pending.cancel()
        self._timer = self._task = None

    def _start(self, draw: Draw) -> None:
        if self._task:
            self._task.cancel()
        self._timer, self._task = None, asyncio.create_task(draw())
