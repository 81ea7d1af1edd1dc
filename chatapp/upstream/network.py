"""Connections to upstreams: httpcore's pool and HTTP/1.1 on plain asyncio streams of bytes.

httpcore's own backend goes through anyio, which makes a scope of cancellation for each read; that
is most of what a read costs. Only that part is replaced, by httpcore's public interface for it: one
protocol a connection, one timer for all its reads. What goes wrong is raised as httpx's exceptions,
as its own transport does.
"""

# ruff: noqa: ASYNC109 - the timeouts are httpcore's

import asyncio
import contextlib
import ssl
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any, cast

import httpcore
import httpx

from chatapp.upstream.os_errors import words_of
from chatapp.upstream.resolver import Resolver

# httpcore looks for this optional package several times a request, which takes as long as a fifth
# of the request where there is none.
if find_spec("sniffio") is None:
    sys.modules["sniffio"] = cast(ModuleType, None)

_MOST_BUFFERED = 256 * 1024  # bytes received and not read yet, before the peer has to wait
_NEXT_ADDRESS_SECONDS = 1.0  # for an address that leads nowhere, where a host has several


class Transport(httpx.AsyncBaseTransport):
    """httpx's way to the network, without proxies."""

    def __init__(self, limits: httpx.Limits) -> None:
        self.pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=Network(),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        with _httpx_errors():
            response = await self.pool.handle_async_request(
                httpcore.Request(
                    request.method,
                    httpcore.URL(
                        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                    ),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self.pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _httpx_errors():
            async for part in cast("AsyncIterator[bytes]", self._response.stream):
                yield part

    async def aclose(self) -> None:
        await self._response.aclose()


@contextlib.contextmanager
def _httpx_errors() -> Iterator[None]:
    """Raise httpcore's errors as those of the same names in httpx."""
    try:
        yield
    except (
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.UnsupportedProtocol,
    ) as error:
        raise getattr(httpx, type(error).__name__)(str(error)) from error


class Network(httpcore.AsyncNetworkBackend):
    """Opens TCP connections."""

    def __init__(self) -> None:
        self._resolver = Resolver()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                return await _connected(await self._resolver.addresses(host), port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(words_of(error)) from error

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _connected(addresses: list[str], port: int) -> "Stream":
    loop = asyncio.get_running_loop()
    *others, last = addresses
    for address in others:
        with contextlib.suppress(OSError):  # of which TimeoutError is one
            async with asyncio.timeout(_NEXT_ADDRESS_SECONDS):
                return (await loop.create_connection(lambda: Stream(loop), address, port))[1]
    return (await loop.create_connection(lambda: Stream(loop), last, port))[1]


class Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """One connection; read by one task at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport
        self._received = bytearray()
        self._reading: asyncio.Future[None] | None = None
        self._writing: asyncio.Future[None] | None = None
        self._read_by = 0.0  # when the read that waits has waited too long
        self._timer: asyncio.TimerHandle | None = None
        self._is_paused = self._has_ended = self._is_full = False
        self._error: Exception | None = None

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
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
        if not self._received and not self._has_ended:
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
        self._transport.write(buffer)
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
        self._cancel_timer()
        # What is still to be sent is of no use to anyone, a TLS farewell included.
        self._transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
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

    async def _until_received(self, timeout: float | None) -> None:
        self._reading = self._loop.create_future()
        if timeout is not None:
            self._read_by = self._loop.time() + timeout
            if self._timer is None or self._timer.when() > self._read_by:
                self._cancel_timer()
                self._timer = self._loop.call_at(self._read_by, self._look_at_clock)
        try:
            await self._reading
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
    def _wake(waiting: "asyncio.Future[None] | None") -> None:
        if waiting and not waiting.done():
            waiting.set_result(None)
