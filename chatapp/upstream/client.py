"""Send requests to upstreams and yield the events of their replies.

Failures of an upstream become events of the stream (`Failed`, `TimedOut`), or `UpstreamFailed` if
there is no stream. Nothing else is raised except the caller's cancellation.

A request is repeated only if the upstream rejected its `stream_options`. Redirects are never
followed, because that would send the key to another server.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import cast
from urllib.parse import urlencode

import httpx

from chatapp.upstream.bodies import WHOLE_BODY_SECONDS, read_at_most
from chatapp.upstream.failures import MAX_ERROR_BYTES, build_error, transport_error
from chatapp.upstream.network import RequestBody, Transport
from chatapp.upstream.recordings import Read, Recording
from chatapp.upstream.streams import EventCallback, ReplyBody
from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.errors.upstream_error import (
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
from chatapp.upstream.wire.model_list import MAX_MODELS, ListedModel, ModelPage, model_page
from chatapp.upstream.wire.requests.dialects import NO_OPTIONS, ChatMessage, RequestOptions
from chatapp.upstream.wire.requests.endpoint import Endpoint
from chatapp.upstream.wire.requests.request_json import json_pieces

__all__ = ["Endpoint", "UpstreamClient"]

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 120.0
USAGE_SECONDS = 30.0  # to wait for usage after the model has finished
LIST_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 30.0  # how long an idle connection is kept, to save looking up its host again

_MAX_RECORDING_BYTES = 64 * 1024 * 1024
_MAX_LIST_BYTES = 8 * 1024 * 1024
_MAX_PAGES = 100
_HEADERS = {
    b"Accept": b"*/*",
    b"Accept-Encoding": b"identity",
    b"Connection": b"keep-alive",
    b"User-Agent": b"chatapp",
}
_PHASES = ("read", "write", "pool")  # phases of a request that have the timeout between bytes


class UpstreamClient:
    """One connection pool for all upstreams; one per process is enough. Close it with `aclose`."""

    def __init__(
        self, idle_seconds: float = IDLE_SECONDS, usage_seconds: float = USAGE_SECONDS
    ) -> None:
        self._idle_seconds = idle_seconds
        self._usage_seconds = usage_seconds
        self._http = httpx.AsyncClient(
            transport=Transport(KEEP_ALIVE_SECONDS),
            # Cookies would be shared between people's requests.
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
        at_once: EventCallback | None = None,
    ) -> AsyncIterator[AsyncIterator[list[Event]]]:
        """Request a reply; yields an iterator over its events, a list for each read.

        If possible, each list is first passed to `at_once`, in the same iteration of the event loop
        in which the data arrived. If it returns True, the iterator skips that list.

        The block is entered when the response's headers arrive or the request has failed. Leaving
        it for any reason closes the upstream connection at once, unless the response has been read
        to its end.
        """
        refused: list[Event] = []
        try:
            try:
                response = await self._request_reply(endpoint, model, messages, options)
            except UpstreamFailed as failed:
                if not (endpoint.asks_for_usage and failed.error.refuses_usage_option):
                    raise
                refused = [UsageOptionRefused()]
                endpoint = replace(endpoint, takes_usage_option=False)
                response = await self._request_reply(endpoint, model, messages, options)
        except UpstreamFailed as failed:
            timed_out = failed.error.kind is ErrorKind.TIMED_OUT
            silence = self._silence_timeout(endpoint)
            event = TimedOut(silence) if timed_out else Failed(failed.error)
            yield _yield_once([*refused, event])
            return
        try:
            decoder = EventDecoder(endpoint.secret, options.choices, options.tool_names)
            silence = self._silence_timeout(endpoint)
            body = ReplyBody(response, decoder, silence, self._usage_seconds, at_once)
            batches = body.events()
            async with aclosing(
                _prepend_events(refused, batches) if refused else batches
            ) as events:
                yield events
        finally:
            await response.aclose()

    async def list_models(self, endpoint: Endpoint) -> list[ListedModel]:
        """Return the models of `GET /models`, in the upstream's order. Raises `UpstreamFailed`.

        If the list has pages and one of them fails, those before it count.
        """
        models: dict[str, ListedModel] = {}
        path = "models"
        try:
            async with asyncio.timeout(LIST_SECONDS):
                for _ in range(_MAX_PAGES):
                    page = await self._model_page(endpoint, path)
                    news = {model.id: model for model in page.models if model.id not in models}
                    models |= news
                    if not (page.next_after and news and len(models) < MAX_MODELS):
                        break
                    path = f"models?{urlencode({'after_id': page.next_after})}"
        except TimeoutError as error:
            message = f"sent no list of models within {LIST_SECONDS:g} seconds"
            failed = UpstreamFailed(UpstreamError(ErrorKind.TIMED_OUT, message))
            _log_or_raise(models, failed, error)
        except UpstreamFailed as failed:
            _log_or_raise(models, failed)
        else:
            if page.next_after:
                logger.warning("A list of models did not end after %d models", len(models))
        return list(models.values())[:MAX_MODELS]

    async def _model_page(self, endpoint: Endpoint, path: str) -> ModelPage:
        response = await self._send("GET", endpoint, path)
        try:
            body = await read_at_most(_MAX_LIST_BYTES, response, LIST_SECONDS)
        finally:
            await response.aclose()
        if response.status_code != 200:
            raise UpstreamFailed(build_error(response, body, endpoint.secret))
        page = model_page(body)
        for name in page.too_long:
            logger.warning("Left out a model whose id is too long: %s", name)
        return page

    async def record(
        self,
        endpoint: Endpoint,
        model: str,
        messages: Sequence[ChatMessage],
        options: RequestOptions = NO_OPTIONS,
    ) -> Recording:
        """Request a reply and record the raw response. Raises `UpstreamFailed`.

        Also records responses that are not streams, and whether the connection was cut.
        """
        body = endpoint.request_body(model, messages, options)
        started = time.monotonic()
        response = await self._send("POST", endpoint, "chat/completions", body)
        reads: list[Read] = []
        size, is_cut = 0, False
        try:
            async with aclosing(cast(AsyncGenerator[bytes], response.aiter_raw())) as raw:
                async for data in raw:
                    reads.append(Read(time.monotonic() - started, data))
                    size += len(data)
                    if size > _MAX_RECORDING_BYTES:
                        break
        except httpx.TransportError:
            is_cut = True
        finally:
            await response.aclose()
        status, headers = response.status_code, response.headers
        return Recording.of_response(
            endpoint.dialect.name, model, status, headers, reads, is_cut, endpoint.secret
        )

    async def _send(
        self, method: str, endpoint: Endpoint, path: str, body: dict[str, object] | None = None
    ) -> httpx.Response:
        """Send a request; return the response with its body unread. Raises `UpstreamFailed`."""
        pieces = [] if body is None else json_pieces(body)
        try:
            headers = _HEADERS | endpoint.headers()
            if pieces:
                headers[b"Content-Type"] = b"application/json"
                headers[b"Content-Length"] = str(sum(map(len, pieces))).encode()
            silence = self._silence_timeout(endpoint)
            timeouts = {"connect": CONNECT_SECONDS} | dict.fromkeys(_PHASES, silence)
            url = _url(endpoint.url(path))
            extensions = {"timeout": timeouts}
            request = httpx.Request(method, url, headers=headers, extensions=extensions)
            request.stream = RequestBody(pieces)
            return await self._http.send(request, stream=True)
        except (httpx.TransportError, httpx.InvalidURL, UnicodeError) as error:
            raise UpstreamFailed(transport_error(error, endpoint.secret)) from error

    async def _request_reply(
        self,
        endpoint: Endpoint,
        model: str,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
    ) -> httpx.Response:
        """Request a reply; return a successful response. Raises `UpstreamFailed`."""
        body = endpoint.request_body(model, messages, options)
        response = await self._send("POST", endpoint, "chat/completions", body)
        if response.is_success:
            return response
        try:
            error_body = await read_at_most(MAX_ERROR_BYTES, response, WHOLE_BODY_SECONDS)
        finally:
            await response.aclose()
        raise UpstreamFailed(build_error(response, error_body, endpoint.secret))

    def _silence_timeout(self, endpoint: Endpoint) -> float:
        return endpoint.silence_seconds or self._idle_seconds


def _log_or_raise(
    models: Collection[str], failed: UpstreamFailed, cause: Exception | None = None
) -> None:
    """Log the failure of a later page of models; raise that of the first one."""
    if not models:
        raise failed from cause
    logger.warning("Only %d models are known, since the next page failed: %s", len(models), failed)


_url = lru_cache(httpx.URL)  # parsing a URL takes as long as sending a request


async def _yield_once(events: list[Event]) -> AsyncIterator[list[Event]]:
    yield events


async def _prepend_events(
    first: list[Event], batches: AsyncGenerator[list[Event]]
) -> AsyncGenerator[list[Event]]:
    async with aclosing(batches):
        yield first
        async for events in batches:
            yield events
