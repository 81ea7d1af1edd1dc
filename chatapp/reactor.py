"""Twisted's reactor on asyncio, made for many small writes.

Twisted asks the kernel to watch a socket for each write, writes when it says so, and takes the
request back. Here the write is tried first, at the end of the loop's turn, and a socket is watched
only where it did not take everything.
"""

import asyncio
from typing import Any

from twisted.internet.asyncioreactor import AsyncioSelectorReactor


class WriteFirstReactor(AsyncioSelectorReactor):
    """The reactor for `twisted.internet.main.installReactor`, on this event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._to_write: set[Any] = set()
        super().__init__(loop)

    def addWriter(self, writer: Any) -> None:
        if writer not in self._to_write:
            self._to_write.add(writer)
            self._loop.call_soon(self._write, writer)

    def removeWriter(self, writer: Any) -> None:
        self._to_write.discard(writer)
        super().removeWriter(writer)  # type: ignore[no-untyped-call]

    def _write(self, writer: Any) -> None:
        if writer not in self._to_write:
            return
        failure = writer.doWrite()
        if failure or writer in self._to_write:
            # Back to Twisted's own way, which also knows what to do with a failure.
            self._to_write.discard(writer)
            super().addWriter(writer)  # type: ignore[no-untyped-call]
