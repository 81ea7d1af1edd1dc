"""Who watches one reply: tabs that show it, tabs that it is written for, and other processes."""

import asyncio
import math
from collections.abc import Callable, Collection
from typing import Protocol
from uuid import UUID

from chatapp.pace import Share


class Watcher(Protocol):
    """Whoever takes a reply's frames."""

    async def show(self, frame: str) -> None: ...


class Tab(Watcher, Protocol):
    """A browser tab on its socket, in this process."""

    user_id: int
    session_key: str
    head: UUID | None  # the last message that it shows

    async def catch_up(self, conversation: UUID) -> None:
        """Draws the conversation as the database has it now, where the tab still shows it."""

    async def close(self, code: int) -> None: ...


async def show_to(watchers: Collection[Watcher], frame: str) -> None:
    """Sends a frame to many, and lets others have their turn in between."""
    share = Share()
    for watcher in watchers:
        await watcher.show(frame)
        await share.give()


class Audience:
    """A tab that moved to another conversation still waits for the reply, but does not show it."""

    def __init__(self, showing: set[Tab], when_nobody_waits: Callable[[], None]) -> None:
        self._showing = showing  # kept by `Tabs`: those that show the conversation
        self._waiting: set[Watcher] = set()
        self._following: set[Watcher] = set()  # other processes, for tabs of theirs
        self.sequence = 0  # of the last frame that was shown
        self._when_nobody_waits = when_nobody_waits
        self._wait_until = 0.0
        self._giving_up: asyncio.TimerHandle | None = None

    @property
    def is_watching(self) -> bool:
        return bool(self._showing or self._following)

    def join(self, watcher: Watcher) -> None:
        """`watcher` waits for this reply: the upstream stays open for it."""
        self._waiting.add(watcher)
        self.close()

    def follow(self, process: Watcher) -> None:
        """Another process waits for this reply, and is shown all of it."""
        self._following.add(process)
        self.join(process)

    def leave(self, watcher: Watcher, grace: float) -> None:
        """`watcher` is gone; where it was the last, nobody waits `grace` seconds from now."""
        self._following.discard(watcher)
        if watcher not in self._waiting:
            return
        self._waiting.discard(watcher)
        loop = asyncio.get_running_loop()
        self._wait_until = max(self._wait_until, loop.time() + grace)
        if self._waiting or math.isinf(self._wait_until):
            return
        if self._wait_until <= loop.time():
            self._when_nobody_waits()
        else:
            self._giving_up = loop.call_at(self._wait_until, self._when_nobody_waits)

    async def show(self, frame: str) -> None:
        """To be called again only when this has returned, or frames would overtake each other."""
        self.sequence += 1
        await show_to({*self._showing, *self._following}, frame)

    async def show_everywhere(self, frame: str) -> None:
        """Also to the tabs that wait for the reply while they show something else."""
        self.sequence += 1
        await show_to(self._showing | self._waiting, frame)

    def close(self) -> None:
        """Stops the clock of the last tab's grace."""
        if self._giving_up:
            self._giving_up.cancel()
            self._giving_up = None
