"""Twisted's asyncio reactor, changed for many small writes and for connection resets.

For each write Twisted watches the socket, writes when the kernel reports it writable, and stops
watching. Here the write is tried first, at the end of the loop's iteration, and a socket is watched
only if it did not take everything.

uvloop reports a reset once, as readable, and then stops watching the socket. If the client sent
data before the reset, that data is what is read, and the connection would stay open: a file
descriptor, a tab and a reply that nobody waits for. So each read checks for a socket error, too.
"""

import asyncio
from socket import SO_ERROR, SOL_SOCKET
from typing import Any

from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.main import CONNECTION_LOST
from twisted.internet.tcp import Connection


class WriteFirstReactor(AsyncioSelectorReactor):
    """A reactor for `twisted.internet.main.installReactor`, on the given event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._to_write: set[Any] = set()
        super().__init__(loop)

    def is_writing(self, writer: Any) -> bool:
        """Return whether `writer` has data that waits to be written."""
        return writer in self._to_write or writer in self._writers

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
        if failure:
            self._disconnectSelectable(writer, failure, False)  # type: ignore[no-untyped-call]
        elif writer in self._to_write:
            self._to_write.discard(writer)
            super().addWriter(writer)  # type: ignore[no-untyped-call]

    def _readOrWrite(self, selectable: Any, read: bool) -> None:
        super()._readOrWrite(selectable, read)  # type: ignore[no-untyped-call]
        if read and selectable in self._readers and _is_reset(selectable):
            self._disconnectSelectable(selectable, CONNECTION_LOST, True)  # type: ignore[no-untyped-call]


def _is_reset(selectable: Any) -> bool:
    is_connection = isinstance(selectable, Connection)
    return is_connection and selectable.socket.getsockopt(SOL_SOCKET, SO_ERROR) != 0
