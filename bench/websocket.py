"""A WebSocket client (RFC 6455) that does only what a load driver needs, and so costs little.

Text frames from the server go to a callback as bytes, with the time at which they were read. It
assumes that the server keeps to the protocol and never fragments.
"""

import asyncio
import base64
import os
import socket
import ssl
import struct
import time
from collections.abc import Callable
from typing import cast

OPEN_SECONDS = 10.0
TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA


class WebSocket(asyncio.Protocol):
    """One connection, made by `open_websocket`."""

    def __init__(self, request: bytes, on_text: Callable[[bytes, float], None]) -> None:
        self.is_open: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = request
        self._on_text = on_text
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        if self._received:
            data = self._received + data
        if not self.is_open.done():
            data = self._read_handshake(data)
        self._received = self._read_frames(data, now)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost.set_result(None)
        if not self.is_open.done():
            self.is_open.set_exception(ConnectionError("the WebSocket was not opened"))

    def send(self, payload: bytes, opcode: int = TEXT) -> None:
        size = len(payload)
        if size > 0xFFFF:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        elif size > 125:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        mask = os.urandom(4)
        key = (mask * (size // 4 + 1))[:size]
        masked = int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")
        self._transport.write(head + mask + masked.to_bytes(size, "big"))

    def close(self, code: int = 1001) -> None:
        """Close as a browser does when its tab is closed."""
        self.send(struct.pack("!H", code), CLOSE)

    def abort(self) -> None:
        """Reset the connection (RST), without a close frame."""
        linger = struct.pack("ii", 1, 0)
        self._transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, linger
        )
        self._transport.abort()

    def _read_handshake(self, data: bytes) -> bytes:
        head, end, remaining = data.partition(b"\r\n\r\n")
        if not end:
            return data
        if b" 101 " in head.partition(b"\r\n")[0]:
            self.is_open.set_result(None)
        else:
            self._transport.close()
        return remaining

    def _read_frames(self, data: bytes, now: float) -> bytes:
        """Process the complete frames and return the rest."""
        start, available = 0, len(data)
        while available - start >= 2 and self.is_open.done():
            body, size = start + 2, data[start + 1]
            if size == 126:
                body, size = start + 4, int.from_bytes(data[start + 2 : start + 4], "big")
            elif size == 127:
                body, size = start + 10, int.from_bytes(data[start + 2 : start + 10], "big")
            if available < body + size:
                break
            self._take(data[start] & 0xF, data[body : body + size], now)
            start = body + size
        return data[start:]

    def _take(self, opcode: int, payload: bytes, now: float) -> None:
        if opcode == TEXT:
            self._on_text(payload, now)
        elif opcode == PING:
            self.send(payload, PONG)
        elif opcode == CLOSE:
            self._transport.close()


async def open_websocket(
    host: str,
    path: str,
    cookie: str,
    on_text: Callable[[bytes, float], None],
    tls: ssl.SSLContext | None = None,
) -> WebSocket:
    """Open `ws://host` + path with the page's Origin. Raises `ConnectionError`."""
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {host}",
        f"Origin: {'https' if tls else 'http'}://{host}",
        f"Cookie: {cookie}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
    ]
    request = ("\r\n".join(lines) + "\r\n\r\n").encode()
    name, _, port = host.partition(":")
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        lambda: WebSocket(request, on_text), name, int(port), ssl=tls
    )
    await asyncio.wait_for(connection.is_open, OPEN_SECONDS)
    return connection
