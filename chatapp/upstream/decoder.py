"""The whole pure path of a stream: bytes of a response body in, typed events out.

Whatever the bytes are, nothing is raised: what is wrong becomes a `Failed` event. After `Failed`
or `StreamDone` everything is ignored. How the bytes are split changes nothing but the delay.
"""

from dataclasses import dataclass, field

from chatapp.upstream import chunks, sse
from chatapp.upstream.errors import ErrorKind, UpstreamError, clean, error_of_frame
from chatapp.upstream.events import (
    Event,
    Failed,
    Finished,
    ReasoningDelta,
    RefusalDelta,
    ResponseStarted,
    StreamDone,
    UsageReported,
)
from chatapp.upstream.think_tags import Splitter

_MAX_ID_LENGTH = 200


@dataclass(slots=True)
class EventDecoder:
    """Decodes one response. `secret` (the API key) is taken out of every error message."""

    secret: str = field(default="", repr=False)
    has_finished: bool = field(default=False, init=False)  # a finish_reason has come
    is_over: bool = field(default=False, init=False)  # [DONE] or a failure has come
    _sse: sse.Decoder = field(default_factory=sse.Decoder, init=False)
    _content: Splitter = field(default_factory=Splitter, init=False)
    _has_started: bool = field(default=False, init=False)

    def receive_data(self, data: bytes) -> list[Event]:
        """Return the events which `data` completes."""
        if self.is_over:
            return []
        try:
            return self._decode(self._sse.receive_data(data))
        except sse.EventTooLarge as error:
            events = self._decode(error.events)
            if not self.is_over:
                self._fail(UpstreamError(ErrorKind.TOO_LARGE, str(error)), events)
            return events

    def close(self) -> list[Event]:
        """Return what is left when the body has ended, in whatever way it did."""
        if self.is_over:
            return []
        events = self._decode([event for event in self._sse.close() if _is_whole(event.data)])
        if not self.is_over:
            events += self._content.close()
            self.is_over = True
        return events

    def _decode(self, sse_events: list[sse.ServerSentEvent]) -> list[Event]:
        events: list[Event] = []
        for sse_event in sse_events:
            data = sse_event.data
            if data.startswith("[DONE]"):
                events += self._content.close()
                events.append(StreamDone())
                self.is_over = True
            elif data and not data.isspace():
                self._decode_chunk(data, events)
            if self.is_over:
                break
        return events

    def _decode_chunk(self, data: str, events: list[Event]) -> None:
        try:
            chunk = chunks.decode(data)
        except chunks.MalformedChunk as error:
            message = clean(str(error), secret=self.secret)
            self._fail(UpstreamError(ErrorKind.MALFORMED, message), events)
            return
        if not self._has_started and (chunk.id or chunk.model):
            self._has_started = True
            response_id = clean(chunk.id or "", _MAX_ID_LENGTH)
            events.append(ResponseStarted(response_id, clean(chunk.model or "", _MAX_ID_LENGTH)))
        for choice in chunk.choices or ():
            if not choice.index:
                self._read_choice(choice, events)
        if chunk.usage and (usage := chunk.usage.counted()):
            events.append(UsageReported(usage))
        if chunk.error:
            self._fail(error_of_frame(chunk.error, self.secret), events)

    def _read_choice(self, choice: chunks.Choice, events: list[Event]) -> None:
        if delta := choice.delta:
            if reasoning := delta.reasoning_content or delta.reasoning:
                events += self._content.close()  # the reasoning has its own field: tags are text
                events.append(ReasoningDelta(_without_nul(reasoning)))
            if delta.content:
                events += self._content.receive_text(_without_nul(delta.content))
            if delta.refusal:
                events.append(RefusalDelta(_without_nul(delta.refusal)))
        if choice.finish_reason:
            self.has_finished = True
            events += self._content.close()
            events.append(Finished(clean(choice.finish_reason)))

    def _fail(self, error: UpstreamError, events: list[Event]) -> None:
        events += self._content.close()
        events.append(Failed(error))
        self.is_over = True


def _is_whole(data: str) -> bool:
    """Tell whether the last event is all there: half of one is what a cut connection leaves."""
    if data.startswith("[DONE]"):
        return True
    try:
        chunks.decode(data)
    except chunks.MalformedChunk:
        return False
    return True


def _without_nul(text: str) -> str:
    """Replace NUL, which PostgreSQL can't store."""
    return text.replace("\0", "\ufffd") if "\0" in text else text
