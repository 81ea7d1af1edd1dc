"""Server-sent events: bytes in, events out.

Follows the event stream format of the HTML standard (section 9.2.6, "Interpreting an event
stream") but for what small servers need:

* An event that the end of the stream left without its blank line is handed out by `close()`.
* Events that no blank line parts are told apart: a JSON object can't go on with another one.
* A field `error` is the data of an event of that name, as llama.cpp writes it.
* White space or a BOM before a field, and a field that is written twice (`data: data: {…}`), are
  read over.
* Lines that are no field at all, such as bare JSON or a last word in plain text, are an event
  named `STRAY`.

Never does I/O, never decodes `data`. `id` and `retry` are read over: a reply is single-shot.
"""

import re
from dataclasses import dataclass, field

MAX_EVENT_BYTES = 1024 * 1024  # for one line, and for all the data lines of one event
MAX_IMAGE_EVENT_BYTES = 16 * 1024 * 1024  # where its first MiB has the beginning of an image

BLANK = b" \t\r\n\xef\xbb\xbf"  # white space and the bytes of a BOM
STRAY = ""  # the type of what came outside of every field

_BOM = b"\xef\xbb\xbf"
_IMAGE = b"data:image"
_STREAM_BEGINS = (b"data:", b"event:", b"id:", b"retry:", b":")
_LOOKED_AT = 1000  # bytes
# What nearly every read of a stream is: one event of JSON in one line.
_WHOLE_EVENT = re.compile(rb"data: ?(\{[^\r\n]{0,65536}\})\n\n")
_WRITTEN_TWICE = re.compile(rb"^(?:data: ?)+")
_READ_OVER = frozenset((b"", b"id", b"retry"))  # a comment has no name


def is_stream(body: bytes) -> bool:
    """Tell by how a body begins whether it is an event stream, whatever it is called."""
    return body[:_LOOKED_AT].lstrip(BLANK).startswith(_STREAM_BEGINS)


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its type (`message` where none was given) and its data lines, joined by LF."""

    event: str
    data: str


class EventTooLarge(Exception):
    """An event is over its limit; `events` are those that were complete before it."""

    def __init__(self, limit: int, events: list[ServerSentEvent]) -> None:
        super().__init__(f"an event is larger than {limit} bytes")
        self.events = events


@dataclass(slots=True)
class Decoder:
    """Decodes one stream. The work is linear in the bytes, however they are split."""

    _at_start: bool = True
    _skip_lf: bool = False  # the last read ended with a CR, which may be half of a CRLF
    unfinished: list[bytes] = field(default_factory=list)  # a line whose end has not come yet
    _unfinished_size: int = 0
    _event: str = ""
    _data: list[bytes] = field(default_factory=list)
    _data_size: int = 0  # of what stands in `_stray` too
    _stray: list[bytes] = field(default_factory=list)
    _limit: int = MAX_EVENT_BYTES  # of this event
    _is_unparted: bool = False  # no blank lines are to be waited for

    def receive_data(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events which `data` completes. Raises `EventTooLarge`."""
        if self._is_between and (whole := _WHOLE_EVENT.fullmatch(data)):
            return [ServerSentEvent("message", whole[1].decode("utf-8", "replace"))]
        events: list[ServerSentEvent] = []
        for line in self._complete_lines(data):
            if not line:
                self._dispatch(events)
                continue
            if len(line) + self._data_size > self._limit:
                self._raise_limit(line, events)
            self._read_field(line, events)
        if self._unfinished_size + self._data_size > self._limit:
            self.unfinished[:] = [b"".join(self.unfinished)]
            self._raise_limit(self.unfinished[0], events)
        return events

    @property
    def _is_between(self) -> bool:
        """Whether nothing of an event has come yet."""
        return not (
            self.unfinished
            or self._data
            or self._event
            or self._stray
            or self._skip_lf
            or self._at_start
        )

    def close(self) -> list[ServerSentEvent]:
        """Return the last event if the stream ended before its blank line."""
        return self.receive_data(b"\n\n")

    def _complete_lines(self, data: bytes) -> list[bytes]:
        if self._skip_lf and data:
            self._skip_lf = False
            data = data.removeprefix(b"\n")
        if not data:
            return []
        lines = data.splitlines()  # of bytes: at CR, LF and CRLF, and nothing else
        last = data[-1]
        self._skip_lf = last == 0x0D
        rest = b"" if last == 0x0A or last == 0x0D else lines.pop()
        if lines:
            if self.unfinished:
                lines[0] = b"".join((*self.unfinished, lines[0]))
                self.unfinished.clear()
                self._unfinished_size = 0
            if self._at_start:
                lines[0] = lines[0].removeprefix(_BOM)
                self._at_start = False
        if rest:
            self.unfinished.append(rest)
            self._unfinished_size += len(rest)
        return lines

    def _raise_limit(self, line: bytes, events: list[ServerSentEvent]) -> None:
        """Let an image be larger than text may be; `line` is a line's beginning, or all of it."""
        if line.find(_IMAGE, 0, MAX_EVENT_BYTES - self._data_size) >= 0:
            self._limit = MAX_IMAGE_EVENT_BYTES
        if len(line) + self._data_size > self._limit:
            raise EventTooLarge(self._limit, events)

    def _read_field(self, line: bytes, events: list[ServerSentEvent]) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value.removeprefix(b" ")
            if value.startswith(b"data:"):
                value = _WRITTEN_TWICE.sub(b"", value, count=1)
            if self._data and _begins_anew(self._data[-1], value):
                self._is_unparted = True
                self._dispatch(events)
            self._data.append(value)
            self._data_size += len(line)
            if value == b"[DONE]" or (self._is_unparted and _is_whole(value)):
                self._dispatch(events)
        elif name == b"event":
            self._event = value.removeprefix(b" ").decode("utf-8", "replace")
        elif name == b"error":
            self._event = "error"
            self._data.append(value.removeprefix(b" "))
            self._data_size += len(line)
        elif name not in _READ_OVER:
            field = line.lstrip(BLANK)
            if len(field) < len(line) and field.startswith(_STREAM_BEGINS):
                self._read_field(field, events)
            else:
                self._read_stray(line, events)

    def _read_stray(self, line: bytes, events: list[ServerSentEvent]) -> None:
        if _is_whole(line) and not self._stray:
            events.append(ServerSentEvent(STRAY, line.decode("utf-8", "replace")))
        else:
            self._stray.append(line)
            self._data_size += len(line)

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        if self._data:
            data = b"\n".join(self._data).decode("utf-8", "replace")
            events.append(ServerSentEvent(self._event or "message", data))
            self._data.clear()
        elif self._event == "error":
            events.append(ServerSentEvent("error", ""))
        if self._stray:
            text = b"\n".join(self._stray).decode("utf-8", "replace")
            events.append(ServerSentEvent(STRAY, text))
            self._stray.clear()
        self._data_size = 0
        self._limit = MAX_EVENT_BYTES
        self._event = ""


def _begins_anew(before: bytes, line: bytes) -> bool:
    """Tell whether a data line can't go on with the JSON of the line before."""
    return line.startswith((b"{", b"[DONE]")) and before.rstrip().endswith((b"}", b"null"))


def _is_whole(line: bytes) -> bool:
    """Tell whether a line seems to be a whole event."""
    return (line.startswith(b"{") and line.endswith(b"}")) or line.startswith(b"[DONE]")
