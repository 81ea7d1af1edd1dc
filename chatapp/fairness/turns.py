"""Whose turn of the event loop it is: long work in it is cut, so that others get theirs."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
        self._taken = 0.0  # seconds, which others had not in return when it ended

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        try:
            await self._give()
        except BaseException:
            self._lock.release()
            raise
        self._began_at = time.monotonic()

    async def __aexit__(self, *_error: object) -> None:
        self._ended_at = time.monotonic()
        self._taken += self._ended_at - self._began_at
        self._lock.release()

    async def _give(self) -> None:
        """Waits where others are owed a slice, so that who was here has not to wait for them."""
        owed = self._taken - (time.monotonic() - self._ended_at)
        if owed > SLICE_SECONDS:
            await asyncio.sleep(owed)
            owed = 0.0
        self._taken = max(owed, 0.0)


class FewAtATime:
    """Around what takes many turns of the event loop, where hundreds of it may come at once.

    The others wait in the order in which they came. One that takes long counts no more: it waits
    for something itself, and nobody shall wait along.
    """

    def __init__(self, number: int, long_seconds: float) -> None:
        self._places = asyncio.Semaphore(number)
        self._long_seconds = long_seconds

    async def begin(self) -> "Place":
        """Waits for a place; to be given back, whatever happens."""
        await self._places.acquire()
        place = Place(self._places)
        asyncio.get_running_loop().call_later(self._long_seconds, place.give_back)
        return place

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        place = await self.begin()
        try:
            yield
        finally:
            place.give_back()


class Place:
    """One of a few; it can be given back once, and more often in vain."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places: asyncio.Semaphore | None = places

    def give_back(self) -> None:
        if self._places:
            self._places.release()
            self._places = None
