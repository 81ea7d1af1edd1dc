"""The I/O of the upstream package: requests out over httpx (on `network`), events in.

What an upstream does wrong becomes an event of the stream (`Failed`, `TimedOut`) or, where there is
no stream, `UpstreamFailed`; nothing else is raised but the caller's own cancellation, which passes
through untouched. Whoever cancels does it once and awaits the task: cancelled twice, httpx's own
way, which is taken behind a proxy of the environment, leaks the connection (encode/httpx #3782).
Nothing is tried again here but a request whose `stream_options` the upstream did not take; and no
redirect is followed, since the key would go along.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import cast
from urllib.request import getproxies

import httpx
import msgspec

from chatapp.upstream.bodies import WHOLE_BODY_SECONDS, read_at_most
from chatapp.upstream.failures import MAX_ERROR_BYTES, error_of, transport_error
from chatapp.upstream.network import Transport
from chatapp.upstream.recordings import Read, Recording
from chatapp.upstream.streams import AtOnce, ReplyBody
from chatapp.upstream.wire.decoder import EventDecoder
from chatapp.upstream.wire.dialects import NO_OPTIONS, ChatMessage, RequestOptions
from chatapp.upstream.wire.endpoint import Endpoint
from chatapp.upstream.wire.errors import (
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
)
from chatapp.upstream.wire.events import (
    Event,
    Failed,
    TimedOut,
    UsageOptionRefused,
)
from chatapp.upstream.wire.model_list import ListedModel, listed_models

__all__ = ["Endpoint", "UpstreamClient"]

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 120.0
USAGE_SECONDS = 30.0  # once the model has finished, for the usage that may follow
LIST_SECONDS = 10.0
KEPT_SECONDS = 30.0  # an idle connection, which needs no look-up of its host

_MAX_RECORDING_BYTES = 64 * 1024 * 1024
_MAX_LIST_BYTES = 8 * 1024 * 1024
_LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")
_HEADERS = {
    b"Accept": b"*/*",
    b"Accept-Encoding": b"identity",
    b"Connection": b"keep-alive",
    b"User-Agent": b"chatapp",
}
_PHASES = ("read", "write", "pool")  # of a request, that may last as long as a silence


class UpstreamClient:
    """One connection pool for all upstreams; one a process is enough. Close it with `aclose`."""

    def __init__(
        self, idle_seconds: float = IDLE_SECONDS, usage_seconds: float = USAGE_SECONDS
    ) -> None:
        self._idle_seconds = idle_seconds
        self._usage_seconds = usage_seconds
        # httpx's own way knows proxies, ours is made for many small reads; and what else its client
        # does for each request (redirects, cookies, authentication) is nothing that is wanted here.
        has_proxies = bool(getproxies().keys() - {"no"})
        self._http = _through_proxies() if has_proxies else Transport(KEPT_SECONDS)

    async def aclose(self) -> None:
        await self._http.aclose()

    @asynccontextmanager
    async def stream(
        self,
        endpoint: Endpoint,
        model: str,
        messages: Sequence[ChatMessage],
        options: RequestOptions = NO_OPTIONS,
        at_once: AtOnce | None = None,
    ) -> AsyncIterator[AsyncIterator[list[Event]]]:
        """Ask for a reply; iterate over what is given for the events, a list for each read.

        Where it can be, `at_once` is offered them before, in the turn of the event loop in which
        they came; what it takes, by returning True, is not iterated over.

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
            silence = self._longest_silence(endpoint)
            body = ReplyBody(response, decoder, silence, self._usage_seconds, at_once)
            batches = body.events()
            async with aclosing(_after(refused, batches) if refused else batches) as events:
                yield events
        finally:
            await response.aclose()

    async def list_models(self, endpoint: Endpoint) -> list[ListedModel]:
        """Return what `GET /models` lists, in the upstream's order. Raises `UpstreamFailed`."""
        try:
            async with asyncio.timeout(LIST_SECONDS):
                response = await self._send("GET", endpoint, "models")
                try:
                    body = await read_at_most(_MAX_LIST_BYTES, response, LIST_SECONDS)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            message = f"no list of models within {LIST_SECONDS:g} seconds"
            raise UpstreamFailed(UpstreamError(ErrorKind.TIMED_OUT, message)) from error
        if response.status_code != 200:
            raise UpstreamFailed(error_of(response, body, endpoint.secret))
        return listed_models(body)

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
        content = None if body is None else _json(body)
        try:
            headers = _HEADERS | endpoint.headers()
            if content:
                headers[b"Content-Type"] = b"application/json"
            silence = self._longest_silence(endpoint)
            timeouts = {"connect": CONNECT_SECONDS} | dict.fromkeys(_PHASES, silence)
            url = _url(endpoint.url(path))
            request = httpx.Request(
                method, url, headers=headers, content=content, extensions={"timeout": timeouts}
            )
            if isinstance(self._http, httpx.AsyncClient):
                return await self._http.send(request, stream=True)
            return await self._http.handle_async_request(request)
        except (httpx.TransportError, httpx.InvalidURL, UnicodeError) as error:
            raise UpstreamFailed(transport_error(error, endpoint.secret)) from error

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
            problem = await read_at_most(MAX_ERROR_BYTES, response, WHOLE_BODY_SECONDS)
        finally:
            await response.aclose()
        raise UpstreamFailed(error_of(response, problem, endpoint.secret))

    def _longest_silence(self, endpoint: Endpoint) -> float:
        return endpoint.silence_seconds or self._idle_seconds


def _through_proxies() -> httpx.AsyncClient:
    """A client that takes the proxies of the environment."""
    # No bound: a full pool leaks connections on cancelling (encode/httpcore #1093).
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=100, keepalive_expiry=KEPT_SECONDS
    )
    return httpx.AsyncClient(
        limits=limits,
        # A proxy from the environment is for hosts elsewhere.
        mounts=dict.fromkeys(_LOOPBACK),
        # Cookies would mix the requests of everyone.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )


_url = lru_cache(httpx.URL)  # of a few upstreams; it is parsed for as long as a request is sent


async def _only(events: list[Event]) -> AsyncIterator[list[Event]]:
    yield events


async def _after(
    first: list[Event], batches: AsyncGenerator[list[Event]]
) -> AsyncGenerator[list[Event]]:
    async with aclosing(batches):
        yield first
        async for events in batches:
            yield events


def _json(body: dict[str, object]) -> bytes:
    try:
        return msgspec.json.encode(body)  # of a long conversation eight times as fast
    except UnicodeEncodeError:  # a lone surrogate, which only JSON in ASCII can say
        return json.dumps(body).encode()
