"""When a reply's new HTML goes to its tabs: at once, and no oftener than the pace allows."""

import asyncio
import time

from chatapp import metrics
from chatapp.frames import LiveReply
from chatapp.generation.audience import Audience
from chatapp.pace import Pace

Uncoloured = asyncio.Queue["Flushes"]  # those of replies whose finished code waits for colours


class Flushes:
    """Of one reply. Cancel what is pending with `close`."""

    def __init__(
        self, live: LiveReply, audience: Audience, pace: Pace, uncoloured: Uncoloured
    ) -> None:
        self._live = live
        self._uncoloured = uncoloured
        self._audience = audience
        self._pace = pace
        self._flushed_at = 0.0
        self._unshown_since: float | None = None
        self._interval = 0.0
        self._rendering = 0.0  # seconds a flush, smoothed: one block of code is no reason to wait
        self._next: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    async def soon(self, read_at: float) -> None:
        """Flushes what was read then, now or as soon as the last flush is old enough."""
        if not self._audience.is_watching:
            return
        self._unshown_since = self._unshown_since or read_at
        if self._next:
            return
        early = self._flushed_at + self._interval - time.monotonic()
        if early <= 0:
            await self.now()
        else:
            self._next = asyncio.get_running_loop().call_later(early, self._flush_later)

    async def now(self) -> None:
        self._flushed_at = time.monotonic()
        read_at, self._unshown_since = self._unshown_since, None
        frame = self._live.changes()
        self._rendering += 0.2 * (time.monotonic() - self._flushed_at - self._rendering)
        self._interval = self._pace.interval(self._rendering)
        if frame:
            await self._audience.show(frame)
            if read_at:
                metrics.added_latency.observe(time.monotonic() - read_at)
        if not self._live.is_coloured:
            self._uncoloured.put_nowait(self)

    async def colour(self) -> None:
        """Colours the code of one finished block."""
        if frame := self._live.colour():
            await self._audience.show(frame)
        if not self._live.is_coloured:
            self._uncoloured.put_nowait(self)

    async def last(self) -> None:
        """Completes every region; nothing comes after this."""
        self.close()
        if frame := self._live.finish():
            await self._audience.show(frame)

    def close(self) -> None:
        if self._next:
            self._next.cancel()
            self._next = None

    def _flush_later(self) -> None:
        self._next = None
        self._task = asyncio.create_task(self.now())
