"""httpx's way to the network: httpcore's HTTP/1.1, but for its pool and how a body is read.

Between a connection and httpx there are six generators and a parser of all of HTTP, for each read
of a few bytes. A body of chunks is read off its connection instead; its end, and every body of
another kind, is httpcore's. And for each request, and each end of one, its pool looks at every
connection there is; here those that are idle wait by their origins. What goes wrong is raised as
httpx's exceptions, as its own transport does.
"""

import asyncio
import contextlib
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
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

    def __init__(self, kept_seconds: float) -> None:
        self.connections = Connections(kept_seconds)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url, timeouts = request.url, request.extensions["timeout"]
        if url.scheme not in ("http", "https"):
            raise httpx.UnsupportedProtocol(
                f"{url.scheme or 'no scheme'} is neither http nor https"
            )
        asked = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _httpx_errors():
            connection = await self.connections.get(asked.url.origin, timeouts["connect"])
            response = await connection.http.handle_async_request(asked)
        closed = partial(self.connections.give_back, connection)
        body = Body(response, timeouts["read"], closed)
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=body,
            extensions={**response.extensions, BODY: body},
            request=request,
        )

    async def aclose(self) -> None:
        await self.connections.aclose()


@dataclass
class Connection:
    """One to an upstream: it serves one request at a time."""

    origin: httpcore.Origin
    stream: Stream
    http: httpcore.AsyncHTTP11Connection
    end: asyncio.TimerHandle | None = None  # while it is idle


class Connections:
    """After its request, each waits for the next to its origin."""

    def __init__(self, kept_seconds: float) -> None:
        self._kept_seconds = kept_seconds
        self._network = Network()
        self._ssl_context = httpx.create_ssl_context()
        self._ssl_context.set_alpn_protocols(["http/1.1"])
        self._idle: defaultdict[_Place, list[Connection]] = defaultdict(list)

    def __len__(self) -> int:
        """How many are idle."""
        return sum(map(len, self._idle.values()))

    async def get(
        self,
        origin: httpcore.Origin,
        timeout: float | None,  # noqa: ASYNC109 - it is httpcore's
    ) -> Connection:
        """Whoever gets it gives it back; one whose request fails closes itself."""
        idle = self._idle[_place(origin)]
        while idle:
            connection = idle.pop()
            if connection.end:
                connection.end.cancel()
            if not connection.http.has_expired():
                return connection
            connection.stream.close()
        host = origin.host.decode("ascii")
        stream = await self._network.connect_tcp(host, origin.port, timeout)
        if origin.scheme == b"https":
            stream = await stream.start_tls(self._ssl_context, host, timeout)
        return Connection(origin, stream, httpcore.AsyncHTTP11Connection(origin, stream))

    def give_back(self, connection: Connection) -> None:
        """Forgets it where it was closed, since its response was not read to its end."""
        if connection.http.is_idle():
            idle = self._idle[_place(connection.origin)]
            loop = asyncio.get_running_loop()
            connection.end = loop.call_later(self._kept_seconds, self._end_first, idle)
            idle.append(connection)

    def _end_first(self, idle: list[Connection]) -> None:
        """Ends the one that waits longest, whose time it is."""
        idle.pop(0).stream.close()

    async def aclose(self) -> None:
        for idle in self._idle.values():
            for connection in idle:
                if connection.end:
                    connection.end.cancel()
                connection.stream.close()
            idle.clear()


_Place = tuple[bytes, bytes, int]


def _place(origin: httpcore.Origin) -> _Place:
    """What httpcore's own value is not: a key."""
    return origin.scheme, origin.host, origin.port


class Body(httpx.AsyncByteStream):
    """A response's body; in its extension `BODY`.

    Whoever iterates over it may set `at_once`. It is given each part in the same turn of the event
    loop in which that came, and no task is woken, until it returns False: the iteration goes on
    then, with an empty part. Where that can't be, parts come by the iteration as ever.
    """

    def __init__(
        self,
        response: httpcore.Response,
        silence_seconds: float | None,
        closed: Callable[[], None],
    ) -> None:
        self.at_once: Callable[[bytes], bool] | None = None
        self._response = response
        self._closed: Callable[[], None] | None = closed  # is called once
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
        closed, self._closed = self._closed, None
        if closed:
            await self._response.aclose()
            closed()

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
    ) -> Stream:
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
