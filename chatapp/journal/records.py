"""The lines of a reply's file: records to bytes and back. Pure.

A line is a JSON array that begins with its kind. The first one says whose file it is. A line that
is torn or is no record ends the file: nothing after it is believed.
"""

from collections.abc import Iterator, Sequence
from typing import get_args
from uuid import UUID

import msgspec

from chatapp.models.rounds import Round, ToolRun
from chatapp.upstream.wire.estimates import Asked
from chatapp.upstream.wire.events import Event, LogprobsDelta, Moderated

MAX_BYTES = 64 * 1024 * 1024  # of one reply's file; what comes after is in checkpoints alone

# No text: many times its size, and what an administrator's filter says.
LEFT_OUT = (LogprobsDelta, Moderated)


class Heading(msgspec.Struct, tag="reply", array_like=True):
    """Whose file it is; `installation` tells those apart that may share a folder."""

    installation: str
    process: UUID
    reply: UUID


class Asking(msgspec.Struct, tag="ask", array_like=True):
    """A request went out; what had arrived of the one before is not of the reply."""

    asked: Asked
    choices: int


class Arrived(msgspec.Struct, tag="events", array_like=True):
    """One read's events, each with the name of its class."""

    events: list[tuple[str, msgspec.Raw]]


class Ran(msgspec.Struct, tag="run", array_like=True):
    """What has become of the round's tool call at this place."""

    index: int
    run: ToolRun


class RoundEnded(msgspec.Struct, tag="round", array_like=True):
    round: Round


Record = Heading | Asking | Arrived | Ran | RoundEnded

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)
_event_decoders = {
    kind.__name__: msgspec.json.Decoder(kind) for kind in get_args(Event) if kind not in LEFT_OUT
}


def line(record: Record) -> bytes:
    return _encoder.encode(record) + b"\n"


def line_of(events: Sequence[Event]) -> bytes:
    """The line of one read; it runs once for each token, so no record is made for it."""
    named = [(type(one).__name__, one) for one in events if type(one) not in LEFT_OUT]
    return _encoder.encode(("events", named)) + b"\n" if named else b""


def records(data: bytes) -> Iterator[Record]:
    """The records of a file, as far as they can be read."""
    *lines, _torn = data.split(b"\n")
    for one in lines:
        try:
            yield _decoder.decode(one)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return


def events_of(record: Arrived) -> Iterator[Event]:
    """Raises `ValueError` for what is no event."""
    for name, raw in record.events:
        if name not in _event_decoders:
            raise ValueError(f"{name[:50]!r} is no event")
        yield _event_decoders[name].decode(raw)
