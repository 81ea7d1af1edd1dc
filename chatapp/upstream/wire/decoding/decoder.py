"""Decode one streamed response: bytes of the body in, typed events out. No I/O.

Never raises, whatever the bytes are: errors become a `Failed` event, and unreadable pieces that
can't be part of the reply become `PieceLeftOut`. Broken JSON may have held a part of the answer:
decoding continues, but the stream ends with `Failed`. After `StreamDone`, only usage counts, and
everything after `Failed` is ignored. How the bytes are split affects only when events come, not
which.
"""

import json
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from chatapp.upstream.wire.decoding import chunks, sse
from chatapp.upstream.wire.decoding.choices import ChoiceDecoder
from chatapp.upstream.wire.decoding.json_objects import objects_in
from chatapp.upstream.wire.errors.upstream_error import (
    NO_CHOICES,
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
    clean,
    clean_id,
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
    ServiceTierReported,
    SourcesCited,
    SourcesCounted,
    StreamDone,
    TokenUsage,
    UsageReported,
)
from chatapp.upstream.wire.moderation import read_moderation
from chatapp.upstream.wire.sources import SourceReader
from chatapp.upstream.wire.usage import Usage, merge_usage

MAX_CHOICES = 16
MAX_BODY_BYTES = 512 * 1024 * 1024  # stops a stream that sends filler forever

_MAX_ID_LENGTH = 200
_MAX_BROKEN = 100  # events; give up after that many
_JSON_BEGINS = ("{", "[")
_MAX_OBJECTS = 1000  # JSON objects in one event, which should hold one


@dataclass(slots=True)
class EventDecoder:
    """Decodes one response. `secret` (the API key) is removed from every error message."""

    secret: str = field(default="", repr=False)
    requested_choices: int = 1  # the request's `n`
    tools: Collection[str] = ()  # the names of the request's
    has_finished: bool = field(default=False, init=False)  # all choices have a finish_reason
    is_over: bool = field(default=False, init=False)  # after [DONE] or a failure
    awaits_usage: bool = field(default=False, init=False)  # after [DONE], if none came before it
    has_usage: bool = field(default=False, init=False)  # reported by the upstream
    _sse: sse.Decoder = field(default_factory=sse.Decoder, init=False)
    _choices: dict[int, ChoiceDecoder] = field(default_factory=dict, init=False)
    _has_started: bool = field(default=False, init=False)
    _service: ServiceTierReported = field(default=ServiceTierReported("", ""), init=False)
    _received: int = field(default=0, init=False)
    _usage: TokenUsage | None = field(default=None, init=False)
    _source_lists: dict[str, SourceReader] = field(default_factory=dict, init=False)
    _pending_left_out: list[str] = field(default_factory=list, init=False)  # not reported yet
    _broken: int = field(default=0, init=False)
    _has_other_json: bool = field(default=False, init=False)  # that holds no part of a reply
    _first_damage: UpstreamError | None = field(default=None, init=False)
    _plain_text: str = field(default="", init=False)  # an error, unless a chunk follows it

    def receive_data(self, data: bytes) -> list[Event]:
        """Return the events that `data` completes."""
        if self.is_over:
            return self._decode_late(data)
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
        """Return the events of a `chat.completion` (a whole reply in one body), or None."""
        try:
            choices = chunks.decode(body).choices
            if not choices and (inner := chunks.open_envelope(json.loads(body, strict=False))):
                body = json.dumps(inner).encode()
                choices = chunks.decode(body).choices
        except (chunks.MalformedChunk, ValueError, RecursionError):
            return None
        if not any(choice.delta or choice.message for choice in choices or ()):
            return None
        events: list[Event] = []
        self._decode_chunk(body, events)
        return events if self.is_over else [*events, *self._finish(), StreamDone()]

    def fail(self, error: UpstreamError) -> list[Event]:
        """End the stream with an error; return what was held back and the failure.

        Returns nothing if the stream is already over.
        """
        return [] if self.is_over else [*self._close_choices(), Failed(error)]

    def close(self, was_cut: bool = False) -> list[Event]:
        """Return the remaining events after the body ended; `was_cut` if the connection broke."""
        if self.is_over:
            return self._decode_late(b"\n\n")
        events = self._decode([event for event in self._sse.close() if _is_whole(event)])
        return events if self.is_over else events + self._finish(was_cut)

    def _finish(self, was_cut: bool = False) -> list[Event]:
        """Return what was held back, and the failure if the reply is known to be incomplete."""
        events = self._close_choices(was_cut)
        has_finished = any(choice.has_finished for choice in self._choices.values())
        if self._first_damage:
            events.append(Failed(self._first_damage))
        elif self._plain_text and not has_finished:
            events.append(Failed(error_of_text(self._plain_text, self.secret)))
        elif self._has_other_json and not (self._choices or self.has_usage or was_cut):
            events.append(Failed(UpstreamError(ErrorKind.NOT_A_STREAM, NO_CHOICES)))
        return events

    def _close_choices(self, was_cut: bool = True) -> list[Event]:
        self.is_over = True
        return [event for choice in self._choices.values() for event in choice.close(was_cut)]

    def _decode(self, sse_events: list[sse.ServerSentEvent]) -> list[Event]:
        events: list[Event] = []
        for sse_event in sse_events:
            data = sse_event.data
            if self.is_over:
                self._read_late_usage(data, events)
            elif data.startswith("[DONE]"):
                events += [*self._finish(), StreamDone()]
                self.awaits_usage = not self.has_usage
            elif sse_event.event == "message":
                if data and not data.isspace():
                    self._decode_chunk(data, events)
            else:
                self._decode_named(sse_event, events)
            if self.is_over and not self.awaits_usage:
                break
        return events

    def _decode_late(self, data: bytes) -> list[Event]:
        """Return the usage in what comes after [DONE], if none came before it."""
        self._received += len(data)
        if not self.awaits_usage or self._received > MAX_BODY_BYTES:
            return []
        try:
            return self._decode(self._sse.receive_data(data))
        except sse.EventTooLarge:
            self.awaits_usage = False
            return []

    def _read_late_usage(self, data: str, events: list[Event]) -> None:
        with suppress(chunks.MalformedChunk):
            if usage := chunks.decode(data).usage:
                self._read_usage(usage, events)
                self.awaits_usage = not self.has_usage

    def _decode_named(self, sse_event: sse.ServerSentEvent, events: list[Event]) -> None:
        """Read an event whose type is not `message`: an error, stray text, or one to skip."""
        data = sse_event.data
        if sse_event.event == "error":
            events += self.fail(error_of_text(data, self.secret))
        elif sse_event.event == sse.STRAY:
            self._decode_stray(data, events)
        else:
            try:
                chunk = chunks.decode(data)
            except chunks.MalformedChunk:  # for example `heartbeat` or `progress`
                return
            if chunk.choices or chunk.usage or chunk.error:
                self._read_chunk(chunk, events)

    def _decode_stray(self, text: str, events: list[Event]) -> None:
        if text.lstrip().startswith(_JSON_BEGINS):
            self._decode_chunk(text, events)
        elif text.strip() == "null":
            self._has_other_json = True
        elif "{" in text:  # the JSON may be part of the reply, whatever comes before it
            before, brace, remainder = text.partition("{")
            self._decode_chunk(brace + remainder, events)
            events.append(PieceLeftOut(f"{clean(before)} before an event"))
        elif " " in text.strip():  # a single word is not worth reporting
            self._plain_text = text

    def _decode_chunk(self, data: str | bytes, events: list[Event]) -> None:
        try:
            chunk = chunks.decode(data, self._pending_left_out)
        except chunks.MalformedChunk as error:
            text = data if isinstance(data, str) else data.decode("utf-8", "replace")
            objects = objects_in(text, _MAX_OBJECTS)
            for _, object_text in objects:
                self._decode_chunk(object_text, events)
            if not objects:
                self._leave_out(text, error, events)
            return
        self._read_chunk(chunk, events)
        if not (chunk.choices or says_something(chunk.error)):
            self._look_inside(data, events)

    def _leave_out(self, text: str, error: Exception, events: list[Event]) -> None:
        """Leave out an unreadable event. If it began as JSON, part of the reply may be lost."""
        if not text.lstrip().startswith(_JSON_BEGINS):
            self._plain_text = text
            events.append(PieceLeftOut("an event that is not JSON"))
            return
        message = clean(str(error), secret=self.secret)
        self._first_damage = self._first_damage or UpstreamError(ErrorKind.MALFORMED, message)
        events.append(PieceLeftOut("an event with broken JSON"))
        self._broken += 1
        if self._broken >= _MAX_BROKEN:
            events += self.fail(self._first_damage)

    def _read_chunk(self, chunk: chunks.Chunk, events: list[Event]) -> None:
        if chunk.choices:
            self._plain_text = ""
        try:
            self._read_head(chunk, events)
            # With one choice, ignore its index: some upstreams count it up with every chunk.
            is_alone = self.requested_choices == 1 and len(chunk.choices or ()) == 1
            usage = chunk.usage
            for choice in chunk.choices or ():
                usage = usage or choice.usage
                self._read_choice(0 if is_alone else choice.index or 0, choice, events)
        except UpstreamFailed as failed:
            events += self.fail(failed.error)
            return
        if chunk.citations or chunk.search_results:
            self._cite(chunk, events)
        if chunk.moderation and (moderated := self._read_moderation(chunk.moderation)):
            events.append(moderated)
        if usage or (chunk.x_groq and (usage := chunks.usage_of_groq(chunk.x_groq))):
            self._read_usage(usage, events)
        if self._pending_left_out:
            events += map(PieceLeftOut, self._pending_left_out)
            self._pending_left_out.clear()
        if chunk.error and says_something(chunk.error):
            events += self.fail(error_of_frame(chunk.error, self.secret))

    def _look_inside(self, data: str | bytes, events: list[Event]) -> None:
        """Read the chunk in an envelope, or an error in another shape, such as vLLM's."""
        try:
            content = json.loads(data, strict=False)
        except (ValueError, RecursionError):
            return
        if not isinstance(content, dict):
            return
        if inner := chunks.open_envelope(content):
            chunk = chunks.decode(json.dumps(inner), self._pending_left_out)
            self._read_chunk(chunk, events)
            if chunk.choices or says_something(chunk.error):
                return
        if is_error(content):  # its envelope may hold an empty chunk
            events += self.fail(error_of_frame(content, self.secret))
        elif content and not inner and not chunks.looks_like_chunk(content):
            self._has_other_json = True

    def _read_head(self, chunk: chunks.Chunk, events: list[Event]) -> None:
        if not self._has_started and (chunk.id or chunk.model):
            self._has_started = True
            response_id = clean_id(str(chunk.id or ""), _MAX_ID_LENGTH)
            model = clean_id(chunk.model or "", _MAX_ID_LENGTH)
            events.append(ResponseStarted(response_id, model))
        if chunk.service_tier or chunk.system_fingerprint:
            service = ServiceTierReported(
                _name(chunk.service_tier) or self._service.service_tier,
                _name(chunk.system_fingerprint) or self._service.system_fingerprint,
            )
            if service != self._service:
                self._service = service
                events.append(service)

    def _read_choice(self, index: int, choice: chunks.Choice, events: list[Event]) -> None:
        if (decoder := self._choices.get(index)) is None:
            if not 0 <= index < MAX_CHOICES:
                message = f"a choice has the index {index}; the limit is {MAX_CHOICES} choices"
                raise UpstreamFailed(UpstreamError(ErrorKind.OUT_OF_RANGE, message))
            decoder = self._choices[index] = ChoiceDecoder(index, self.secret, self.tools)
        decoder.decode(choice, events)
        if decoder.left_out:
            self._pending_left_out += decoder.left_out
            decoder.left_out.clear()
        if choice.any_finish_reason or self.has_finished:
            finished = sum(choice_decoder.has_finished for choice_decoder in self._choices.values())
            self.has_finished = finished >= max(self.requested_choices, len(self._choices))

    def _cite(self, chunk: chunks.Chunk, events: list[Event]) -> None:
        for name in ("citations", "search_results"):
            reader = self._source_lists.setdefault(name, SourceReader())
            if sources := reader.read(getattr(chunk, name), self._pending_left_out):
                events.append(SourcesCited(tuple(sources)))

    def _read_usage(self, usage: Usage, events: list[Event]) -> None:
        """Report usage, merged with what was reported before."""
        if counted := usage.count_tokens():
            self._usage = merge_usage(self._usage, counted)
            self.has_usage = True
            events.append(UsageReported(self._usage))
        if number := usage.sources():
            events.append(SourcesCounted(number))

    def _read_moderation(self, content: Any) -> Moderated | None:
        if not isinstance(content, dict):
            return None
        moderated = Moderated(
            read_moderation(content.get("input"), self.secret),
            read_moderation(content.get("output"), self.secret),
        )
        return moderated if moderated.input or moderated.output else None


def _is_whole(event: sse.ServerSentEvent) -> bool:
    """Tell whether the last event is complete: a cut connection may leave half of one."""
    if event.event == "error" or event.data.startswith("[DONE]") or event.data == "null":
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
