"""Server-sent events: bytes in, events out.

Follows the event stream format of the HTML standard (section 9.2.6, "Interpreting an event
stream") but for one thing: an event that the end of the stream left without its blank line is
handed out by `close()`, because some upstreams end that way.

Never does I/O, never looks inside `data`. `id` and `retry` are read over: a reply is single-shot.
"""

from dataclasses import dataclass, field

MAX_EVENT_BYTES = 1024 * 1024  # for one line, and for all the data lines of one event

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its type (`message` where none was given) and its data lines, joined by LF."""

    event: str
    data: str


class EventTooLarge(Exception):
    """An event is over `MAX_EVENT_BYTES`; `events` are those that were complete before it."""

    def __init__(self, events: list[ServerSentEvent]) -> None:
        super().__init__(f"an event is larger than {MAX_EVENT_BYTES} bytes")
        self.events = events


@dataclass(slots=True)
class Decoder:
    """Decodes one stream. The work is linear in the bytes, however they are split."""

    _at_start: bool = True
    _skip_lf: bool = False  # the last read ended with a CR, which may be half of a CRLF
    _partial: list[bytes] = field(default_factory=list)  # a line whose end has not come yet
    _partial_size: int = 0
    _event: str = ""
    _data: list[bytes] = field(default_factory=list)
    _data_size: int = 0

    def receive_data(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events which `data` completes. Raises `EventTooLarge`."""
        events: list[ServerSentEvent] = []
        for line in self._complete_lines(data):
            if not line:
                self._dispatch(events)
                continue
            if len(line) + self._data_size > MAX_EVENT_BYTES:
                raise EventTooLarge(events)
            self._read_field(line)
        if self._partial_size + self._data_size > MAX_EVENT_BYTES:
            raise EventTooLarge(events)
        return events

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
            if self._partial:
                lines[0] = b"".join((*self._partial, lines[0]))
                self._partial.clear()
                self._partial_size = 0
            if self._at_start:
                lines[0] = lines[0].removeprefix(_BOM)
                self._at_start = False
        if rest:
            self._partial.append(rest)
            self._partial_size += len(rest)
        return lines

    def _read_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._data_size += len(line)
        elif name == b"event":
            self._event = value.removeprefix(b" ").decode("utf-8", "replace")

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        if self._data:
            data = b"\n".join(self._data).decode("utf-8", "replace")
            events.append(ServerSentEvent(self._event or "message", data))
            self._data.clear()
            self._data_size = 0
        self._event = ""
