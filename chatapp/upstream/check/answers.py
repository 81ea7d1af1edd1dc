"""Read the response to one question: a recording in, an `Answer` out. No I/O.

The reply is decoded as in the app; details that the app ignores but a report shows are read from
the raw chunks.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from chatapp.upstream.recordings import Read, Recording
from chatapp.upstream.wire.decoding import sse
from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.decoding.unpacking import Unpacker
from chatapp.upstream.wire.errors.upstream_error import (
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
    error_of_response,
)
from chatapp.upstream.wire.events import (
    AnswerDelta,
    Event,
    Failed,
    ReasoningDelta,
    RefusalDelta,
    ToolCallDelta,
)
from chatapp.upstream.wire.reply import Reply
from chatapp.upstream.wire.requests.dialects import Marks, UsageChunk, UsageHabit

DELTAS = (AnswerDelta, ReasoningDelta, RefusalDelta, ToolCallDelta)

_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply to one question, and how it came. Without a response, only its error is set."""

    reply: Reply
    is_stream: bool = False
    error_form: str = ""  # the form of an error: HTML, plain text, the keys of its JSON
    delta_times: tuple[float, ...] = ()  # seconds since the request
    reasoning_fields: tuple[str, ...] = ()
    usage_chunk: UsageChunk = UsageChunk.NONE
    has_null_usage: bool = False

    @property
    def has_said_something(self) -> bool:
        return bool(self.delta_times)

    def marks(self, habit: UsageHabit) -> Marks:
        """Return the features of the stream, given when the upstream reports usage."""
        return Marks(habit, self.usage_chunk, self.has_null_usage, self.reply.response_id)


def failed_answer(error: UpstreamError) -> Answer:
    return Answer(Reply(error=error))


def read_answer(recording: Recording, secret: str) -> Answer:
    """Read a response. `secret` is removed from every error message."""
    status, headers = recording.status, recording.headers
    kind = headers.get("content-type", "text/event-stream").partition(";")[0].strip().lower()
    try:
        reads = list(_decompress_reads(recording))
    except UpstreamFailed as failed:
        return failed_answer(failed.error)
    body = b"".join(read.data for read in reads)
    is_stream = kind == "text/event-stream" or sse.is_stream(body)
    if is_stream and 200 <= status < 300:
        return _read_stream(reads, body, secret)
    decoder = EventDecoder(secret)
    whole = decoder.receive_completion(body)
    if whole and 200 <= status < 300:
        reply, times = _fold_events((reads[-1].at, event) for event in whole)
        return Answer(reply, delta_times=times)
    error = error_of_response(status, headers, body, secret)
    return Answer(Reply(error=error), error_form=describe_form(body))


def describe_form(body: bytes) -> str:
    """Describe the form of an error: `{"error": {"message", "type"}}`, HTML, plain text."""
    try:
        content = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        start = body.lstrip()[:1]
        return "an empty body" if not start else "HTML" if start == b"<" else "plain text"
    if not isinstance(content, dict):
        return "JSON that is not an object"
    return "{" + ", ".join(_member(name, content[name]) for name in sorted(content)) + "}"


def _member(name: str, value: Any) -> str:
    inner = ", ".join(json.dumps(key) for key in value) if isinstance(value, dict) else ""
    return f"{json.dumps(name)}: {{{inner}}}" if inner else json.dumps(name)


def _decompress_reads(recording: Recording) -> Iterator[Read]:
    """Yield the reads decompressed. Raises `UpstreamFailed` if that is impossible."""
    coding = recording.headers.get("content-encoding", "identity").strip().lower()
    if coding in ("", "identity"):
        yield from recording.reads
        return
    unpacker = Unpacker(coding)
    for read in recording.reads:
        yield Read(read.at, b"".join(unpacker.receive_data(read.data)))


def _read_stream(reads: list[Read], body: bytes, secret: str) -> Answer:
    reply, times = _fold_events(_timed_events(reads, secret))
    chunks = _chunks(body)
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices or () if choice.delta]
    return Answer(
        reply,
        is_stream=True,
        error_form="an error frame in the stream" if reply.error else "",
        delta_times=times,
        reasoning_fields=tuple(
            name for name in _REASONING_FIELDS if any(delta.get(name) for delta in deltas)
        ),
        usage_chunk=_usage_chunk(chunks),
        has_null_usage=any(chunk.usage is None for chunk in chunks),
    )


def _timed_events(reads: list[Read], secret: str) -> Iterator[tuple[float, Event]]:
    decoder, at = EventDecoder(secret), 0.0
    if not any(read.data for read in reads):
        yield at, Failed(UpstreamError(ErrorKind.EMPTY))
    for read in reads:
        at = read.at
        yield from ((at, event) for event in decoder.receive_data(read.data))
    yield from ((at, event) for event in decoder.close())


def _fold_events(events: Iterable[tuple[float, Event]]) -> tuple[Reply, tuple[float, ...]]:
    reply, times = Reply(), []
    for at, event in events:
        reply.apply(event)
        if isinstance(event, DELTAS):
            times.append(at)
    return reply, tuple(times)


class _Choice(msgspec.Struct):
    delta: dict[str, Any] | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | UnsetType | None = UNSET
    usage: Any = UNSET


def _chunks(body: bytes) -> list[_Chunk]:
    """Return the chunks of the usual shape; the decoder judges the rest."""
    decoder = sse.Decoder()
    try:
        events = decoder.receive_data(body) + decoder.close()
    except sse.EventTooLarge as error:
        events = error.events
    chunks = (_chunk(event.data) for event in events)
    return [chunk for chunk in chunks if chunk]


def _chunk(data: str) -> _Chunk | None:
    try:
        return msgspec.json.decode(data, type=_Chunk)
    except (ValueError, RecursionError):
        return None


def _usage_chunk(chunks: list[_Chunk]) -> UsageChunk:
    last = next((chunk for chunk in reversed(chunks) if isinstance(chunk.usage, dict)), None)
    if last is None:
        return UsageChunk.NONE
    if last.choices is UNSET:
        return UsageChunk.WITHOUT_CHOICES
    return UsageChunk.WITH_CHOICE if last.choices else UsageChunk.EMPTY_CHOICES
