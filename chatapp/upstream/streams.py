"""The body of an upstream's answer: bytes off the network in, events out, and when to stop reading.

What an upstream does wrong becomes an event (`Failed`, `TimedOut`). The response itself is opened
and closed by the client.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

import httpx

from chatapp.upstream.bodies import (
    WHOLE_BODY_SECONDS,
    after_start,
    beginning_of,
    is_plain,
    joined,
    media_type,
    reads,
)
from chatapp.upstream.failures import MAX_ERROR_BYTES, error_of, transport_error
from chatapp.upstream.network import BODY, Body
from chatapp.upstream.wire.decoder import EventDecoder
from chatapp.upstream.wire.errors import ErrorKind, UpstreamError, UpstreamFailed
from chatapp.upstream.wire.events import Event, Failed, TimedOut
from chatapp.upstream.wire.sse import is_stream

TAIL_SECONDS = 5.0  # for [DONE] and the like, where the usage is known
MAX_COMPLETION_BYTES = 32 * 1024 * 1024  # of an answer that is JSON and no stream

_END_OF_BODY_SECONDS = 0.1  # after [DONE]; read to its end, the connection can be used again


# Is given a read's events in the turn of the event loop in which it came; returns whether it took
# them. Those it did not take come by the iteration.
AtOnce = Callable[[list[Event]], bool]


@dataclass(slots=True)
class ReplyBody:
    """A response whose headers are there."""

    response: httpx.Response
    decoder: EventDecoder
    silence_seconds: float  # without a byte, until it is given up
    usage_seconds: float  # once the model has finished, for the usage that may follow
    at_once: AtOnce | None = None
    _not_taken: list[Event] = field(default_factory=list, init=False)

    def events(self) -> AsyncGenerator[list[Event]]:
        """Iterate over what is given for the events, a list for each read."""
        if media_type(self.response) == "text/event-stream":
            return self._streamed(reads(self.response))
        return self._told_apart()

    async def _told_apart(self) -> AsyncGenerator[list[Event]]:
        """Yield the events of what is not called a stream: it may be one, as its beginning tells.

        That something else is called a stream is found out by the decoder.
        """
        async with aclosing(reads(self.response)) as body:
            start = await beginning_of(body)
            if is_stream(start):
                events = self._streamed(after_start(start, body))
            else:
                events = self._whole(start, body)
            async with aclosing(events):
                async for batch in events:
                    yield batch

    async def _streamed(self, body: AsyncGenerator[bytes]) -> AsyncGenerator[list[Event]]:
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
                    events = self._not_taken + decoder.receive_data(data)
                    self._not_taken = []
                    if events:
                        yield events
                    if decoder.has_finished or decoder.is_over:
                        seconds = TAIL_SECONDS if decoder.has_usage else self.usage_seconds
                        async with aclosing(_tail(body, decoder, seconds)) as tail:
                            async for events in tail:
                                yield events
                        if decoder.has_finished or decoder.is_over:
                            break
                    if direct:
                        direct.at_once = self._take
            except httpx.ReadTimeout:
                last = [TimedOut(self.silence_seconds)]
                was_cut = True
            except UpstreamFailed as failed:
                last = decoder.fail(failed.error)
            except httpx.TransportError as error:
                # after the first byte it is cut off, which shows in what has not come
                last = [Failed(transport_error(error, decoder.secret))] if last else []
                was_cut = True
        if events := [*decoder.close(was_cut), *last]:
            yield events

    def _take(self, data: bytes) -> bool:
        """Take a part of an event stream at once; returns whether the next may come so, too."""
        assert self.at_once
        events = self.decoder.receive_data(data)
        if events and not self.at_once(events):
            self._not_taken = events
            return False
        return not (self.decoder.has_finished or self.decoder.is_over)

    async def _whole(
        self, start: bytes, body: AsyncGenerator[bytes]
    ) -> AsyncGenerator[list[Event]]:
        """Yield the events of an answer that is no stream: a reply as JSON, or what is wrong."""
        response, decoder = self.response, self.decoder
        is_json = media_type(response) == "application/json" or start.startswith((b"{", b"["))
        limit = MAX_COMPLETION_BYTES if is_json else MAX_ERROR_BYTES
        seconds = self.silence_seconds if is_json else WHOLE_BODY_SECONDS
        came = start + await joined(limit - len(start), body, seconds)
        if not came:
            yield [Failed(UpstreamError(ErrorKind.EMPTY, status=response.status_code))]
        elif is_json and len(came) >= limit:
            yield decoder.fail(UpstreamError(ErrorKind.TOO_LARGE, f"sent over {limit} bytes"))
        else:
            completion = decoder.receive_completion(came) if is_json else None
            yield completion or [Failed(error_of(response, came, decoder.secret))]


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
                if decoder.has_usage:
                    deadline = min(deadline, loop.time() + TAIL_SECONDS)
                yield events
            if not (decoder.has_finished or decoder.is_over):
                return
        async with asyncio.timeout(_END_OF_BODY_SECONDS):
            async for _ in body:
                pass
