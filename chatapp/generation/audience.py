"""The tabs of one reply: those that show it, and those that it is written for."""

import asyncio
import math
from collections.abc import Callable
from typing import Protocol


class Tab(Protocol):
    """A browser tab on its socket."""

    async def show(self, frame: str) -> None: ...


class Audience:
    """A tab that moved to another conversation still waits for the reply, but does not show it."""

    def __init__(self, showing: set[Tab], when_nobody_waits: Callable[[], None]) -> None:
        self._showing = showing  # kept by `Generations`: the tabs that show the conversation
        self._waiting: set[Tab] = set()
        self._when_nobody_waits = when_nobody_waits
        self._wait_until = 0.0
        self._giving_up: asyncio.TimerHandle | None = None

    @property
    def is_watching(self) -> bool:
        return bool(self._showing)

    def join(self, tab: Tab) -> None:
        """`tab` waits for this reply: the upstream stays open for it."""
        self._waiting.add(tab)
        self.close()

    def leave(self, tab: Tab, grace: float) -> None:
        """`tab` is gone; where it was the last, nobody waits `grace` seconds from now."""
        if tab not in self._waiting:
            return
        self._waiting.discard(tab)
        loop = asyncio.get_running_loop()
        self._wait_until = max(self._wait_until, loop.time() + grace)
        if self._waiting or math.isinf(self._wait_until):
            return
        if self._wait_until <= loop.time():
            self._when_nobody_waits()
        else:
            self._giving_up = loop.call_at(self._wait_until, self._when_nobody_waits)

    async def show(self, frame: str) -> None:
        for tab in list(self._showing):
            await tab.show(frame)

    async def show_everywhere(self, frame: str) -> None:
        """Also to the tabs that wait for the reply while they show something else."""
        for tab in self._showing | self._waiting:
            await tab.show(frame)

    def close(self) -> None:
        """Stops the clock of the last tab's grace."""
        if self._giving_up:
            self._giving_up.cancel()
            self._giving_up = None
