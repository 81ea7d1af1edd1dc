"""Encodes and decodes the records of a reply's file. Pure.

Each line is a JSON array that begins with its kind; the first line identifies the file. A torn or
invalid line ends the file: nothing after it is trusted.
"""

from collections.abc import Iterator, Sequence
from typing import get_args
from uuid import UUID

import msgspec

from chatapp.models.conversations.messages.rounds import Round, ToolRun
from chatapp.upstream.wire.events import Event, LogprobsDelta, Moderated
from chatapp.upstream.wire.requests.estimates import PromptSize

MAX_BYTES = 64 * 1024 * 1024  # per file; the rest of a longer reply is only in checkpoints

# These hold no text: one is many times the text's size, the other a moderation filter's result.
LEFT_OUT = (LogprobsDelta, Moderated)


class Heading(msgspec.Struct, tag="reply", array_like=True):
    """Identifies the file; `installation` tells apart installations that share a folder."""

    installation: str
    process: UUID
    reply: UUID


class RequestSent(msgspec.Struct, tag="ask", array_like=True):
    """A request was sent; what arrived from the previous one does not belong to the reply."""

    asked: PromptSize
    choices: int


class EventsReceived(msgspec.Struct, tag="events", array_like=True):
    """The events of one read, each with the name of its class."""

    events: list[tuple[str, msgspec.Raw]]


class ToolRunChanged(msgspec.Struct, tag="run", array_like=True):
    """The new state of the round's tool call at this index."""

    index: int
    run: ToolRun


class RoundEnded(msgspec.Struct, tag="round", array_like=True):
    round: Round


Record = Heading | RequestSent | EventsReceived | ToolRunChanged | RoundEnded

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)
_event_decoders = {
    kind.__name__: msgspec.json.Decoder(kind) for kind in get_args(Event) if kind not in LEFT_OUT
}


def encode_record(record: Record) -> bytes:
    return _encoder.encode(record) + b"\n"


def encode_events(events: Sequence[Event]) -> bytes:
    """Return the line of one read. It runs once per token, so it creates no record object."""
    named_events = [
        (type(event).__name__, event) for event in events if type(event) not in LEFT_OUT
    ]
    return _encoder.encode(("events", named_events)) + b"\n" if named_events else b""


def read_records(data: bytes) -> Iterator[Record]:
    """Yield the records of a file up to the first that can't be read."""
    *lines, _torn = data.split(b"\n")
    for raw_line in lines:
        try:
            yield _decoder.decode(raw_line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return


def decode_events(record: EventsReceived) -> Iterator[Event]:
    """Yield the events of one read. Raises `ValueError` for anything that is not an event."""
    for name, raw in record.events:
        if name not in _event_decoders:
            raise ValueError(f"{name[:50]!r} is no event")
        yield _event_decoders[name].decode(raw)
