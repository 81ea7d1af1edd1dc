"""Splits a stream of JSON into chats: the objects of an array, JSON Lines, or one object.

Only brackets and quotes are looked at, so a chat is decoded on its own and a broken one does not
stop the others. ijson, which could do both at once, gives up at the first NaN or large number; it
decodes chats that are nested too deeply for recursion, as LibreChat's trees are.
"""

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import ijson
import msgspec

CHUNK_BYTES = 256 * 1024
MAX_BYTES = 64 * 2**20  # of one chat
# What little JSON can become in memory is bounded by these; a long chat has about 100,000 of each.
MAX_BRACKETS = 1_000_000
MAX_COMMAS = 4_000_000
# Larger ones are decoded piece by piece: a decoder that keeps the GIL would hold up all threads.
LARGE_BYTES = 4 * 2**20
MAX_FOLLOWING = 32 * 2**20  # bytes after a list
MAX_BETWEEN = 10_000  # bytes between elements that are told apart
MAX_DIGITS = 400  # of an integer; no float is larger

TOO_LARGE = "It is larger than 64 MB."
TOO_COMPLEX = "It has too many parts."
CUT_OFF = "The file ends in the middle of it."
BROKEN = "Its JSON is damaged."
NO_OBJECT = "It is a single value, not a chat."

_OUTSIDE = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_INSIDE = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_QUOTE, _BACKSLASH = b'"\\'
_OPENING = frozenset(b"{[")
_BLANK = b" \t\r\n,"
_BLANK_START = b"\xef\xbb\xbf \t\r\n"
_WRAPPING = re.compile(rb'\A\{\s*"conversations"\s*:\s*(?=\[)')
_UNCLOSED_STRING = re.compile(rb'(?:[^"]++|"(?:[^"\\]++|\\.)*+")*+"')
_HEAD_BYTES = 100


# Called with the number of bytes of each piece that is read, and now and then with 0. It may raise
# an error of its own to end the reading.
Watch = Callable[[int], object]


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class WatchedFile:
    """A file that says how much is read of it."""

    def __init__(self, file: Readable, watch: Watch) -> None:
        self._file, self._watch = file, watch

    def read(self, size: int = -1, /) -> bytes:
        piece = self._file.read(size)
        self._watch(len(piece))
        return piece


@dataclass(frozen=True, slots=True)
class BrokenElement:
    """An element that cannot be decoded, and why."""

    reason: str


class Elements:
    """The elements of one file as bytes, in order."""

    def __init__(self, file: Readable, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._file = file
        self._chunk_bytes = chunk_bytes
        self.is_wrapped = False  # in an object, which may have more than the list
        # Known at the end.
        self.is_cut_off = False
        self.is_empty = False
        self.following = b""  # what comes after the list

    def __iter__(self) -> Iterator[bytes | BrokenElement]:
        chunk = self._head()
        base = 1 if chunk[:1] == b"[" else 0  # the depth at which elements are
        splitter = _Lines() if _has_lines(chunk) else _Splitter(base)
        is_begun = bool(chunk)
        while chunk and not splitter.is_finished:
            yield from splitter.split_chunk(chunk)
            chunk = self._file.read(self._chunk_bytes)
        yield from splitter.finish()
        self.is_cut_off = splitter.is_cut_off
        self.is_empty = not is_begun
        self.following = self._read_following(splitter.following + chunk)

    def _read_following(self, beginning: bytes) -> bytes:
        """Return what comes after the list, as far as it is looked at."""
        while len(beginning) < MAX_FOLLOWING and (chunk := self._file.read(self._chunk_bytes)):
            beginning += chunk
        return beginning[:MAX_FOLLOWING].strip(_BLANK)

    def _head(self) -> bytes:
        """Read the start of the file, without what comes before its first bracket."""
        head = b""
        while len(head) < _HEAD_BYTES and (chunk := self._file.read(self._chunk_bytes)):
            head = (head + chunk).lstrip(_BLANK_START)
        unwrapped = _WRAPPING.sub(b"", head, count=1)
        self.is_wrapped = unwrapped != head
        return unwrapped


def _has_lines(head: bytes) -> bool:
    """Whether a file begins like JSON Lines. The last line of `head` may be cut off.

    Other JSON may have objects in lines of their own, too: in a list, or behind each other.
    """
    lines = [line.strip(_BLANK_START) for line in head.split(b"\n", 10)]
    first, *others = [line for line in lines if line][:3] or [b""]
    if not first.startswith(b"{") or not all(line.startswith(b"{") for line in others):
        return False
    if others and _UNCLOSED_STRING.match(first):  # JSON has no line breaks in strings
        return True
    return any(isinstance(decode_element(line), dict) for line in (first, *others[:1]) if others)


class _Splitter:
    """Finds the ends of elements, however the bytes are split into chunks."""

    def __init__(self, base: int) -> None:
        self._base = base
        self.depth = 0
        self.is_finished = False
        self.following = b""  # what the last chunk has after the end of the list
        self._is_in_string = False
        self._is_escaped = False
        self._start_element()

    def _start_element(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def split_chunk(self, chunk: bytes) -> Iterator[bytes | BrokenElement]:
        start = position = 0  # where the element begins, and what is looked at
        while (position := self._next(chunk, position)) < len(chunk) and not self.is_finished:
            if chunk[position] in _OPENING:
                if self.depth == self._base:
                    yield from self._report_between(chunk[start:position])
                    start = position
                elif self.depth < self._base:
                    start = position + 1
                self.depth += 1
            else:
                self.depth -= 1
                if self.depth == self._base:
                    self._add(chunk[start : position + 1])
                    yield self._element()
                    start = position + 1
                elif self.depth < self._base or self.depth < 0:
                    yield from self._report_between(chunk[start:position])
                    self.is_finished = self._base == 1
                    self.depth, start = 0, position + 1
                    self.following = chunk[start:] if self.is_finished else b""
            position += 1
        if not self.is_finished:
            self._add(chunk[start:])

    @property
    def is_cut_off(self) -> bool:
        return self.depth > 0

    def finish(self) -> Iterator[bytes | BrokenElement]:
        """Report what is left at the end of the file."""
        if b"".join(self._pieces).strip(_BLANK + b"]") or self._size > MAX_BYTES:
            yield BrokenElement(CUT_OFF if self.depth > self._base else BROKEN)

    def _next(self, chunk: bytes, position: int) -> int:
        """Return the position of the next bracket outside of strings; the chunk's end if none."""
        end = len(chunk)
        if self._is_escaped and position < end:
            self._is_escaped = False
            position += 1
        while position < end:
            if self._is_in_string:
                position = _INSIDE.match(chunk, position).end()  # type: ignore[union-attr]
                if position < end and chunk[position] == _BACKSLASH:
                    self._is_escaped = True
                    return end
                if position < end:
                    self._is_in_string = False
                    position += 1
            else:
                position = _OUTSIDE.match(chunk, position).end()  # type: ignore[union-attr]
                if position == end or chunk[position] != _QUOTE:
                    return position
                self._is_in_string = True
                position += 1
        return end

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MAX_BYTES:
            self._pieces.clear()
        else:
            self._pieces.append(piece)

    def _report_between(self, piece: bytes) -> Iterator[BrokenElement]:
        """Report values between elements that are neither objects nor arrays."""
        self._add(piece)
        if between := b"".join(self._pieces).strip(_BLANK):
            yield from _broken_values(between)
        self._start_element()

    def _element(self) -> bytes | BrokenElement:
        element = BrokenElement(TOO_LARGE) if self._size > MAX_BYTES else b"".join(self._pieces)
        self._start_element()
        return element


def _broken_values(between: bytes) -> Iterator[BrokenElement]:
    """Yield a reason for each of these values, or one if they can't be told apart."""
    try:
        values = json.loads(b"[" + between + b"]") if len(between) <= MAX_BETWEEN else []
    except (ValueError, RecursionError):
        values = []
    yield from (BrokenElement(NO_OBJECT) for _ in values)
    if not values:
        yield BrokenElement(BROKEN)


class _Lines:
    """Finds the lines of JSON Lines, so that one that is cut off takes no other with it."""

    is_finished = False
    following = b""

    def __init__(self) -> None:
        self.is_cut_off = False
        self._pieces: list[bytes] = []
        self._size = 0

    def split_chunk(self, chunk: bytes) -> Iterator[bytes | BrokenElement]:
        *finished_lines, last = chunk.split(b"\n")
        for line in finished_lines:
            self._add(line)
            yield from self._line()
        self._add(last)

    def finish(self) -> Iterator[bytes | BrokenElement]:
        line = b"".join(self._pieces).strip(_BLANK)
        self.is_cut_off = bool(line) and not line.endswith(b"}")
        if self.is_cut_off:
            yield BrokenElement(CUT_OFF)
        else:
            yield from self._line()

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        self._pieces = [] if self._size > MAX_BYTES else [*self._pieces, piece]

    def _line(self) -> Iterator[bytes | BrokenElement]:
        line, size = b"".join(self._pieces).strip(_BLANK), self._size
        self._pieces, self._size = [], 0
        if size > MAX_BYTES:
            yield BrokenElement(TOO_LARGE)
        elif line.startswith((b"{", b"[")):
            yield line
        elif line:
            yield from _broken_values(line)


def ignore_bytes(_: int) -> None:
    """Watch nothing."""


def decode_element(element: bytes, watch: Watch = ignore_bytes) -> Any:
    """Return the value of an element, or a `BrokenElement`."""
    brackets = element.count(b"{") + element.count(b"[")
    if brackets > MAX_BRACKETS or element.count(b",") > MAX_COMMAS:
        return BrokenElement(TOO_COMPLEX)
    if len(element) > LARGE_BYTES:
        value = _decode_deep(element, watch)
        if not isinstance(value, BrokenElement):
            return value
    try:
        return _DECODER.decode(element)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # which accepts NaN, unpaired surrogates and control characters, but is slower
        return _LENIENT.decode(element.decode("utf-8", "replace"))
    except RecursionError:
        return _decode_deep(element, watch)
    except ValueError:
        return BrokenElement(BROKEN)


_DECODER = msgspec.json.Decoder()
_LENIENT = json.JSONDecoder(
    strict=False, parse_int=lambda digits: int(digits) if len(digits) <= MAX_DIGITS else None
)


def _decode_deep(element: bytes, watch: Watch) -> Any:
    builder = ijson.ObjectBuilder()  # `ijson.items` takes time quadratic in the depth
    try:
        pieces = WatchedFile(io.BytesIO(element), lambda _: watch(0))
        for event, value in ijson.basic_parse(pieces, use_float=True):
            builder.event(event, value)
    except ijson.JSONError:
        return BrokenElement(BROKEN)
    return builder.value
