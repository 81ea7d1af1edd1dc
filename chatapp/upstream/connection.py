"""One connection to an upstream, on the event loop's own transport.

httpcore's backend goes through anyio, which makes a scope of cancellation for each read. This one
is made for many small reads, by httpcore's public interface: one timer for all of them, and none is
made for what comes while somebody waits.
"""

# ruff: noqa: ASYNC109 - the timeouts are httpcore's

import asyncio
import re
import ssl
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, cast

import httpcore

from chatapp.upstream.os_errors import words_of

_MOST_BUFFERED = 256 * 1024  # bytes received and not read yet, before the peer has to wait
_MOST_AT_ONCE = 16 * 1024  # bytes of one read that may be worked on in the turn in which they came

_HEAD_END = re.compile(rb"\n\r?\n")
_INTERIM = b"HTTP/1.1 1"  # a response that another one follows


class Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """One connection; read by one task at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport
        self._received = bytearray()
        self._reading: asyncio.Future[bool] | None = None
        self._writing: asyncio.Future[bool] | None = None
        self._read_by = 0.0  # when the read that waits has waited too long
        self._timer: asyncio.TimerHandle | None = None
        self._is_paused = self._has_ended = self._is_full = False
        self._error: Exception | None = None
        self._take: Callable[[bytes], bool] | None = None
        self._context: Context
        self._silence_seconds: float | None = None
        self._head = b""  # of a request, that is not written yet
        self._expects_head = False
        self.is_at_body = False  # the head of a response was read, and nothing more

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._take and len(data) <= _MOST_AT_ONCE and self._reading and not self._reading.done():
            self._give(data)
            return
        self._received += data
        self._wake(self._reading)
        if len(self._received) > _MOST_BUFFERED and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        self._has_ended = True
        self._wake(self._reading)

    def connection_lost(self, error: Exception | None) -> None:
        self._has_ended = True
        self._error = error
        self._cancel_timer()
        self._wake(self._reading)
        self._wake(self._writing)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._wake(self._writing)

    # What httpcore calls.

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._expects_head:
            max_bytes = await self._until_head(max_bytes, timeout)
        elif not self._received and not self._has_ended:
            await self._until_received(timeout)
        if not self._received:
            if self._error:
                raise httpcore.ReadError(str(self._error)) from self._error
            return b""
        data = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if self._is_paused and len(self._received) <= _MOST_BUFFERED // 2:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._has_ended:
            raise httpcore.WriteError(str(self._error or "the connection is closed"))
        if not self._expects_head:  # a request's head, which goes along with what follows
            self._expects_head, self.is_at_body = True, False
            self._head = buffer
            return
        if data := self._head + buffer:
            self._head = b""
            self._transport.write(data)
        if not self._is_full:
            return
        self._writing = self._loop.create_future()
        try:
            async with asyncio.timeout(timeout):
                await self._writing
        except TimeoutError as error:
            raise httpcore.WriteTimeout from error
        finally:
            self._writing = None
        if self._error:
            raise httpcore.WriteError(str(self._error)) from self._error

    async def aclose(self) -> None:
        self.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "Stream":
        try:
            transport = await self._loop.start_tls(
                self._transport,
                self,
                ssl_context,
                server_hostname=server_hostname,
                ssl_handshake_timeout=timeout,
            )
        except TimeoutError as error:
            await self.aclose()
            raise httpcore.ConnectTimeout(str(error)) from error
        except OSError as error:  # of which ssl.SSLError is one
            await self.aclose()
            raise httpcore.ConnectError(words_of(error)) from error
        except asyncio.CancelledError:
            await self.aclose()
            raise
        assert transport
        self._transport = transport
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # of an idle connection: it can't be used again
            return self._has_ended or bool(self._received)
        names = {"client_addr": "sockname", "server_addr": "peername"}
        return self._transport.get_extra_info(names.get(info, info))

    # What is called in place of httpcore.

    def close(self) -> None:
        self._cancel_timer()
        # What is still to be sent is of no use to anyone, a TLS farewell included.
        self._transport.abort()

    async def offer(self, take: Callable[[bytes], bool], timeout: float | None) -> bool:
        """Give what comes to `take` in the turn of the loop in which it comes.

        Returns True when that returned False, and False as soon as there is something to `read`.
        """
        if self._received or self._has_ended:
            return False
        self._take, self._context, self._silence_seconds = take, copy_context(), timeout
        try:
            return await self._until_received(timeout)
        finally:
            self._take = None

    def put_back(self, data: bytes) -> None:
        """Let the next `read` begin with it."""
        self._received[:0] = data

    def _give(self, data: bytes) -> None:
        assert self._take
        assert self._reading
        try:
            wants_more = self._context.run(self._take, data)
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            self._reading.set_exception(error)
            return
        if not wants_more:
            self._take = None
            self._wake(self._reading, True)
        elif self._silence_seconds is not None:
            self._read_by = self._loop.time() + self._silence_seconds

    async def _until_head(self, max_bytes: int, timeout: float | None) -> int:
        """Wait for a response's head; returns its size, so that nothing behind it is read along."""
        while not (end := _HEAD_END.search(self._received)):
            if self._has_ended or len(self._received) >= max_bytes:
                self._expects_head = False
                return max_bytes
            await self._until_received(timeout)
        self._expects_head = self._received.startswith(_INTERIM)
        self.is_at_body = not self._expects_head and end.end() <= max_bytes
        return min(end.end(), max_bytes)

    async def _until_received(self, timeout: float | None) -> bool:
        self._reading = self._loop.create_future()
        if timeout is not None:
            self._read_by = self._loop.time() + timeout
            if self._timer is None or self._timer.when() > self._read_by:
                self._cancel_timer()
                self._timer = self._loop.call_at(self._read_by, self._look_at_clock)
        try:
            return await self._reading
        finally:
            self._reading = None

    def _look_at_clock(self) -> None:
        """Ends the read that waits too long, or comes again when it will have."""
        self._timer = None
        if self._reading is None or self._reading.done():
            return
        if self._loop.time() >= self._read_by:
            self._reading.set_exception(httpcore.ReadTimeout())
        else:
            self._timer = self._loop.call_at(self._read_by, self._look_at_clock)

    def _cancel_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    @staticmethod
    def _wake(waiting: "asyncio.Future[bool] | None", result: bool = False) -> None:
        if waiting and not waiting.done():
            waiting.set_result(result)
