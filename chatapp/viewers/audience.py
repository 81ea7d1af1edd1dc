"""Who watches one reply: viewers that show it, viewers that it is written for, other workers."""

import asyncio
import math
from collections.abc import Callable, Collection
from typing import Protocol
from uuid import UUID

from chatapp.fairness.turns import Share

FEW = 4  # tabs, which can be shown a frame in one turn of the event loop

WRITE = "chatapp.write"  # the extension of a socket's ASGI scope that is such a `Write`
Write = Callable[[str], None]


class Watcher(Protocol):
    """Whoever takes a reply's frames."""

    @property
    def write(self) -> Write | None:
        """Shows a frame before it returns; None where that can't be."""

    async def show(self, frame: str) -> None: ...


class Viewer(Watcher, Protocol):
    """A browser tab on its socket, in this process."""

    user_id: int
    session_key: str
    head: UUID | None  # the last message that it shows
    shows_end: bool  # whether that is the last of its branch

    async def catch_up(self, conversation: UUID, *, anew: bool = False) -> None:
        """Draws the conversation as the database has it now, where the tab still shows it: what is
        new in it, or all of it `anew`."""

    async def close(self, code: int) -> None: ...


async def show_to(watchers: Collection[Watcher], frame: str) -> None:
    """Sends a frame to many, and lets others have their turn in between."""
    share = Share()
    for watcher in watchers:
        await watcher.show(frame)
        await share.give()


class Audience:
    """A viewer that moved to another conversation still waits for the reply, and does not show it.

    `is_gone` is set once nobody has waited for as long as those who left wished.
    """

    def __init__(self, showing: Collection[Watcher]) -> None:
        self.is_gone = asyncio.Event()
        self.sequence = 0  # of the last frame that was shown
        self._showing = showing  # kept by `Viewers`: those that show the conversation
        self._waiting: set[Watcher] = set()
        self._following: set[Watcher] = set()  # other workers, for viewers of theirs
        self._wait_until = 0.0
        self._giving_up: asyncio.TimerHandle | None = None

    @property
    def is_watching(self) -> bool:
        return bool(self._showing or self._following)

    def ways(self) -> list[Write] | None:
        """How a frame is shown in this turn of the event loop: to a tab or two, mostly.

        None where that can't be, and `show` must.
        """
        if self._following or len(self._showing) > FEW:
            return None
        ways = []
        for watcher in self._showing:
            if (write := watcher.write) is None:
                return None
            ways.append(write)
        return ways

    def show_at_once(self, frame: str, ways: list[Write]) -> None:
        self.sequence += 1
        for write in ways:
            write(frame)

    def join(self, watcher: Watcher) -> None:
        """`watcher` waits for this reply: the upstream stays open for it."""
        self._waiting.add(watcher)
        self.close()

    def follow(self, worker: Watcher) -> None:
        """Another worker waits for this reply, and is shown all of it."""
        self._following.add(worker)
        self.join(worker)

    def leave(self, watcher: Watcher, grace: float) -> None:
        """`watcher` is gone; where it was the last, nobody waits `grace` seconds from now."""
        self._following.discard(watcher)
        if watcher not in self._waiting:
            return
        self._waiting.discard(watcher)
        loop = asyncio.get_running_loop()
        # One whose connection was lost is waited for longer than one that was closed after it.
        self._wait_until = max(self._wait_until, loop.time() + grace)
        if self._waiting or math.isinf(self._wait_until):
            return
        if self._wait_until <= loop.time():
            self.is_gone.set()
        else:
            self._giving_up = loop.call_at(self._wait_until, self.is_gone.set)

    def forget_who_left(self) -> None:
        """Their grace is over: whoever is still here is waited for, and nobody else."""
        self._wait_until = 0.0
        if not self._waiting:
            self.is_gone.set()

    async def show(self, frame: str) -> None:
        """To be called again only when this has returned, or frames would overtake each other."""
        self.sequence += 1
        await show_to({*self._showing, *self._following}, frame)

    async def show_everywhere(self, frame: str) -> None:
        """Also to the viewers that wait for the reply while they show something else."""
        self.sequence += 1
        await show_to({*self._showing, *self._waiting}, frame)

    def close(self) -> None:
        """Stops the clock of the last viewer's grace."""
        if self._giving_up:
            self._giving_up.cancel()
            self._giving_up = None
