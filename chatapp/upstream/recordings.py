r"""Recordings: a response's bytes and their timing, in a file that can be shared and replayed.

A recording consists of JSON lines. The first describes the source and the response's head:

    {"recording": 1, "dialect": "auto", "model": "m", "status": 200,
     "headers": {"content-type": "text/event-stream"}, "is_cut": false}

Then comes one line for each read: the seconds since the request was sent, and the bytes, as `text`
if they are UTF-8 or else as `base64`.

    {"at": 0.412, "text": "data: {\"choices\":[]}\n\n"}

A recording never contains the request (so no key and no prompt), headers that could identify a
person, or the key if the response repeats it. This module does no I/O. A file of bare SSE bytes
(`.sse`) holds the concatenated reads.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import msgspec

from chatapp.upstream.wire.errors.upstream_error import MIN_SECRET_LENGTH

VERSION = 1

_RECORDED_HEADERS = ("content-type", "content-encoding", "retry-after", "server", "via")


class MalformedRecording(ValueError):
    """A text is not a recording; the message says in which line and why."""


@dataclass(frozen=True, slots=True)
class Read:
    """Bytes that arrived in one piece."""

    at: float  # seconds since the request
    data: bytes


@dataclass(frozen=True, slots=True)
class Recording:
    """One response."""

    dialect: str
    model: str
    reads: tuple[Read, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False  # the connection was lost before the response's end

    @classmethod
    def of_response(
        cls,
        dialect: str,
        model: str,
        status: int,
        headers: Mapping[str, str],
        reads: Iterable[Read],
        is_cut: bool,
        secret: str,
    ) -> Self:
        """Make a recording without the `secret`. `headers` must ignore case, as httpx's do."""
        safe_headers = {name: headers[name] for name in _RECORDED_HEADERS if name in headers}
        if len(secret) >= MIN_SECRET_LENGTH:
            safe_headers = {
                name: value.replace(secret, "***") for name, value in safe_headers.items()
            }
            reads = _blank_out(secret.encode(), list(reads))
        return cls(dialect, model, tuple(reads), status, safe_headers, is_cut)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the output of `dump`. Raises `MalformedRecording`."""
        first, *lines = text.split("\n")
        head = _parse_line(first, 1, _Head)
        if head.recording != VERSION:
            raise MalformedRecording(f"version {head.recording}; this app reads {VERSION}")
        numbered = ((line, number) for number, line in enumerate(lines, start=2) if line.strip())
        reads = [_parse_line(line, number, _Line).read() for line, number in numbered]
        return cls(head.dialect, head.model, tuple(reads), head.status, head.headers, head.is_cut)

    def dump(self) -> str:
        """Return the recording as the text of a file."""
        head = {
            "recording": VERSION,
            "dialect": self.dialect,
            "model": self.model,
            "status": self.status,
            "headers": dict(self.headers),
            "is_cut": self.is_cut,
        }
        lines = [head, *({"at": round(r.at, 6), **_encode_data(r.data)} for r in self.reads)]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)

    @property
    def body(self) -> bytes:
        return b"".join(read.data for read in self.reads)

    def replay(self, speed: float = 1.0) -> Iterator[tuple[float, bytes]]:
        """Yield (seconds to wait, bytes) for each read; twice the `speed` halves the waits."""
        before = 0.0
        for read in self.reads:
            yield max(0.0, read.at - before) / speed, read.data
            before = max(before, read.at)


class _Head(msgspec.Struct):
    recording: int
    dialect: str
    model: str
    status: int = 200
    headers: dict[str, str] = {}
    is_cut: bool = False


class _Line(msgspec.Struct):
    at: float
    text: str = ""
    base64: bytes = b""  # msgspec reads bytes from base64

    def read(self) -> Read:
        return Read(self.at, self.text.encode() or self.base64)


_Kind = TypeVar("_Kind", _Head, _Line)


def _parse_line(line: str, number: int, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(line, type=kind)
    except (ValueError, RecursionError) as error:
        raise MalformedRecording(f"line {number}: {error}") from error


def _encode_data(data: bytes) -> dict[str, Any]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:  # cut inside a character, or compressed
        return {"base64": base64.b64encode(data).decode()}


def _blank_out(secret: bytes, reads: list[Read]) -> list[Read]:
    """Blank out the secret, even if split over reads; every read keeps its length."""
    body = b"".join(read.data for read in reads).replace(secret, b"*" * len(secret))
    blotted, start = [], 0
    for read in reads:
        end = start + len(read.data)
        blotted.append(Read(read.at, body[start:end]))
        start = end
    return blotted
