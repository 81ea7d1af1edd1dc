"""A transport for httpx: HTTP/1.1 with h11, on our own connections.

httpcore, httpx's default, awaits a lock to close a connection: a task cancelled meanwhile leaves it
open, and the upstream keeps generating for nobody. Here closing never awaits. And httpcore passes
each small read through six generators and a full HTTP parser; here a chunked body is decoded
directly, and h11 parses only heads, ends and other kinds of bodies.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import h11
import httpx

from chatapp.upstream.connection import Stream
from chatapp.upstream.os_errors import describe_error
from chatapp.upstream.proxies import Proxies, Proxy
from chatapp.upstream.resolver import Resolver
from chatapp.upstream.wire.decoding import chunked

_READ_BYTES = 64 * 1024
_PART_BYTES = 256 * 1024  # of a request's body that are written at once
_MAX_HEAD_BYTES = 100 * 1024
BODY = "chatapp.body"
_NEXT_ADDRESS_SECONDS = 1.0  # timeout for each of a host's addresses but the last
_PORTS = {"http": 80, "https": 443}


class Transport(httpx.AsyncBaseTransport):
    """A transport that uses the proxies of the environment."""

    def __init__(self, keep_alive_seconds: float) -> None:
        self.connections = Connections(keep_alive_seconds)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        timeouts = request.extensions["timeout"]
        with _translate_errors():
            connection = await self.connections.get(request.url, timeouts["connect"])
            head = await connection.ask(request)
        on_close = partial(self.connections.release, connection)
        body = Body(connection, head, timeouts["read"], on_close)
        return httpx.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=body,
            extensions={
                "http_version": b"HTTP/" + head.http_version,
                "reason_phrase": head.reason,
                BODY: body,
            },
            request=request,
        )

    async def aclose(self) -> None:
        self.connections.close()


Origin = tuple[str, str, int]  # scheme, host and port


@dataclass
class Connection:
    """A connection to an upstream; it serves one request at a time."""

    origin: Origin
    stream: Stream
    proxy: Proxy | None = None  # that requests are addressed to; a tunnel is none
    http: h11.Connection = field(
        default_factory=lambda: h11.Connection(
            h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES
        )
    )
    end: asyncio.TimerHandle | None = None  # closes it, while it is idle

    async def ask(self, request: httpx.Request) -> h11.Response:
        """Send a request and return its response's head; close the connection if that fails."""
        timeouts, send = request.extensions["timeout"], self.http.send
        target, headers = request.url.raw_path, request.headers.raw
        if self.proxy:
            # RFC 9112, section 3.2.2: to a proxy, the target is the whole URL.
            target = b"http://" + request.url.netloc + target
            headers = [*headers, *self.proxy.headers]
        with _close_on_failure(self.stream):
            head = send(h11.Request(method=request.method, target=target, headers=headers))
            # An upstream that closes early may have sent a response that says why.
            with contextlib.suppress(httpx.WriteError):
                await self._write(head, _get_body(request), timeouts["write"])
            return await self._head(timeouts["read"])

    async def _write(
        self,
        head: bytes,
        body: "RequestBody",
        timeout: float | None,  # noqa: ASYNC109 - the connection's
    ) -> None:
        """Write a request: at once, or part by part if its body is large."""
        send = self.http.send
        if body.is_small:
            whole = send(h11.Data(b"".join(body.pieces)))
            await self.stream.write(head + whole + send(h11.EndOfMessage()), timeout)
            return
        await self.stream.write(head, timeout)
        async for part in body:
            await self.stream.write(send(h11.Data(part)), timeout)
        send(h11.EndOfMessage())

    async def open_tunnel(
        self,
        authority: bytes,
        proxy: Proxy,
        timeout: float | None,  # noqa: ASYNC109 - the connection's
    ) -> None:
        """Have the proxy connect to a host and port (RFC 9110, section 9.3.6).

        Afterwards the stream leads to that host. Raises `httpx.ProxyError` if the proxy refuses.
        """
        headers = [(b"Host", authority), *proxy.headers]
        request = h11.Request(method=b"CONNECT", target=authority, headers=headers)
        await self.stream.write(self.http.send(request), timeout)
        status = (await self._head(timeout)).status_code
        if not 200 <= status < 300:
            raise httpx.ProxyError(f"the proxy refused the connection with status {status}")

    async def _head(self, silence_seconds: float | None) -> h11.Response:
        while not isinstance(event := self.http.next_event(), h11.Response):
            if event is h11.NEED_DATA:
                data = await self.stream.read_head(_MAX_HEAD_BYTES, silence_seconds)
                if not data:
                    raise httpx.RemoteProtocolError("Server disconnected without a response.")
                self.http.receive_data(data)
        return event

    def can_be_used_again(self) -> bool:
        """Tell whether both sides keep the connection; if so, prepare it for the next request.

        Call it after reading the response.
        """
        if not (self.http.our_state is self.http.their_state is h11.DONE):
            return False
        self.http.start_next_cycle()
        return True


class Connections:
    """A pool: after a request, each connection is kept for the next one to the same origin."""

    def __init__(self, keep_alive_seconds: float) -> None:
        self._keep_alive_seconds = keep_alive_seconds
        self._network = Network()
        self._proxies = Proxies()
        self._ssl_context = httpx.create_ssl_context()
        self._ssl_context.set_alpn_protocols(["http/1.1"])
        self._idle: defaultdict[Origin, list[Connection]] = defaultdict(list)

    def __len__(self) -> int:
        """The number of idle connections."""
        return sum(map(len, self._idle.values()))

    async def get(
        self,
        url: httpx.URL,
        timeout: float | None,  # noqa: ASYNC109 - the connection's
    ) -> Connection:
        """Return an idle connection or open a new one.

        Pass it to `release` after its request; a failed request closes its connection.
        """
        if url.scheme not in _PORTS:
            raise httpx.UnsupportedProtocol(
                f"{url.scheme or 'no scheme'} is neither http nor https"
            )
        host, port = url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]
        origin = url.scheme, host, port
        idle = self._idle[origin]
        while idle:
            connection = idle.pop()
            if connection.end:
                connection.end.cancel()
            if not connection.stream.is_readable:
                return connection
            connection.stream.close()
        proxy = self._proxies.proxy_for(url)
        stream = await self._connect(proxy.url if proxy else url, timeout)
        if not proxy or url.scheme == "http":
            return Connection(origin, stream, proxy)
        with _close_on_failure(stream):
            await Connection(origin, stream).open_tunnel(f"{host}:{port}".encode(), proxy, timeout)
            await stream.start_tls(self._ssl_context, host, timeout)
        return Connection(origin, stream)

    async def _connect(
        self,
        url: httpx.URL,
        timeout: float | None,  # noqa: ASYNC109 - the connection's
    ) -> Stream:
        host, port = url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]
        stream = await self._network.connect(host, port, timeout)
        if url.scheme == "https":
            with _close_on_failure(stream):
                await stream.start_tls(self._ssl_context, host, timeout)
        return stream

    def release(self, connection: Connection) -> None:
        """Keep the connection, or close it if its response was not read to the end."""
        if not connection.can_be_used_again():
            connection.stream.close()
            return
        idle = self._idle[connection.origin]
        loop = asyncio.get_running_loop()
        connection.end = loop.call_later(self._keep_alive_seconds, self._close_oldest, idle)
        idle.append(connection)

    def _close_oldest(self, idle: list[Connection]) -> None:
        """Close the connection that has been idle longest."""
        idle.pop(0).stream.close()

    def close(self) -> None:
        for idle in self._idle.values():
            for connection in idle:
                if connection.end:
                    connection.end.cancel()
                connection.stream.close()
            idle.clear()


class RequestBody(httpx.AsyncByteStream):
    """A request's body in pieces, which may be large; other tasks run between its parts."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces

    @property
    def is_small(self) -> bool:
        return not self.pieces or (len(self.pieces) == 1 and len(self.pieces[0]) <= _PART_BYTES)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            for start in range(0, len(piece), _PART_BYTES):
                yield piece[start : start + _PART_BYTES]
                await asyncio.sleep(0)


def _get_body(request: httpx.Request) -> RequestBody:
    body = request.stream
    return body if isinstance(body, RequestBody) else RequestBody([request.read()])


class Body(httpx.AsyncByteStream):
    """A response's body, available as the response's extension `BODY`.

    While iterating, a caller may set `at_once`. It is then called with each part in the same
    iteration of the event loop in which the part arrived, without waking a task, until it returns
    False; then the body yields an empty part. Parts that can't be passed this way are yielded.
    """

    def __init__(
        self,
        connection: Connection,
        head: h11.Response,
        silence_seconds: float | None,
        on_close: Callable[[], None],
    ) -> None:
        self.at_once: Callable[[bytes], bool] | None = None
        self._http, self._stream = connection.http, connection.stream
        self._on_close: Callable[[], None] | None = on_close  # called once
        self._silence_seconds = silence_seconds
        self._coding = chunked.Decoder()
        codings = [value.lower() for name, value in head.headers if name == b"transfer-encoding"]
        self._is_chunked = head.status_code == 200 and codings == [b"chunked"]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        http, stream = self._http, self._stream
        with _translate_errors():
            while self._is_chunked and not self._coding.is_over:
                if self.at_once:
                    was_declined = await stream.offer(self._decode_at_once, self._silence_seconds)
                    self.at_once = None
                    if was_declined:
                        yield b""
                        continue
                data = await stream.read(_READ_BYTES, self._silence_seconds)
                if not data:
                    break
                if part := self._coding.receive_data(data):
                    yield part
            if self._coding.trailing_bytes:
                http.receive_data(self._coding.trailing_bytes)
            while True:
                event = http.next_event()
                if event is h11.NEED_DATA:
                    http.receive_data(await stream.read(_READ_BYTES, self._silence_seconds))
                elif isinstance(event, h11.Data):
                    yield bytes(event.data)
                else:
                    return

    async def aclose(self) -> None:
        """Close without awaiting, so that a cancellation can't interrupt it."""
        on_close, self._on_close = self._on_close, None
        if on_close:
            on_close()

    def _decode_at_once(self, data: bytes) -> bool:
        assert self.at_once
        part = self._coding.receive_data(data)
        return (not part or self.at_once(part)) and not self._coding.is_over


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise protocol errors as httpx's."""
    try:
        yield
    except h11.LocalProtocolError as error:
        raise httpx.LocalProtocolError(str(error)) from error
    except (h11.RemoteProtocolError, chunked.BrokenCoding) as error:
        raise httpx.RemoteProtocolError(str(error)) from error


@contextlib.contextmanager
def _close_on_failure(stream: Stream) -> Iterator[None]:
    """Close the stream if the block fails or is cancelled."""
    has_failed = True
    try:
        yield
        has_failed = False
    finally:
        if has_failed:
            stream.close()


class Network:
    """Opens TCP connections."""

    def __init__(self) -> None:
        self._resolver = Resolver()

    async def connect(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - for the look-up and all addresses
    ) -> Stream:
        """Connect to the first address that works. Raises `ConnectTimeout` and `ConnectError`."""
        try:
            async with asyncio.timeout(timeout):
                return await _connect_to_any(await self._resolver.addresses(host), port)
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(describe_error(error)) from error


async def _connect_to_any(addresses: list[str], port: int) -> Stream:
    loop = asyncio.get_running_loop()
    *others, last = addresses
    for address in others:
        with contextlib.suppress(OSError):  # includes TimeoutError
            async with asyncio.timeout(_NEXT_ADDRESS_SECONDS):
                return (await loop.create_connection(lambda: Stream(loop), address, port))[1]
    return (await loop.create_connection(lambda: Stream(loop), last, port))[1]
