"""Read the body of an upstream's response: bytes in, events out, and when to stop reading.

Failures become events (`Failed`, `TimedOut`). The client opens and closes the response.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

import httpx

from chatapp.upstream.bodies import (
    WHOLE_BODY_SECONDS,
    is_plain,
    iterate_body,
    join_pieces,
    media_type,
    prepend_start,
    read_beginning,
)
from chatapp.upstream.failures import MAX_ERROR_BYTES, build_error, transport_error
from chatapp.upstream.network import BODY, Body
from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.decoding.sse import is_stream
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError, UpstreamFailed
from chatapp.upstream.wire.events import Event, Failed, TimedOut

TAIL_SECONDS = 5.0  # to wait for [DONE] and the like once the usage is known
MAX_COMPLETION_BYTES = 32 * 1024 * 1024  # of a JSON answer that is not streamed

_END_OF_BODY_SECONDS = 0.1  # after [DONE]; a connection can be reused only if read to the end
_LATE_USAGE_SECONDS = 0.5  # the same, if usage may still come


# Called with the events of a read in the same iteration of the event loop in which it arrived;
# returns whether it took them. Other events are yielded by the iterator.
EventCallback = Callable[[list[Event]], bool]


@dataclass(slots=True)
class ReplyBody:
    """The body of a response, after its headers have arrived."""

    response: httpx.Response
    decoder: EventDecoder
    silence_seconds: float  # timeout between bytes
    usage_seconds: float  # to wait for usage after the model has finished
    at_once: EventCallback | None = None
    _pending_events: list[Event] = field(default_factory=list, init=False)

    def events(self) -> AsyncGenerator[list[Event]]:
        """Iterate over the events, a list for each read."""
        if media_type(self.response) == "text/event-stream":
            return self._read_stream(iterate_body(self.response))
        return self._sniff_events()

    async def _sniff_events(self) -> AsyncGenerator[list[Event]]:
        """Yield the events of a body without the media type of a stream, which may still be one.

        In the reverse case, the decoder notices that a stream is something else.
        """
        async with aclosing(iterate_body(self.response)) as body:
            start = await read_beginning(body)
            if is_stream(start):
                events = self._read_stream(prepend_start(start, body))
            else:
                events = self._read_whole(start, body)
            async with aclosing(events):
                async for batch in events:
                    yield batch

    async def _read_stream(self, body: AsyncGenerator[bytes]) -> AsyncGenerator[list[Event]]:
        """Yield the events of an event stream."""
        decoder = self.decoder
        last: list[Event] = [Failed(UpstreamError(ErrorKind.EMPTY))]
        was_cut = False
        takes_at_once = self.at_once is not None and is_plain(self.response)
        direct: Body | None = self.response.extensions.get(BODY) if takes_at_once else None
        async with aclosing(body):
            try:
                async for data in body:
                    last = []
                    events = self._pending_events + decoder.receive_data(data)
                    self._pending_events = []
                    if events:
                        yield events
                    if decoder.has_finished or decoder.is_over:
                        seconds = TAIL_SECONDS if decoder.has_usage else self.usage_seconds
                        async with aclosing(_read_tail(body, decoder, seconds)) as tail:
                            async for events in tail:
                                yield events
                        if decoder.has_finished or decoder.is_over:
                            break
                    if direct:
                        direct.at_once = self._decode_at_once
            except httpx.ReadTimeout:
                last = [TimedOut(self.silence_seconds)]
                was_cut = True
            except UpstreamFailed as failed:
                last = decoder.fail(failed.error)
            except httpx.TransportError as error:
                # After the first byte, the reply counts as cut off: its finish_reason is missing.
                last = [Failed(transport_error(error, decoder.secret))] if last else []
                was_cut = True
        if events := [*decoder.close(was_cut), *last]:
            yield events

    def _decode_at_once(self, data: bytes) -> bool:
        """Process a part of an event stream at once; return whether to continue this way."""
        assert self.at_once
        events = self.decoder.receive_data(data)
        if events and not self.at_once(events):
            self._pending_events = events
            return False
        return not (self.decoder.has_finished or self.decoder.is_over)

    async def _read_whole(
        self, start: bytes, body: AsyncGenerator[bytes]
    ) -> AsyncGenerator[list[Event]]:
        """Yield the events of an answer that is not a stream: a reply as JSON, or an error."""
        response, decoder = self.response, self.decoder
        is_json = media_type(response) == "application/json" or start.startswith((b"{", b"["))
        limit = MAX_COMPLETION_BYTES if is_json else MAX_ERROR_BYTES
        seconds = self.silence_seconds if is_json else WHOLE_BODY_SECONDS
        content = start + await join_pieces(limit - len(start), body, seconds)
        if not content:
            yield [Failed(UpstreamError(ErrorKind.EMPTY, status=response.status_code))]
        elif is_json and len(content) >= limit:
            yield decoder.fail(UpstreamError(ErrorKind.TOO_LARGE, f"sent over {limit} bytes"))
        else:
            completion = decoder.receive_completion(content) if is_json else None
            yield completion or [Failed(build_error(response, content, decoder.secret))]


async def _read_tail(
    body: AsyncIterator[bytes], decoder: EventDecoder, seconds: float
) -> AsyncGenerator[list[Event]]:
    """Yield events after the finish, but don't wait forever: the reply is complete.

    Returns early if more content comes, which revokes the finish.
    """
    with suppress(TimeoutError, httpx.RequestError, UpstreamFailed):
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not decoder.is_over:
            data = await _read_next(body, deadline)
            if not data:
                return
            if events := decoder.receive_data(data):
                if decoder.has_usage:
                    deadline = min(deadline, loop.time() + TAIL_SECONDS)
                yield events
            if not (decoder.has_finished or decoder.is_over):
                return
        end = loop.time() + (_LATE_USAGE_SECONDS if decoder.awaits_usage else _END_OF_BODY_SECONDS)
        while data := await _read_next(body, end):
            if events := decoder.receive_data(data):
                yield events
                end = min(end, loop.time() + _END_OF_BODY_SECONDS)


async def _read_next(body: AsyncIterator[bytes], deadline: float) -> bytes:
    """Return the next part of a body, or b"" at its end. Raises `TimeoutError`."""
    async with asyncio.timeout_at(None if math.isinf(deadline) else deadline):
        return await anext(body, b"")
