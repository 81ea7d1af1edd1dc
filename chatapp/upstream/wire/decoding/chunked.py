"""Decode the chunked transfer coding (RFC 9112, section 7.1): a connection's bytes in, body out.

Handles only the plain chunks that servers write while streaming. Anything else (the last chunk,
chunk extensions, invalid data) is left for a full HTTP parser.
"""

import re
from dataclasses import dataclass

_HEAD = re.compile(rb"([1-9a-fA-F][0-9a-fA-F]{0,14})\r\n")
_INCOMPLETE_HEAD = re.compile(rb"[1-9a-fA-F][0-9a-fA-F]{0,14}\r?\Z")
_LINE_END = b"\r\n"


class BrokenCoding(Exception):
    """A chunk's data is not followed by CRLF."""


@dataclass(slots=True)
class Decoder:
    """Decodes one body. Pass no more data once it `is_over`."""

    is_over: bool = False
    trailing_bytes: bytes = b""  # once it is over: the bytes after the last plain chunk
    _left: int = 0  # bytes left of the current chunk
    _is_at_line_end: bool = False  # the CRLF after the chunk's data comes next
    _held_bytes: bytes = b""  # an incomplete CRLF or chunk head

    def receive_data(self, data: bytes) -> bytes:
        """Return the body bytes in `data`. Raises `BrokenCoding`."""
        if self._held_bytes:
            data, self._held_bytes = self._held_bytes + data, b""
        if (whole := self._whole_chunk(data)) is not None:
            return whole
        parts: list[bytes] = []
        at, end = 0, len(data)
        while at < end:
            if self._left:
                part = data[at : at + self._left]
                parts.append(part)
                at += len(part)
                self._left -= len(part)
                self._is_at_line_end = not self._left
            elif self._is_at_line_end:
                if not data.startswith(_LINE_END, at):
                    self._hold_line_end(data[at:])
                    break
                at += 2
                self._is_at_line_end = False
            elif head := _HEAD.match(data, at):
                at, self._left = head.end(), int(head[1], 16)
            else:
                self._hold_or_stop(data[at:])
                break
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _whole_chunk(self, data: bytes) -> bytes | None:
        """Return the data of exactly one chunk, which is what almost every read of a stream is."""
        if self._left or self._is_at_line_end or not (head := _HEAD.match(data)):
            return None
        start = head.end()
        is_whole = len(data) == start + int(head[1], 16) + 2 and data.endswith(_LINE_END)
        return data[start:-2] if is_whole else None

    def _hold_line_end(self, data: bytes) -> None:
        if data != b"\r":
            raise BrokenCoding("a chunk is not followed by CRLF")
        self._held_bytes = data

    def _hold_or_stop(self, data: bytes) -> None:
        if _INCOMPLETE_HEAD.match(data):
            self._held_bytes = data
        else:
            self.is_over, self.trailing_bytes = True, data
