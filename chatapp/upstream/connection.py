"""One connection to an upstream, on the event loop's own transport.

Optimised for many small reads: they share one timer instead of making one each. Timeouts are in
seconds, or None; errors are httpx's.
"""

# ruff: noqa: ASYNC109 - sharing a timer is the point of this module

import asyncio
import re
import ssl
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import cast

import httpx

from chatapp.upstream.os_errors import describe_error

_MAX_BUFFERED = 256 * 1024  # unread bytes before reading from the socket is paused
_MAX_AT_ONCE = 16 * 1024  # bytes of a read that may be processed in `data_received`

_HEAD_END = re.compile(rb"\n\r?\n")


class Stream(asyncio.Protocol):
    """One connection; only one task may read at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport
        self._received = bytearray()
        self._reading: asyncio.Future[bool] | None = None
        self._writing: asyncio.Future[bool] | None = None
        self._read_deadline = 0.0  # deadline of the waiting read, on the loop's clock
        self._timer: asyncio.TimerHandle | None = None
        self._is_paused = self._has_ended = self._is_full = False
        self._error: Exception | None = None
        self._on_data: Callable[[bytes], bool] | None = None
        self._context: Context
        self._silence_seconds: float | None = None

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if (
            self._on_data
            and len(data) <= _MAX_AT_ONCE
            and self._reading
            and not self._reading.done()
        ):
            self._deliver(data)
            return
        self._received += data
        self._wake(self._reading)
        if len(self._received) > _MAX_BUFFERED and not self._is_paused:
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

    # Called by a request.

    @property
    def is_readable(self) -> bool:
        """Whether data or the end has arrived; an idle connection then can't be reused."""
        return self._has_ended or bool(self._received)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the received bytes, b"" at the end. Raises `ReadTimeout` and `ReadError`."""
        if not self._received and not self._has_ended:
            await self._wait_for_data(timeout)
        if not self._received:
            if self._error:
                raise httpx.ReadError(str(self._error)) from self._error
            return b""
        data = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if self._is_paused and len(self._received) <= _MAX_BUFFERED // 2:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    async def read_head(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read exactly to the end of a response's head.

        Returns the bytes received so far if there are more than `max_bytes`, or if the stream ends.
        """
        while not (end := _HEAD_END.search(self._received)):
            if self._has_ended or len(self._received) > max_bytes:
                return await self.read(len(self._received), timeout)
            await self._wait_for_data(timeout)
        return await self.read(end.end(), timeout)

    async def write(self, data: bytes, timeout: float | None = None) -> None:
        """Write, and wait while the peer is too slow. Raises `WriteTimeout` and `WriteError`."""
        if self._has_ended:
            raise httpx.WriteError(str(self._error or "the connection is closed"))
        self._transport.write(data)
        if not self._is_full:
            return
        self._writing = self._loop.create_future()
        try:
            async with asyncio.timeout(timeout):
                await self._writing
        except TimeoutError as error:
            raise httpx.WriteTimeout("") from error
        finally:
            self._writing = None
        if self._error:
            raise httpx.WriteError(str(self._error)) from self._error

    async def start_tls(
        self, context: ssl.SSLContext, host: str, timeout: float | None = None
    ) -> None:
        """Start TLS as a client. Raises `ConnectTimeout` and `ConnectError`."""
        try:
            transport = await self._loop.start_tls(
                self._transport,
                self,
                context,
                server_hostname=host,
                ssl_handshake_timeout=timeout,
            )
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except OSError as error:  # includes ssl.SSLError
            raise httpx.ConnectError(describe_error(error)) from error
        assert transport
        self._transport = transport

    def close(self) -> None:
        """Close at once, without sending unsent data or a TLS close_notify: nobody needs them."""
        self._cancel_timer()
        self._transport.abort()

    async def offer(self, on_data: Callable[[bytes], bool], timeout: float | None) -> bool:
        """Pass data to `on_data` within `data_received`, without waking a task.

        Returns True once `on_data` returned False, and False as soon as there is something to
        `read`.
        """
        if self._received or self._has_ended:
            return False
        self._on_data, self._context, self._silence_seconds = on_data, copy_context(), timeout
        try:
            return await self._wait_for_data(timeout)
        finally:
            self._on_data = None

    def _deliver(self, data: bytes) -> None:
        assert self._on_data
        assert self._reading
        try:
            wants_more = self._context.run(self._on_data, data)
        except Exception as error:  # noqa: BLE001 - raised in the waiting task
            self._reading.set_exception(error)
            return
        if not wants_more:
            self._on_data = None
            self._wake(self._reading, True)
        elif self._silence_seconds is not None:
            self._read_deadline = self._loop.time() + self._silence_seconds

    async def _wait_for_data(self, timeout: float | None) -> bool:
        self._reading = self._loop.create_future()
        if timeout is not None:
            self._read_deadline = self._loop.time() + timeout
            if self._timer is None or self._timer.when() > self._read_deadline:
                self._cancel_timer()
                self._timer = self._loop.call_at(self._read_deadline, self._check_deadline)
        try:
            return await self._reading
        finally:
            self._reading = None

    def _check_deadline(self) -> None:
        """Time out the waiting read, or check again at its new deadline."""
        self._timer = None
        if self._reading is None or self._reading.done():
            return
        if self._loop.time() >= self._read_deadline:
            self._reading.set_exception(httpx.ReadTimeout(""))
        else:
            self._timer = self._loop.call_at(self._read_deadline, self._check_deadline)

    def _cancel_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    @staticmethod
    def _wake(waiting: "asyncio.Future[bool] | None", result: bool = False) -> None:
        if waiting and not waiting.done():
            waiting.set_result(result)
