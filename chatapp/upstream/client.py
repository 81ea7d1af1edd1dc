"""The I/O of the upstream package: requests out over httpx (on `network`), events in.

What an upstream does wrong becomes an event of the stream (`Failed`, `TimedOut`) or, where there is
no stream, `UpstreamFailed`; nothing else is raised but the caller's own cancellation, which passes
through untouched. Whoever cancels does it once and awaits the task: cancelled twice, httpx leaks
the connection (encode/httpx #3782). Nothing is tried again here but a request whose
`stream_options` the upstream did not take; and no redirect is followed, since the key would go
along.
"""

import asyncio
import json
import math
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import cast
from urllib.request import getproxies

import httpx

from chatapp.upstream.bodies import (
    WHOLE_BODY_SECONDS,
    after_start,
    beginning_of,
    joined,
    media_type,
    read_at_most,
    reads,
)
from chatapp.upstream.decoder import EventDecoder
from chatapp.upstream.dialects import NO_OPTIONS, ChatMessage, RequestOptions
from chatapp.upstream.endpoint import Endpoint
from chatapp.upstream.errors import (
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
    clean,
    error_of_response,
)
from chatapp.upstream.events import (
    Event,
    Failed,
    TimedOut,
    UsageOptionRefused,
    UsageReported,
)
from chatapp.upstream.model_list import model_ids
from chatapp.upstream.network import Transport
from chatapp.upstream.recordings import Read, Recording
from chatapp.upstream.sse import is_stream

__all__ = ["Endpoint", "UpstreamClient"]

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 120.0
USAGE_SECONDS = 30.0  # once the model has finished, for the usage that may follow
TAIL_SECONDS = 5.0  # and for [DONE] and the like, where the usage is known
LIST_SECONDS = 10.0
KEPT_SECONDS = 30.0  # an idle connection, which needs no look-up of its host

_END_OF_BODY_SECONDS = 0.1  # after [DONE]; read to its end, the connection can be used again
_MAX_ERROR_BYTES = 64 * 1024
_MAX_COMPLETION_BYTES = 32 * 1024 * 1024  # of an answer that is JSON and no stream
_MAX_RECORDING_BYTES = 64 * 1024 * 1024
_MAX_LIST_BYTES = 8 * 1024 * 1024
ERROR_NUMBER = re.compile(r"\[Errno -?\d+\] ")
_LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")


class UpstreamClient:
    """One connection pool for all upstreams; one a process is enough. Close it with `aclose`."""

    def __init__(
        self, idle_seconds: float = IDLE_SECONDS, usage_seconds: float = USAGE_SECONDS
    ) -> None:
        self._idle_seconds = idle_seconds
        self._usage_seconds = usage_seconds
        # No bound: a full pool leaks connections on cancelling (encode/httpcore #1093).
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=100, keepalive_expiry=KEPT_SECONDS
        )
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
        self,
        endpoint: Endpoint,
        model: str,
        messages: Sequence[ChatMessage],
        options: RequestOptions = NO_OPTIONS,
    ) -> AsyncIterator[AsyncIterator[list[Event]]]:
        """Ask for a reply; iterate over what is given for the events, a list for each read.

        The block is entered when the response's headers are there or the request has failed.
        Leaving it, in whatever way, closes the upstream connection at once, unless the response
        has been read to its end.
        """
        refused: list[Event] = []
        try:
            try:
                response = await self._ask(endpoint, model, messages, options)
            except UpstreamFailed as failed:
                if not (endpoint.asks_for_usage and failed.error.refuses_usage_option):
                    raise
                refused = [UsageOptionRefused()]
                endpoint = replace(endpoint, takes_usage_option=False)
                response = await self._ask(endpoint, model, messages, options)
        except UpstreamFailed as failed:
            timed_out = failed.error.kind is ErrorKind.TIMED_OUT
            silence = self._longest_silence(endpoint)
            event = TimedOut(silence) if timed_out else Failed(failed.error)
            yield _only([*refused, event])
            return
        try:
            decoder = EventDecoder(endpoint.secret, options.choices)
            batches = self._events(response, endpoint, decoder)
            async with aclosing(_after(refused, batches) if refused else batches) as events:
                yield events
        finally:
            await response.aclose()

    async def list_models(self, endpoint: Endpoint) -> list[str]:
        """Return the ids of `GET /models`, in the upstream's order. Raises `UpstreamFailed`."""
        try:
            async with asyncio.timeout(LIST_SECONDS):
                response = await self._send("GET", endpoint, "models")
                try:
                    body = await read_at_most(_MAX_LIST_BYTES, response)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            message = f"no list of models within {LIST_SECONDS:g} seconds"
            raise UpstreamFailed(UpstreamError(ErrorKind.TIMED_OUT, message)) from error
        if response.status_code != 200:
            raise UpstreamFailed(_error_of(response, body, endpoint))
        return model_ids(body)

    async def record(
        self,
        endpoint: Endpoint,
        model: str,
        messages: Sequence[ChatMessage],
        options: RequestOptions = NO_OPTIONS,
    ) -> Recording:
        """Ask for a reply and keep the response as it comes. Raises `UpstreamFailed`.

        What an upstream answers instead of a stream is recorded too, and so is a cut.
        """
        body = endpoint.request_body(model, messages, options)
        started = time.monotonic()
        response = await self._send("POST", endpoint, "chat/completions", body)
        came: list[Read] = []
        size, is_cut = 0, False
        try:
            async with aclosing(cast(AsyncGenerator[bytes], response.aiter_raw())) as raw:
                async for data in raw:
                    came.append(Read(time.monotonic() - started, data))
                    size += len(data)
                    if size > _MAX_RECORDING_BYTES:
                        break
        except httpx.TransportError:
            is_cut = True
        finally:
            await response.aclose()
        status, headers = response.status_code, response.headers
        return Recording.of_response(
            endpoint.dialect.name, model, status, headers, came, is_cut, endpoint.secret
        )

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
            timeout = httpx.Timeout(self._longest_silence(endpoint), connect=CONNECT_SECONDS)
            request = self._http.build_request(
                method, url, headers=headers, content=content, timeout=timeout
            )
            return await self._http.send(request, stream=True)
        except (httpx.TransportError, httpx.InvalidURL, UnicodeError) as error:
            raise UpstreamFailed(_transport_error(error, endpoint.secret)) from error

    async def _ask(
        self,
        endpoint: Endpoint,
        model: str,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
    ) -> httpx.Response:
        """Ask for a reply and return the response if it succeeded. Raises `UpstreamFailed`."""
        body = endpoint.request_body(model, messages, options)
        response = await self._send("POST", endpoint, "chat/completions", body)
        if response.is_success:
            return response
        try:
            problem = await read_at_most(_MAX_ERROR_BYTES, response)
        finally:
            await response.aclose()
        raise UpstreamFailed(_error_of(response, problem, endpoint))

    def _longest_silence(self, endpoint: Endpoint) -> float:
        return endpoint.silence_seconds or self._idle_seconds

    def _events(
        self, response: httpx.Response, endpoint: Endpoint, decoder: EventDecoder
    ) -> AsyncGenerator[list[Event]]:
        if media_type(response) == "text/event-stream":
            return self._streamed(reads(response), endpoint, decoder)
        return self._told_apart(response, endpoint, decoder)

    async def _told_apart(
        self, response: httpx.Response, endpoint: Endpoint, decoder: EventDecoder
    ) -> AsyncGenerator[list[Event]]:
        """Yield the events of what is not called a stream: it may be one, as its beginning tells.

        That something else is called a stream is found out by the decoder.
        """
        async with aclosing(reads(response)) as body:
            start = await beginning_of(body)
            if is_stream(start):
                events = self._streamed(after_start(start, body), endpoint, decoder)
            else:
                events = self._whole(start, body, response, endpoint, decoder)
            async with aclosing(events):
                async for batch in events:
                    yield batch

    async def _streamed(
        self, body: AsyncGenerator[bytes], endpoint: Endpoint, decoder: EventDecoder
    ) -> AsyncGenerator[list[Event]]:
        """Yield the events of an event stream."""
        last: list[Event] = [Failed(UpstreamError(ErrorKind.EMPTY))]
        was_cut = has_usage = False
        async with aclosing(body):
            try:
                async for data in body:
                    last = []
                    if events := decoder.receive_data(data):
                        has_usage = has_usage or _has_usage(events)
                        yield events
                        if decoder.has_finished or decoder.is_over:
                            seconds = TAIL_SECONDS if has_usage else self._usage_seconds
                            async with aclosing(_tail(body, decoder, seconds)) as tail:
                                async for events in tail:
                                    has_usage = has_usage or _has_usage(events)
                                    yield events
                            if decoder.has_finished or decoder.is_over:
                                break
            except httpx.ReadTimeout:
                last = [TimedOut(self._longest_silence(endpoint))]
                was_cut = True
            except UpstreamFailed as failed:
                last = decoder.fail(failed.error)
            except httpx.TransportError as error:
                # after the first byte it is cut off, which shows in what has not come
                last = [Failed(_transport_error(error, decoder.secret))] if last else []
                was_cut = True
        if events := [*decoder.close(was_cut), *last]:
            yield events

    async def _whole(
        self,
        start: bytes,
        body: AsyncGenerator[bytes],
        response: httpx.Response,
        endpoint: Endpoint,
        decoder: EventDecoder,
    ) -> AsyncGenerator[list[Event]]:
        """Yield the events of an answer that is no stream: a reply as JSON, or what is wrong."""
        is_json = media_type(response) == "application/json" or start.startswith((b"{", b"["))
        limit = _MAX_COMPLETION_BYTES if is_json else _MAX_ERROR_BYTES
        seconds = self._longest_silence(endpoint) if is_json else WHOLE_BODY_SECONDS
        came = start + await joined(limit - len(start), body, seconds)
        if not came:
            yield [Failed(UpstreamError(ErrorKind.EMPTY, status=response.status_code))]
        elif is_json and len(came) >= limit:
            yield decoder.fail(UpstreamError(ErrorKind.TOO_LARGE, f"sent over {limit} bytes"))
        else:
            completion = decoder.receive_completion(came) if is_json else None
            yield completion or [Failed(_error_of(response, came, endpoint))]


async def _tail(
    body: AsyncIterator[bytes], decoder: EventDecoder, seconds: float
) -> AsyncGenerator[list[Event]]:
    """Yield what follows the finish, but don't wait for ever: the reply is complete.

    Returns early where more is said, and the finish was none.
    """
    with suppress(TimeoutError, httpx.RequestError, UpstreamFailed):
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not decoder.is_over:
            async with asyncio.timeout_at(None if math.isinf(deadline) else deadline):
                data = await anext(body, b"")
            if not data:
                return
            if events := decoder.receive_data(data):
                if _has_usage(events):
                    deadline = min(deadline, loop.time() + TAIL_SECONDS)
                yield events
            if not (decoder.has_finished or decoder.is_over):
                return
        async with asyncio.timeout(_END_OF_BODY_SECONDS):
            async for _ in body:
                pass


def _has_usage(events: list[Event]) -> bool:
    return any(isinstance(event, UsageReported) for event in events)


def _error_of(response: httpx.Response, body: bytes, endpoint: Endpoint) -> UpstreamError:
    return error_of_response(response.status_code, response.headers, body, endpoint.secret)


def _transport_error(error: Exception, secret: str) -> UpstreamError:
    """Describe a request that got no response, or not one byte of it."""
    match error:
        case httpx.ReadTimeout():
            kind, message = ErrorKind.TIMED_OUT, "no answer came"
        case (
            httpx.LocalProtocolError() | UnicodeEncodeError()
        ):  # its own text quotes the header, key and all
            kind, message = ErrorKind.BAD_REQUEST, "the API key has characters no key can have"
        case _:
            kind, message = ErrorKind.UNREACHABLE, _words_of(error)
    return UpstreamError(kind, clean(message, secret=secret))


def _words_of(error: Exception) -> str:
    """What went wrong, without the number that the operating system has for it."""
    return ERROR_NUMBER.sub("", str(error)) or type(error).__name__


async def _only(events: list[Event]) -> AsyncIterator[list[Event]]:
    yield events


async def _after(
    first: list[Event], batches: AsyncGenerator[list[Event]]
) -> AsyncGenerator[list[Event]]:
    async with aclosing(batches):
        yield first
        async for events in batches:
            yield events
