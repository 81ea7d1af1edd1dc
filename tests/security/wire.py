"""A client that writes arbitrary bytes over a socket of its own.


with Wire(server.url) as wire:
    wire.write(b"GET / HTTP/1.1\\r\\n")
    answer = wire.read_to_the_end()
"""

import select
import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.support.program import WAIT_SECONDS


@dataclass(frozen=True)
class Answer:
    """One parsed response; `raw` is everything received."""

    raw: bytes

    @property
    def status(self) -> int:
        """The status code; 0 if the connection was closed without a response."""
        return int(self.raw.split(b" ", 2)[1]) if self.raw.startswith(b"HTTP/1.1 ") else 0

    @property
    def headers(self) -> dict[str, str]:
        """The headers by lower-case name, the last of each."""
        lines = self.raw.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
        pairs = (line.partition(": ") for line in lines)
        return {name.lower(): value for name, _, value in pairs}

    @property
    def text(self) -> str:
        return self.raw.partition(b"\r\n\r\n")[2].decode()


class Wire:
    """A connection; a context manager."""

    def __init__(self, url: str, receive_bytes: int | None = None) -> None:
        parts = urlsplit(url)
        self.host = parts.netloc
        self._socket = socket.socket()
        if receive_bytes:  # limits how much the kernel buffers of what the server writes
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self._socket.settimeout(WAIT_SECONDS)
        self._socket.connect((parts.hostname, parts.port))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def write_until_refused(self, piece: bytes, max_bytes: int) -> int:
        """Write the piece repeatedly, up to `max_bytes`; return how many bytes were accepted
        before the server hung up."""
        written = 0
        with suppress(BrokenPipeError, ConnectionResetError):
            while written < max_bytes:
                written += self._socket.send(piece)
        return written

    def write_until_stuck(self, piece: bytes, max_bytes: int) -> None:
        """Write the piece repeatedly, up to `max_bytes`, until the server accepts nothing for half
        a second or hangs up."""
        written = 0
        with suppress(BrokenPipeError, ConnectionResetError):
            while written < max_bytes and select.select([], [self._socket], [], 0.5)[1]:
                written += self._socket.send(piece)

    def drip(self, piece: bytes, pause_seconds: float) -> Answer:
        """Write the piece repeatedly with a pause after each, until the server responds."""
        give_up_at = time.monotonic() + WAIT_SECONDS
        while not select.select([self._socket], [], [], pause_seconds)[0]:
            assert time.monotonic() < give_up_at, "nothing came"
            self.write(piece)
        return self.read_to_the_end()

    def ask(self, *lines: bytes, body: bytes = b"") -> Answer:
        """Send these header lines and a body; return the response when the server closes."""
        self.write(head(*lines) + body)
        return self.read_to_the_end()

    def read(self) -> bytes:
        """Return the next data, or nothing if the server has closed."""
        return self._socket.recv(65536)

    def read_to_the_end(self) -> Answer:
        """Return all data until the server closes or resets the connection."""
        raw = b""
        with suppress(ConnectionResetError):
            while data := self.read():
                raw += data
        return Answer(raw)

    def reset(self) -> None:
        """Close at once so that the server sees a reset (RST) instead of an end of data."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


def handshake(url: str, cookies: str = "", path: str = "/ws/") -> bytes:
    """Return the request with which a page of this address opens a WebSocket."""
    return head(
        b"GET " + path.encode() + b" HTTP/1.1",
        b"Host: " + urlsplit(url).netloc.encode(),
        b"Upgrade: websocket",
        b"Connection: Upgrade",
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        b"Sec-WebSocket-Version: 13",
        b"Origin: " + url.encode(),
        b"Cookie: " + cookies.encode(),
    )


def head(*lines: bytes) -> bytes:
    return b"\r\n".join([*lines, b"", b""])
