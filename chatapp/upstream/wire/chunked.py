"""The chunked transfer coding (RFC 9112, section 7.1): bytes of a connection in, a body's out.

Takes what servers write for each piece of a stream. The body's end, what is rare and what is no
chunk at all is left, for whoever knows the rest of the protocol.
"""

import re
from dataclasses import dataclass

_HEAD = re.compile(rb"([1-9a-fA-F][0-9a-fA-F]{0,14})\r\n")
_PART_OF_HEAD = re.compile(rb"[1-9a-fA-F][0-9a-fA-F]{0,14}\r?\Z")
_LINE_END = b"\r\n"


class BrokenCoding(Exception):
    """A chunk does not end where it says."""


@dataclass(slots=True)
class Decoder:
    """Of one body. Once it `is_over`, nothing more is to be given to it."""

    is_over: bool = False
    rest: bytes = b""  # what is left then, from behind the last chunk on
    _left: int = 0  # bytes of the present chunk
    _is_at_line_end: bool = False  # behind it
    _held: bytes = b""  # part of a line end or of a chunk's head

    def receive_data(self, data: bytes) -> bytes:
        """Return the part of the body that is in `data`. Raises `BrokenCoding`."""
        if self._held:
            data, self._held = self._held + data, b""
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
                self._hold_or_leave(data[at:])
                break
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _whole_chunk(self, data: bytes) -> bytes | None:
        """What nearly every read of a stream is: one chunk and nothing else."""
        if self._left or self._is_at_line_end or not (head := _HEAD.match(data)):
            return None
        start = head.end()
        is_whole = len(data) == start + int(head[1], 16) + 2 and data.endswith(_LINE_END)
        return data[start:-2] if is_whole else None

    def _hold_line_end(self, data: bytes) -> None:
        if data != b"\r":
            raise BrokenCoding("a chunk does not end where it says")
        self._held = data

    def _hold_or_leave(self, data: bytes) -> None:
        if _PART_OF_HEAD.match(data):
            self._held = data
        else:
            self.is_over, self.rest = True, data
