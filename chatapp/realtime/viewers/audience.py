"""The audience of one reply: viewers that show it, viewers that wait for it, other workers."""

import asyncio
import math
from collections.abc import Callable, Collection
from typing import Protocol
from uuid import UUID

from chatapp.concurrency.event_loop import TimeSlice

FEW = 4  # this many tabs can be sent a frame in one turn of the event loop

WRITE = "chatapp.write"  # the ASGI scope extension that holds a socket's `Write` function
Write = Callable[[str], None]


class Watcher(Protocol):
    """Anything that takes a reply's frames."""

    @property
    def write(self) -> Write | None:
        """A function that sends a frame synchronously, if there is one."""

    async def show(self, frame: str) -> None: ...


class Viewer(Watcher, Protocol):
    """A browser tab with a socket in this process."""

    user_id: int
    session_key: str
    head: UUID | None  # the last message shown
    shows_end: bool  # whether that is the last one of its branch

    async def catch_up(self, conversation: UUID, *, redraw: bool = False) -> None:
        """Show what is new in the conversation, or all of it (`redraw`), if the tab shows it."""

    async def close(self, code: int) -> None: ...


async def show_to(watchers: Collection[Watcher], frame: str) -> None:
    """Send a frame to all watchers without holding up the event loop."""
    share = TimeSlice()
    for watcher in watchers:
        await watcher.show(frame)
        await share.yield_if_used_up()


class Audience:
    """The watchers of one reply.

    A viewer that moved to another conversation still waits for the reply, but does not show it.
    `is_gone` is set once nobody waits and the grace period of those who left is over. If the reply
    `finishes`, only `forget_who_left` sets it.
    """

    def __init__(
        self,
        showing: Collection[Watcher],
        *,
        finishes: bool = False,
        followers: Collection[Watcher] = (),
    ) -> None:
        self._finishes = finishes
        self.is_gone = asyncio.Event()
        self.sequence = 0  # the number of the last frame shown
        self._showing = showing  # the viewers that show the conversation, updated by `Viewers`
        self._followers = followers  # get its frames, but it does not run for them
        self._waiting: set[Watcher] = set()
        self._following: set[Watcher] = set()  # other workers, on behalf of their viewers
        self._wait_until = 0.0
        self._grace_timer: asyncio.TimerHandle | None = None

    @property
    def is_watching(self) -> bool:
        return bool(self._showing or self._following or self._followers)

    def direct_writers(self) -> list[Write] | None:
        """Return functions that send a frame in this turn of the event loop, usually one or two.

        Returns None if the frame has to be sent with `show()` instead.
        """
        if self._following or self._followers or len(self._showing) > FEW:
            return None
        writers = []
        for watcher in self._showing:
            if (write := watcher.write) is None:
                return None
            writers.append(write)
        return writers

    def show_at_once(self, frame: str, direct_writers: list[Write]) -> None:
        self.sequence += 1
        for write in direct_writers:
            write(frame)

    def join(self, watcher: Watcher) -> None:
        """Make `watcher` wait for this reply, which keeps the upstream open."""
        self._waiting.add(watcher)
        self.close()

    def follow(self, worker: Watcher, *, waits: bool = True) -> None:
        """Let another worker receive all frames of this reply, and wait for it if it `waits`."""
        self._following.add(worker)
        if waits:
            self.join(worker)

    def leave(self, watcher: Watcher, grace: float) -> None:
        """Remove `watcher`. If it was the last, set `is_gone` after `grace` seconds."""
        self._following.discard(watcher)
        if watcher not in self._waiting:
            return
        self._waiting.discard(watcher)
        if self._finishes:
            return
        loop = asyncio.get_running_loop()
        # A longer grace still counts: a tab that lost its connection may have left before this one.
        self._wait_until = max(self._wait_until, loop.time() + grace)
        if self._waiting or math.isinf(self._wait_until):
            return
        if self._wait_until <= loop.time():
            self.is_gone.set()
        else:
            self._grace_timer = loop.call_at(self._wait_until, self.is_gone.set)

    def forget_who_left(self) -> None:
        """End the grace period of those who left."""
        self._wait_until = 0.0
        if not self._waiting:
            self.is_gone.set()

    async def show(self, frame: str) -> None:
        """Send a frame to all who show the reply.

        Await it before calling it again, or frames could overtake each other.
        """
        self.sequence += 1
        await show_to({*self._showing, *self._following, *self._followers}, frame)

    async def show_everywhere(self, frame: str) -> None:
        """Send a frame also to the viewers that wait for the reply but show something else."""
        self.sequence += 1
        await show_to({*self._showing, *self._waiting}, frame)

    def close(self) -> None:
        """Cancel the grace timer."""
        if self._grace_timer:
            self._grace_timer.cancel()
            self._grace_timer = None
