"""Shares the event loop: long work yields, so that other tasks get their turn."""

import asyncio
import time

SLICE_SECONDS = 0.004  # how long work may run before it yields


class TimeSlice:
    """Cuts long work into slices and leaves other tasks as much time as the work takes."""

    def __init__(self) -> None:
        self._began_at = time.monotonic()

    async def yield_if_used_up(self) -> None:
        """Yield if a slice is used up. Call it between small pieces of work; it rarely waits."""
        took = time.monotonic() - self._began_at
        if took > SLICE_SECONDS:
            await asyncio.sleep(took)
            self._began_at = time.monotonic()


class FairLock:
    """A lock around work that takes a noticeable part of a turn and may arrive many times at once.

    Once the holders together have used a slice of time, other tasks get as much before the next
    holder begins. If work arrives rarely, nothing waits.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._began_at = self._ended_at = 0.0
        self._taken = 0.0  # seconds used that other tasks have not had in return

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        try:
            await self._yield_owed_time()
        except BaseException:
            self._lock.release()
            raise
        self._began_at = time.monotonic()

    async def __aexit__(self, *_error: object) -> None:
        self._ended_at = time.monotonic()
        self._taken += self._ended_at - self._began_at
        self._lock.release()

    async def _yield_owed_time(self) -> None:
        """Sleep before the next holder, not after the last one, if others are owed a slice."""
        owed = self._taken - (time.monotonic() - self._ended_at)
        if owed > SLICE_SECONDS:
            await asyncio.sleep(owed)
            owed = 0.0
        self._taken = max(owed, 0.0)
