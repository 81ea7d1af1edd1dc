"""Whose turn of the event loop it is: long work in it is cut, so that others get theirs."""

import asyncio
import time

SLICE_SECONDS = 0.004  # of long work


class Share:
    """Of the event loop: long work in it is cut, and others get as much time as it takes."""

    def __init__(self) -> None:
        self._began_at = time.monotonic()

    async def give(self) -> None:
        """To be called between small pieces of the work; returns at once most of the time."""
        took = time.monotonic() - self._began_at
        if took > SLICE_SECONDS:
            await asyncio.sleep(took)
            self._began_at = time.monotonic()


class OneAtATime:
    """Around what takes a noticeable part of a turn of the event loop, where many may come at once.

    Once they have taken a slice of time between them, others get as much before the next begins.
    Where they come seldom, none of them waits.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._began_at = self._ended_at = 0.0
        self._taken = 0.0  # seconds, which others had not yet in return

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        self._began_at = time.monotonic()

    async def __aexit__(self, *_error: object) -> None:
        idle = self._began_at - self._ended_at
        self._ended_at = time.monotonic()
        self._taken = max(self._taken - idle, 0.0) + self._ended_at - self._began_at
        try:
            if self._taken > SLICE_SECONDS:
                await asyncio.sleep(self._taken)
        finally:
            self._lock.release()
