"""The whole pure path of a stream: bytes of a response body in, typed events out.

Whatever the bytes are, nothing is raised: what is wrong becomes a `Failed` event, what can't be
read but says nothing of the reply a `PieceLeftOut`. An event that was JSON and is broken may have
held a part of the answer: the rest is read, but at its end the stream has failed. After `Failed`
or `StreamDone` everything is ignored. How the bytes are split changes nothing but the delay.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from chatapp.upstream.wire import chunks, sse
from chatapp.upstream.wire.choices import ChoiceDecoder
from chatapp.upstream.wire.errors import (
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
    clean,
    error_of_frame,
    error_of_text,
    is_error,
    says_something,
)
from chatapp.upstream.wire.events import (
    Event,
    Failed,
    Moderated,
    PieceLeftOut,
    ResponseStarted,
    ServiceNamed,
    SourcesCited,
    SourcesCounted,
    StreamDone,
    TokenUsage,
    UsageReported,
)
from chatapp.upstream.wire.json_objects import objects_in
from chatapp.upstream.wire.moderation import moderation_of
from chatapp.upstream.wire.sources import SourceReader
from chatapp.upstream.wire.usage import Usage, merged

MAX_CHOICES = 16
MAX_BODY_BYTES = 512 * 1024 * 1024  # of a stream that may say nothing, but goes on for ever

_MAX_ID_LENGTH = 200
_MAX_BROKEN = 100  # events; a stream that breaks so many is not worth more
_JSON_BEGINS = ("{", "[")
_MAX_OBJECTS = 1000  # in one event, which should hold one


@dataclass(slots=True)
class EventDecoder:
    """Decodes one response. `secret` (the API key) is taken out of every error message."""

    secret: str = field(default="", repr=False)
    asked_choices: int = 1  # the request's `n`
    has_finished: bool = field(default=False, init=False)  # all choices have a finish_reason
    is_over: bool = field(default=False, init=False)  # [DONE] or a failure has come
    has_usage: bool = field(default=False, init=False)  # that was reported
    _sse: sse.Decoder = field(default_factory=sse.Decoder, init=False)
    _choices: dict[int, ChoiceDecoder] = field(default_factory=dict, init=False)
    _has_started: bool = field(default=False, init=False)
    _service: ServiceNamed = field(default=ServiceNamed("", ""), init=False)
    _received: int = field(default=0, init=False)
    _counted: TokenUsage | None = field(default=None, init=False)
    _source_lists: dict[str, SourceReader] = field(default_factory=dict, init=False)
    _left_out: list[str] = field(default_factory=list, init=False)  # not told yet
    _broken: int = field(default=0, init=False)
    _damage: UpstreamError | None = field(default=None, init=False)  # of the first broken event
    _words: str = field(default="", init=False)  # in plain text, with no chunk after them

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
        if not any(choice.delta or choice.message for choice in choices or ()):
            return None
        events: list[Event] = []
        self._decode_chunk(body, events)
        return events if self.is_over else [*events, *self._finish(), StreamDone()]

    def fail(self, error: UpstreamError) -> list[Event]:
        """End the stream here, unless it is over; return what is left, and the failure."""
        return [] if self.is_over else [*self._close_choices(), Failed(error)]

    def close(self, was_cut: bool = False) -> list[Event]:
        """Return what is left when the body has ended; `was_cut` where its connection broke."""
        if self.is_over:
            return []
        events = self._decode([event for event in self._sse.close() if _is_whole(event)])
        return events if self.is_over else events + self._finish(was_cut)

    def _finish(self, was_cut: bool = False) -> list[Event]:
        """Return what is left, and why it is not whole where that is known."""
        events = self._close_choices(was_cut)
        has_finished = any(choice.has_finished for choice in self._choices.values())
        if self._damage:
            events.append(Failed(self._damage))
        elif self._words and not has_finished:
            events.append(Failed(error_of_text(self._words, self.secret)))
        return events

    def _close_choices(self, was_cut: bool = True) -> list[Event]:
        self.is_over = True
        return [event for choice in self._choices.values() for event in choice.close(was_cut)]

    def _decode(self, sse_events: list[sse.ServerSentEvent]) -> list[Event]:
        events: list[Event] = []
        for sse_event in sse_events:
            data = sse_event.data
            if data.startswith("[DONE]"):
                events += [*self._finish(), StreamDone()]
            elif sse_event.event == "message":
                if data and not data.isspace():
                    self._decode_chunk(data, events)
            else:
                self._decode_named(sse_event, events)
            if self.is_over:
                break
        return events

    def _decode_named(self, sse_event: sse.ServerSentEvent, events: list[Event]) -> None:
        """Read an event by its name: an error, a line outside of all fields, or one to skip."""
        data = sse_event.data
        if sse_event.event == "error":
            events += self.fail(error_of_text(data, self.secret))
        elif sse_event.event == sse.STRAY:
            self._decode_stray(data, events)
        else:
            try:
                chunk = chunks.decode(data)
            except chunks.MalformedChunk:  # as of `heartbeat` or `progress`
                return
            if chunk.choices or chunk.usage or chunk.error:
                self._read(chunk, events)

    def _decode_stray(self, text: str, events: list[Event]) -> None:
        if text.lstrip().startswith(_JSON_BEGINS):
            self._decode_chunk(text, events)
        elif "{" in text:  # JSON may have been a part of the reply, whatever stands before it
            before, brace, rest = text.partition("{")
            self._decode_chunk(brace + rest, events)
            events.append(PieceLeftOut(f"{clean(before)} before an event"))
        elif " " in text.strip():  # or it is no sentence
            self._words = text

    def _decode_chunk(self, data: str | bytes, events: list[Event]) -> None:
        try:
            chunk = chunks.decode(data, self._left_out)
        except chunks.MalformedChunk as error:
            text = data if isinstance(data, str) else data.decode("utf-8", "replace")
            several = objects_in(text, _MAX_OBJECTS)
            for _, one in several:
                self._decode_chunk(one, events)
            if not several:
                self._skip(text, error, events)
            return
        self._read(chunk, events)
        if not (chunk.choices or chunk.usage or chunk.error):
            self._look_for_error(data, events)

    def _skip(self, text: str, error: Exception, events: list[Event]) -> None:
        """Leave an event out that is no JSON; what began as JSON has been a part of the reply."""
        if not text.lstrip().startswith(_JSON_BEGINS):
            self._words = text
            events.append(PieceLeftOut("an event that is no JSON"))
            return
        message = clean(str(error), secret=self.secret)
        self._damage = self._damage or UpstreamError(ErrorKind.MALFORMED, message)
        events.append(PieceLeftOut("an event of broken JSON"))
        self._broken += 1
        if self._broken >= _MAX_BROKEN:
            events += self.fail(self._damage)

    def _read(self, chunk: chunks.Chunk, events: list[Event]) -> None:
        if chunk.choices:
            self._words = ""
        try:
            self._read_head(chunk, events)
            # Where one is asked for, its index says nothing: some count it up with every chunk.
            is_alone = self.asked_choices == 1 and len(chunk.choices or ()) == 1
            usage = chunk.usage
            for choice in chunk.choices or ():
                usage = usage or choice.usage
                self._read_choice(0 if is_alone else choice.index or 0, choice, events)
        except UpstreamFailed as failed:
            events += self.fail(failed.error)
            return
        if chunk.citations or chunk.search_results:
            self._cite(chunk, events)
        if chunk.moderation and (moderated := self._moderated(chunk.moderation)):
            events.append(moderated)
        if usage or (chunk.x_groq and (usage := chunks.usage_of_groq(chunk.x_groq))):
            self._read_usage(usage, events)
        if self._left_out:
            events += map(PieceLeftOut, self._left_out)
            self._left_out.clear()
        if chunk.error and says_something(chunk.error):
            events += self.fail(error_of_frame(chunk.error, self.secret))

    def _look_for_error(self, data: str | bytes, events: list[Event]) -> None:
        """Fail where what has no choices is an error under another name, such as vLLM's."""
        try:
            content = json.loads(data, strict=False)
        except (ValueError, RecursionError):
            return
        if isinstance(content, dict) and is_error(content):
            events += self.fail(error_of_frame(content, self.secret))

    def _read_head(self, chunk: chunks.Chunk, events: list[Event]) -> None:
        if not self._has_started and (chunk.id or chunk.model):
            self._has_started = True
            response_id = clean(str(chunk.id or ""), _MAX_ID_LENGTH)
            events.append(ResponseStarted(response_id, clean(chunk.model or "", _MAX_ID_LENGTH)))
        if chunk.service_tier or chunk.system_fingerprint:
            service = ServiceNamed(
                _name(chunk.service_tier) or self._service.service_tier,
                _name(chunk.system_fingerprint) or self._service.system_fingerprint,
            )
            if service != self._service:
                self._service = service
                events.append(service)

    def _read_choice(self, index: int, choice: chunks.Choice, events: list[Event]) -> None:
        if (decoder := self._choices.get(index)) is None:
            if not 0 <= index < MAX_CHOICES:
                message = f"a choice has the index {index}; {MAX_CHOICES} choices are taken"
                raise UpstreamFailed(UpstreamError(ErrorKind.OUT_OF_RANGE, message))
            decoder = self._choices[index] = ChoiceDecoder(index, self.secret)
        decoder.decode(choice, events)
        if decoder.left_out:
            self._left_out += decoder.left_out
            decoder.left_out.clear()
        if choice.finish_reason or self.has_finished:
            finished = sum(one.has_finished for one in self._choices.values())
            self.has_finished = finished >= max(self.asked_choices, len(self._choices))

    def _cite(self, chunk: chunks.Chunk, events: list[Event]) -> None:
        for name in ("citations", "search_results"):
            reader = self._source_lists.setdefault(name, SourceReader())
            if sources := reader.read(getattr(chunk, name), self._left_out):
                events.append(SourcesCited(tuple(sources)))

    def _read_usage(self, usage: Usage, events: list[Event]) -> None:
        """Report a count, joined with what was counted before."""
        if counted := usage.counted():
            self._counted = merged(self._counted, counted)
            self.has_usage = True
            events.append(UsageReported(self._counted))
        if number := usage.sources():
            events.append(SourcesCounted(number))

    def _moderated(self, content: Any) -> Moderated | None:
        if not isinstance(content, dict):
            return None
        moderated = Moderated(
            moderation_of(content.get("input"), self.secret),
            moderation_of(content.get("output"), self.secret),
        )
        return moderated if moderated.input or moderated.output else None


def _is_whole(event: sse.ServerSentEvent) -> bool:
    """Tell whether the last event is all there: half of one is what a cut connection leaves."""
    if event.event == "error" or event.data.startswith("[DONE]"):
        return True
    if not event.data.lstrip().startswith(_JSON_BEGINS):
        return " " in event.data.strip()  # a sentence
    try:
        chunks.decode(event.data)
    except chunks.MalformedChunk:
        return False
    return True


def _name(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""
