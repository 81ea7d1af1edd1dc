"""httpx's way to the network: httpcore's pool and HTTP/1.1, but for how a stream's body is read.

Between a connection and httpx there are six generators and a parser of all of HTTP, for each read
of a few bytes. A body of chunks is read off its connection instead; its end, and every body of
another kind, is httpcore's. What goes wrong is raised as httpx's exceptions, as its own transport
does.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any, cast

import httpcore
import httpx

from chatapp.upstream.connection import Stream
from chatapp.upstream.os_errors import words_of
from chatapp.upstream.resolver import Resolver
from chatapp.upstream.wire import chunked

# httpcore looks for this optional package several times a request, which takes as long as a fifth
# of the request where there is none.
if find_spec("sniffio") is None:
    sys.modules["sniffio"] = cast(ModuleType, None)

_READ_BYTES = 64 * 1024
BODY = "chatapp.body"
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
        body = Body(response, request.extensions["timeout"]["read"])
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=body,
            extensions={**response.extensions, BODY: body},
        )

    async def aclose(self) -> None:
        await self.pool.aclose()


class Body(httpx.AsyncByteStream):
    """A response's body; in its extension `BODY`.

    Whoever iterates over it may set `at_once`. It is given each part in the same turn of the event
    loop in which that came, and no task is woken, until it returns False: the iteration goes on
    then, with an empty part. Where that can't be, parts come by the iteration as ever.
    """

    def __init__(self, response: httpcore.Response, silence_seconds: float | None) -> None:
        self.at_once: Callable[[bytes], bool] | None = None
        self._response = response
        self._silence_seconds = silence_seconds
        self._coding = chunked.Decoder()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _httpx_errors():
            if (connection := self._connection) is not None:
                while not self._coding.is_over:
                    if self.at_once:
                        was_ended = await connection.offer(self._take, self._silence_seconds)
                        self.at_once = None
                        if was_ended:
                            yield b""
                            continue
                    data = await connection.read(_READ_BYTES, self._silence_seconds)
                    if not data:
                        break
                    if part := self._coding.receive_data(data):
                        yield part
                connection.put_back(self._coding.rest)
            async for part in cast("AsyncIterator[bytes]", self._response.stream):
                yield part

    async def aclose(self) -> None:
        await self._response.aclose()

    def _take(self, data: bytes) -> bool:
        assert self.at_once
        part = self._coding.receive_data(data)
        return (not part or self.at_once(part)) and not self._coding.is_over

    @property
    def _connection(self) -> Stream | None:
        """Where the body can be read from; None where httpcore has read some of it already."""
        connection = self._response.extensions["network_stream"]
        codings = [
            value.lower()
            for name, value in self._response.headers
            if name.lower() == b"transfer-encoding"
        ]
        is_chunked = self._response.status == 200 and codings == [b"chunked"]
        if is_chunked and isinstance(connection, Stream) and connection.is_at_body:
            return connection
        return None


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
    except chunked.BrokenCoding as error:
        raise httpx.RemoteProtocolError(str(error)) from error


class Network(httpcore.AsyncNetworkBackend):
    """Opens TCP connections."""

    def __init__(self) -> None:
        self._resolver = Resolver()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - it is httpcore's
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
