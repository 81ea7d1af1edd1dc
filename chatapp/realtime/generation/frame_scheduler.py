"""Schedules when a reply's new HTML is sent to its tabs: at once, but never faster than the pace.

Fragments are sent one after another: the next is rendered only when every tab has received the
previous one, so that none overtakes another.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from chatapp import metrics
from chatapp.realtime.generation.flush_rate import FlushRate
from chatapp.realtime.viewers import Audience
from chatapp.rendering import pool
from chatapp.rendering.fragments import LiveReply

DRAWING_SECONDS = 3.0  # how long a reply's end waits for highlighted code and formulas


class FrameScheduler:
    """Schedules the flushes of one reply. `close` cancels the pending one."""

    def __init__(self, live: LiveReply, audience: Audience, pace: FlushRate) -> None:
        self._live = live
        self._audience = audience
        self._pace = pace
        self._showing = asyncio.Lock()
        self._flushed_at = 0.0
        self._unshown_since: float | None = None
        self._interval = 0.0
        self._rendering = 0.0  # seconds per flush, smoothed over several
        self._next: asyncio.Handle | None = None
        self._task: asyncio.Task[None] | None = None
        self._drawing: asyncio.Task[None] | None = None

    def soon(self, read_at: float) -> None:
        """Flush what arrived at `read_at`: now, or when the interval since the last flush is over.

        Does nothing if no tab is watching.
        """
        if not self._audience.is_watching:
            return
        self._unshown_since = self._unshown_since or read_at
        if self._next or self._task:
            return
        remaining = self._flushed_at + self._interval - read_at
        if remaining <= 0:
            self._at_once()
        else:
            self._later(remaining)

    async def now(self) -> None:
        """Flush what fits into one turn of the event loop, and the rest in the following turns."""
        async with self._showing:
            await self._flush()
        self._schedule_rest()

    async def last(self) -> None:
        """Complete every region and flush everything; call nothing else afterwards."""
        self.close()
        self._live.finish()
        await self._turn()
        while self._live.is_behind:
            await self._turn()
        self._draw()
        if self._drawing:
            await asyncio.wait([self._drawing], timeout=DRAWING_SECONDS)
            self._drawing.cancel()
            await asyncio.wait([self._drawing])

    def close(self) -> None:
        if self._next:
            self._next.cancel()
            self._next = None

    async def _turn(self) -> None:
        """Flush one part of many.

        Yields as much time to other work before the next part, across all replies.
        """
        async with self._pace.one_at_a_time, self._showing:
            await self._flush()

    def _at_once(self) -> None:
        """Flush in this turn of the event loop if no await is needed."""
        self._next = None
        direct_writers = self._audience.direct_writers()
        if direct_writers is None or self._showing.locked():
            self._start(self.now)
            return
        read_at = self._unshown_since
        if frame := self._changes():
            self._audience.show_at_once(frame, direct_writers)
            self._observe(read_at)
        if self._live.has_more:
            self._draw()
            self._schedule_rest()

    async def _flush(self) -> None:
        read_at = self._unshown_since
        if frame := self._changes():
            await self._audience.show(frame)
            self._observe(read_at)
        self._draw()

    def _changes(self) -> str:
        self._flushed_at = time.monotonic()
        self._unshown_since = None
        frame = self._live.changes()
        self._rendering += 0.2 * (time.monotonic() - self._flushed_at - self._rendering)
        self._interval = self._pace.interval(self._rendering)
        return frame

    @staticmethod
    def _observe(read_at: float | None) -> None:
        if read_at:
            metrics.added_latency.note(time.monotonic() - read_at)

    def _draw(self) -> None:
        if self._live.has_jobs and (self._drawing is None or self._drawing.done()):
            self._drawing = asyncio.create_task(self._draw_all())

    async def _draw_all(self) -> None:
        """Show highlighted code, formulas and large blocks, which the render pool produces."""
        while self._live.has_jobs:
            text, jobs = self._live.jobs()
            results = await pool.render_jobs(jobs)
            async with self._showing:
                if frame := self._live.apply_results(text, jobs, results):
                    await self._audience.show(frame)

    def _later(self, seconds: float) -> None:
        self._next = asyncio.get_running_loop().call_later(seconds, self._at_once)

    def _schedule_rest(self) -> None:
        if self._live.is_behind and not self._next:
            self._next = asyncio.get_running_loop().call_soon(self._start, self._rest)

    def _start(self, flush: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._next = None
        self._task = asyncio.create_task(flush())
        self._task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        if self._task is not task:  # the next one started before this callback ran
            return
        self._task = None
        if self._unshown_since and not self._next:  # it arrived while the task was showing
            self._later(self._interval)

    async def _rest(self) -> None:
        await self._turn()
        self._schedule_rest()
