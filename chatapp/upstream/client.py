"""The only I/O of the upstream package: requests out over httpx, events in.

What an upstream does wrong becomes an event of the stream (`Failed`, `TimedOut`) or, where there is
no stream, `UpstreamFailed`; nothing else is raised but the caller's own cancellation, which passes
through untouched. Whoever cancels does it once and awaits the task: cancelled twice, httpx leaks
the connection (encode/httpx #3782). Nothing is tried again here, and no redirect is followed,
since the key would go along.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import cast
from urllib.request import getproxies

import httpx
import msgspec

from chatapp.upstream.decoder import EventDecoder
from chatapp.upstream.dialects import OPENTOKEN, ChatMessage, Dialect
from chatapp.upstream.errors import (
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
    clean,
    error_of_response,
)
from chatapp.upstream.events import Event, Failed, TimedOut
from chatapp.upstream.network import Transport

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 120.0
TAIL_SECONDS = 5.0  # for usage and [DONE], once the model has finished
LIST_SECONDS = 10.0

_END_OF_BODY_SECONDS = 0.1  # after [DONE]; read to its end, the connection can be used again
_WHOLE_BODY_SECONDS = 10.0  # for a body that is no stream
_MAX_ERROR_BYTES = 64 * 1024
_MAX_LIST_BYTES = 8 * 1024 * 1024
_MAX_MODEL_LENGTH = 200
_LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An upstream: its base URL (with `/v1`), its key, its dialect."""

    base_url: str
    api_key: str = field(default="", repr=False)
    dialect: Dialect = OPENTOKEN

    def url(self, path: str) -> str:
        return f"{self.base_url.strip().rstrip('/')}/{path}"

    def headers(self) -> dict[bytes, bytes]:
        if not (key := self.api_key.strip()):
            return {}
        return {b"Authorization": f"Bearer {key}".encode()}


class UpstreamClient:
    """One connection pool for all upstreams; one a process is enough. Close it with `aclose`."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        # No bound: a full pool leaks connections on cancelling (encode/httpcore #1093).
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
        self._http = httpx.AsyncClient(
            headers={"User-Agent": "chatapp", "Accept-Encoding": "identity"},
            timeout=httpx.Timeout(idle_seconds, connect=CONNECT_SECONDS),
            limits=limits,
            # httpx's own knows proxies, ours is made for many small reads.
            transport=None if getproxies().keys() - {"no"} else Transport(limits),
            # A proxy from the environment is for hosts elsewhere.
            mounts=dict.fromkeys(_LOOPBACK),
            # Cookies would mix the requests of everyone.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    @asynccontextmanager
    async def stream(
        self, endpoint: Endpoint, model: str, messages: Sequence[ChatMessage]
    ) -> AsyncIterator[AsyncIterator[list[Event]]]:
        """Ask for a reply; iterate over what is given for the events, a list for each read.

        The block is entered when the response's headers are there or the request has failed.
        Leaving it, in whatever way, closes the upstream connection at once, unless the response
        has been read to its end.
        """
        body = endpoint.dialect.request_body(model, messages)
        try:
            response = await self._send("POST", endpoint, "chat/completions", body)
        except UpstreamFailed as failed:
            timed_out = failed.error.kind is ErrorKind.TIMED_OUT
            yield _only(TimedOut(self._idle_seconds) if timed_out else Failed(failed.error))
            return
        try:
            async with aclosing(self._events(response, endpoint)) as events:
                yield events
        finally:
            await response.aclose()

    async def list_models(self, endpoint: Endpoint) -> list[str]:
        """Return the ids of `GET /models`, in the upstream's order. Raises `UpstreamFailed`."""
        try:
            async with asyncio.timeout(LIST_SECONDS):
                response = await self._send("GET", endpoint, "models")
                try:
                    body = await _read_at_most(_MAX_LIST_BYTES, response)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            message = f"no list of models within {LIST_SECONDS:g} seconds"
            raise UpstreamFailed(UpstreamError(ErrorKind.TIMED_OUT, message)) from error
        if response.status_code != 200:
            raise UpstreamFailed(_error_of(response, body, endpoint))
        return _model_ids(body)

    async def _send(
        self, method: str, endpoint: Endpoint, path: str, body: dict[str, object] | None = None
    ) -> httpx.Response:
        """Send a request and return the response, its body unread. Raises `UpstreamFailed`."""
        # JSON in ASCII, so that a lone surrogate in a prompt can't fail
        content = None if body is None else json.dumps(body).encode()
        try:
            headers = {b"Content-Type": b"application/json"} if content else {}
            headers |= endpoint.headers()
            url = endpoint.url(path)
            request = self._http.build_request(method, url, headers=headers, content=content)
            return await self._http.send(request, stream=True)
        except (httpx.TransportError, httpx.InvalidURL, UnicodeError) as error:
            raise UpstreamFailed(_transport_error(error, endpoint)) from error

    async def _events(
        self, response: httpx.Response, endpoint: Endpoint
    ) -> AsyncGenerator[list[Event]]:
        if not _is_event_stream(response):
            body = await _read_at_most(_MAX_ERROR_BYTES, response)
            yield [Failed(_error_of(response, body, endpoint))]
            return
        decoder = EventDecoder(endpoint.api_key.strip())
        last: list[Event] = [Failed(UpstreamError(ErrorKind.EMPTY))]
        async with aclosing(_reads(response)) as reads:
            try:
                async for data in reads:
                    last = []
                    if events := decoder.receive_data(data):
                        yield events
                        if decoder.has_finished or decoder.is_over:
                            break
            except httpx.ReadTimeout:
                last = [TimedOut(self._idle_seconds)]
            except httpx.DecodingError as error:
                last = [Failed(UpstreamError(ErrorKind.MALFORMED, clean(str(error))))]
            except httpx.TransportError:
                last = []  # cut off, which shows in what has not come
            else:
                async with aclosing(_tail(reads, decoder)) as tail:
                    async for events in tail:
                        yield events
        if events := [*decoder.close(), *last]:
            yield events


async def _tail(reads: AsyncIterator[bytes], decoder: EventDecoder) -> AsyncGenerator[list[Event]]:
    """Yield what follows the finish, but don't wait long for it: the reply is complete."""
    with suppress(TimeoutError, httpx.RequestError):
        while not decoder.is_over:
            async with asyncio.timeout(TAIL_SECONDS):
                data = await anext(reads, b"")
            if not data:
                return
            if events := decoder.receive_data(data):
                yield events
        async with asyncio.timeout(_END_OF_BODY_SECONDS):
            async for _ in reads:
                pass


def _reads(response: httpx.Response) -> AsyncGenerator[bytes]:
    """Iterate over the body as it is read; unpack it if it was packed against our wish."""
    if "content-encoding" in response.headers:
        return cast(AsyncGenerator[bytes], response.aiter_bytes())
    return cast(AsyncGenerator[bytes], response.aiter_raw())


async def _read_at_most(limit: int, response: httpx.Response) -> bytes:
    """Return the beginning of a body, as much of it as came."""
    body = bytearray()
    with suppress(TimeoutError, httpx.RequestError):
        async with asyncio.timeout(_WHOLE_BODY_SECONDS), aclosing(_reads(response)) as reads:
            async for data in reads:
                body += data
                if len(body) >= limit:
                    break
    return bytes(body[:limit])


def _is_event_stream(response: httpx.Response) -> bool:
    content_type = response.headers.get("content-type", "text/event-stream")
    media_type = content_type.partition(";")[0].strip().lower()
    return response.is_success and media_type == "text/event-stream"


def _error_of(response: httpx.Response, body: bytes, endpoint: Endpoint) -> UpstreamError:
    key = endpoint.api_key.strip()
    return error_of_response(response.status_code, response.headers, body, key)


def _transport_error(error: Exception, endpoint: Endpoint) -> UpstreamError:
    """Describe a request that got no response at all."""
    match error:
        case httpx.ReadTimeout():
            kind, message = ErrorKind.TIMED_OUT, "no answer came"
        case (
            httpx.LocalProtocolError() | UnicodeEncodeError()
        ):  # its own text quotes the header, key and all
            kind, message = ErrorKind.BAD_REQUEST, "the API key has characters no key can have"
        case _:
            kind, message = ErrorKind.UNREACHABLE, str(error) or type(error).__name__
    return UpstreamError(kind, clean(message, secret=endpoint.api_key.strip()))


async def _only(event: Event) -> AsyncIterator[list[Event]]:
    yield [event]


class _Model(msgspec.Struct):
    id: str


class _ModelList(msgspec.Struct):
    data: list[_Model]


def _model_ids(body: bytes) -> list[str]:
    try:
        listing = msgspec.json.decode(body, type=_ModelList)
    except (ValueError, RecursionError) as error:
        message = clean(f"not a list of models: {error}")
        raise UpstreamFailed(UpstreamError(ErrorKind.MALFORMED, message)) from error
    return list(dict.fromkeys(clean(model.id, _MAX_MODEL_LENGTH) for model in listing.data))
