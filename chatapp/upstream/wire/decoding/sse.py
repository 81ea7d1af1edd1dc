"""Server-sent events: bytes in, events out.

Follows the event stream format of the HTML standard (section 9.2.6, "Interpreting an event
stream"), except where small servers need more tolerance:

* If the stream ends without a blank line after the last event, `close()` returns that event.
* Events with no blank line between them are split where a new JSON object begins.
* A field named `error` is the data of an `error` event, as llama.cpp writes it.
* White space or a BOM before a field, and a repeated field name (`data: data: {…}`), are ignored.
* Lines that are not a field, such as bare JSON or a closing message in plain text, become an
  event of type `STRAY`.

Never does I/O and never decodes `data`. `id` and `retry` are ignored: a reply is never resumed.
"""

import re
from dataclasses import dataclass, field

MAX_EVENT_BYTES = 1024 * 1024  # for one line, and for all the data lines of one event
MAX_IMAGE_EVENT_BYTES = 16 * 1024 * 1024  # if an image begins within its first MiB

BLANK = b" \t\r\n\xef\xbb\xbf"  # white space and the bytes of a BOM
STRAY = ""  # the event type for text outside any field

_BOM = b"\xef\xbb\xbf"
_IMAGE = b"data:image"
_FIELD_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
_SNIFFED_BYTES = 1000  # bytes
# Almost every read is exactly this: one event of JSON on one line.
_WHOLE_EVENT = re.compile(rb"data: ?(\{[^\r\n]{0,65536}\})\n\n")
_REPEATED_NAME = re.compile(rb"^(?:data: ?)+")
_IGNORED_FIELDS = frozenset((b"", b"id", b"retry"))  # a comment has no name


def is_stream(body: bytes) -> bool:
    """Tell whether a body looks like an event stream, regardless of its media type."""
    return body[:_SNIFFED_BYTES].lstrip(BLANK).startswith(_FIELD_STARTS)


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its type (`message` if none was given) and its data lines, joined by LF."""

    event: str
    data: str


class EventTooLarge(Exception):
    """An event is over its size limit; `events` are the complete ones before it."""

    def __init__(self, limit: int, events: list[ServerSentEvent]) -> None:
        super().__init__(f"an event is larger than {limit} bytes")
        self.events = events


@dataclass(slots=True)
class Decoder:
    """Decodes one stream, in time linear in its bytes however they are split."""

    _at_start: bool = True
    _skip_lf: bool = False  # the last read ended with a CR, which may be half of a CRLF
    unfinished: list[bytes] = field(default_factory=list)  # parts of a line that has not ended yet
    _unfinished_size: int = 0
    _event: str = ""
    _data: list[bytes] = field(default_factory=list)
    _data_size: int = 0  # includes `_stray`
    _stray: list[bytes] = field(default_factory=list)
    _limit: int = MAX_EVENT_BYTES  # of this event
    _lacks_blank_lines: bool = False  # so dispatch each whole line at once

    def receive_data(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events that `data` completes. Raises `EventTooLarge`."""
        if self._is_between_events and (whole := _WHOLE_EVENT.fullmatch(data)):
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
    def _is_between_events(self) -> bool:
        """Whether no part of the next event has arrived."""
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
        lines = data.splitlines()  # on bytes this splits at CR, LF and CRLF only
        last = data[-1]
        self._skip_lf = last == 0x0D
        unfinished_line = b"" if last == 0x0A or last == 0x0D else lines.pop()
        if lines:
            if self.unfinished:
                lines[0] = b"".join((*self.unfinished, lines[0]))
                self.unfinished.clear()
                self._unfinished_size = 0
            if self._at_start:
                lines[0] = lines[0].removeprefix(_BOM)
                self._at_start = False
        if unfinished_line:
            self.unfinished.append(unfinished_line)
            self._unfinished_size += len(unfinished_line)
        return lines

    def _raise_limit(self, line: bytes, events: list[ServerSentEvent]) -> None:
        """Raise the limit if `line`, or its beginning, holds an image; else `EventTooLarge`."""
        if line.find(_IMAGE, 0, MAX_EVENT_BYTES - self._data_size) >= 0:
            self._limit = MAX_IMAGE_EVENT_BYTES
        if len(line) + self._data_size > self._limit:
            raise EventTooLarge(self._limit, events)

    def _read_field(self, line: bytes, events: list[ServerSentEvent]) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value.removeprefix(b" ")
            if value.startswith(b"data:"):
                value = _REPEATED_NAME.sub(b"", value, count=1)
            if self._data and _starts_new_event(self._data[-1], value):
                self._lacks_blank_lines = True
                self._dispatch(events)
            self._data.append(value)
            self._data_size += len(line)
            if value == b"[DONE]" or (self._lacks_blank_lines and _is_whole(value)):
                self._dispatch(events)
        elif name == b"event":
            self._event = value.removeprefix(b" ").decode("utf-8", "replace")
        elif name == b"error":
            self._event = "error"
            self._data.append(value.removeprefix(b" "))
            self._data_size += len(line)
        elif name not in _IGNORED_FIELDS:
            field = line.lstrip(BLANK)
            if len(field) < len(line) and field.startswith(_FIELD_STARTS):
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


def _starts_new_event(before: bytes, line: bytes) -> bool:
    """Tell whether a data line can't continue the JSON of the line `before`."""
    return line.startswith((b"{", b"[DONE]")) and before.rstrip().endswith((b"}", b"null"))


def _is_whole(line: bytes) -> bool:
    """Tell whether a line seems to be a whole event."""
    return (line.startswith(b"{") and line.endswith(b"}")) or line.startswith(b"[DONE]")
