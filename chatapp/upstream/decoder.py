"""The whole pure path of a stream: bytes of a response body in, typed events out.

Whatever the bytes are, nothing is raised: what is wrong becomes a `Failed` event. After `Failed`
or `StreamDone` everything is ignored. How the bytes are split changes nothing but the delay.
"""

from dataclasses import dataclass, field
from typing import Any

from chatapp.upstream import chunks, sse
from chatapp.upstream.choices import ChoiceDecoder
from chatapp.upstream.errors import (
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
    clean,
    error_of_frame,
)
from chatapp.upstream.events import (
    Event,
    Failed,
    Moderated,
    ResponseStarted,
    ServiceNamed,
    StreamDone,
    UsageReported,
)
from chatapp.upstream.moderation import moderation_of

MAX_CHOICES = 16
MAX_BODY_BYTES = 512 * 1024 * 1024  # of a stream that may say nothing, but goes on for ever

_MAX_ID_LENGTH = 200


@dataclass(slots=True)
class EventDecoder:
    """Decodes one response. `secret` (the API key) is taken out of every error message."""

    secret: str = field(default="", repr=False)
    asked_choices: int = 1  # the request's `n`
    has_finished: bool = field(default=False, init=False)  # all choices have a finish_reason
    is_over: bool = field(default=False, init=False)  # [DONE] or a failure has come
    _sse: sse.Decoder = field(default_factory=sse.Decoder, init=False)
    _choices: dict[int, ChoiceDecoder] = field(default_factory=dict, init=False)
    _has_started: bool = field(default=False, init=False)
    _service: ServiceNamed = field(default=ServiceNamed("", ""), init=False)
    _received: int = field(default=0, init=False)

    def receive_data(self, data: bytes) -> list[Event]:
        """Return the events which `data` completes."""
        if self.is_over:
            return []
        self._received += len(data)
        if self._received > MAX_BODY_BYTES:
            message = f"the stream is longer than {MAX_BODY_BYTES} bytes"
            return self.fail(UpstreamError(ErrorKind.TOO_LARGE, message))
        try:
            return self._decode(self._sse.receive_data(data))
        except sse.EventTooLarge as error:
            events = self._decode(error.events)
            return events + self.fail(UpstreamError(ErrorKind.TOO_LARGE, str(error)))

    def receive_completion(self, body: bytes) -> list[Event] | None:
        """Return the events of a `chat.completion`, the whole reply at once.

        None where the body is something else.
        """
        try:
            choices = chunks.decode(body).choices
        except chunks.MalformedChunk:
            return None
        if not any(choice.said() for choice in choices or ()):
            return None
        events: list[Event] = []
        self._decode_chunk(body, events)
        return events if self.is_over else [*events, *self._finish(), StreamDone()]

    def fail(self, error: UpstreamError) -> list[Event]:
        """End the stream here, unless it is over; return what is left, and the failure."""
        return [] if self.is_over else [*self._finish(), Failed(error)]

    def close(self) -> list[Event]:
        """Return what is left when the body has ended, in whatever way it did."""
        if self.is_over:
            return []
        events = self._decode([event for event in self._sse.close() if _is_whole(event.data)])
        return events if self.is_over else events + self._finish()

    def _finish(self) -> list[Event]:
        self.is_over = True
        return [event for choice in self._choices.values() for event in choice.close()]

    def _decode(self, sse_events: list[sse.ServerSentEvent]) -> list[Event]:
        events: list[Event] = []
        for sse_event in sse_events:
            data = sse_event.data
            if data.startswith("[DONE]"):
                events += [*self._finish(), StreamDone()]
            elif data and not data.isspace():
                self._decode_chunk(data, events)
            if self.is_over:
                break
        return events

    def _decode_chunk(self, data: str | bytes, events: list[Event]) -> None:
        try:
            chunk = chunks.decode(data)
            self._read_head(chunk, events)
            for choice in chunk.choices or ():
                self._read_choice(choice, events)
        except chunks.MalformedChunk as error:
            message = clean(str(error), secret=self.secret)
            events += self.fail(UpstreamError(ErrorKind.MALFORMED, message))
            return
        except UpstreamFailed as failed:
            events += self.fail(failed.error)
            return
        if chunk.moderation and (moderated := self._moderated(chunk.moderation)):
            events.append(moderated)
        if chunk.usage and (usage := chunk.usage.counted()):
            events.append(UsageReported(usage))
        if chunk.error:
            events += self.fail(error_of_frame(chunk.error, self.secret))

    def _read_head(self, chunk: chunks.Chunk, events: list[Event]) -> None:
        if not self._has_started and (chunk.id or chunk.model):
            self._has_started = True
            response_id = clean(chunk.id or "", _MAX_ID_LENGTH)
            events.append(ResponseStarted(response_id, clean(chunk.model or "", _MAX_ID_LENGTH)))
        if chunk.service_tier or chunk.system_fingerprint:
            service = ServiceNamed(
                _name(chunk.service_tier) or self._service.service_tier,
                _name(chunk.system_fingerprint) or self._service.system_fingerprint,
            )
            if service != self._service:
                self._service = service
                events.append(service)

    def _read_choice(self, choice: chunks.Choice, events: list[Event]) -> None:
        index = choice.index or 0
        if (decoder := self._choices.get(index)) is None:
            if not 0 <= index < MAX_CHOICES:
                message = f"a choice has the index {index}; {MAX_CHOICES} choices are taken"
                raise UpstreamFailed(UpstreamError(ErrorKind.OUT_OF_RANGE, message))
            decoder = self._choices[index] = ChoiceDecoder(index)
        decoder.decode(choice, events)
        if choice.finish_reason:
            finished = sum(one.has_finished for one in self._choices.values())
            self.has_finished = finished >= max(self.asked_choices, len(self._choices))

    def _moderated(self, content: Any) -> Moderated | None:
        if not isinstance(content, dict):
            return None
        moderated = Moderated(
            moderation_of(content.get("input"), self.secret),
            moderation_of(content.get("output"), self.secret),
        )
        return moderated if moderated.input or moderated.output else None


def _is_whole(data: str) -> bool:
    """Tell whether the last event is all there: half of one is what a cut connection leaves."""
    if data.startswith("[DONE]"):
        return True
    try:
        chunks.decode(data)
    except chunks.MalformedChunk:
        return False
    return True


def _name(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""
