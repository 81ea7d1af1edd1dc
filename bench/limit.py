"""The limit: the minimum a server in Python must spend on a reply. `python -m bench.limit
UPSTREAM`.

A bare proxy of asyncio streams on uvloop, which listens on a loopback port and prints it. To the
driver it looks like the app: a sign-in form, a page with a composer, a WebSocket. A prompt is sent
upstream as it is, and each delta goes to the tab as text: no database, no session, no Markdown, and
no careful handling of failures.
"""

import asyncio
import base64
import gc
import hashlib
import json
import struct
import sys
from asyncio import StreamReader, StreamWriter
from contextlib import suppress

import uvloop

from bench.websocket import CLOSE, PONG, TEXT

PAGE = b"""\
<form class="composer" hx-ws:send>
<input type="hidden" name="csrf" value="none"><input type="hidden" name="conversation" value="">
</form><main hx-ws:connect="/socket"></main>"""
ENDED = b'<p data-ending="%b"></p>'
_ACCEPT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # the GUID of RFC 6455


class Limit:
    """One connection of the driver: requests for pages, or a WebSocket from the handshake on."""

    def __init__(self, upstream: str, reader: StreamReader, writer: StreamWriter) -> None:
        self._upstream = upstream
        self._reader = reader
        self._writer = writer
        self._reply: asyncio.Task[None] | None = None

    async def answer(self) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while not (key := await self._page()):
                pass
            await self._socket(key)
        self._cancel()
        self._writer.close()

    async def _page(self) -> bytes:
        """Answer a request with the page; for a WebSocket, return only its key."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        lines = [line.partition(b":") for line in head.split(b"\r\n")]
        headers = {name.lower(): value.strip() for name, _, value in lines}
        await self._reader.readexactly(int(headers.get(b"content-length", b"0")))
        if key := headers.get(b"sec-websocket-key", b""):
            return key
        status = b"302 Found\r\nlocation: /" if head.startswith(b"POST") else b"200 OK"
        answer = b"HTTP/1.1 %b\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n%b"
        self._writer.write(answer % (status, len(PAGE), PAGE))
        return b""

    async def _socket(self, key: bytes) -> None:
        accept = base64.b64encode(hashlib.sha1(key + _ACCEPT).digest())  # noqa: S324
        self._writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: %b\r\n\r\n" % accept
        )
        while True:
            opcode, payload = await self._frame()
            if opcode == CLOSE:
                return
            if opcode != TEXT:
                self._send(payload, PONG)
            elif (fields := json.loads(payload)).get("action") == "stop":
                self._cancel()
                self._send(ENDED % b"stopped")
            else:
                self._reply = asyncio.create_task(self._write_reply(fields["message"]))

    async def _frame(self) -> tuple[int, bytes]:
        """Read a browser's frame, which is masked."""
        first, size = await self._reader.readexactly(2)
        size &= 0x7F
        if size == 126:
            size = int.from_bytes(await self._reader.readexactly(2), "big")
        mask = (await self._reader.readexactly(4) * (size // 4 + 1))[:size]
        masked = await self._reader.readexactly(size)
        payload = int.from_bytes(masked, "big") ^ int.from_bytes(mask, "big")
        return first & 0xF, payload.to_bytes(size, "big")

    def _send(self, payload: bytes, opcode: int = TEXT) -> None:
        if (size := len(payload)) > 125:  # and under 64 KiB, as deltas are
            self._writer.write(struct.pack("!BBH", 0x80 | opcode, 126, size) + payload)
        else:
            self._writer.write(bytes((0x80 | opcode, size)) + payload)

    async def _write_reply(self, prompt: str) -> None:
        host, _, port = self._upstream.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        body = json.dumps({"messages": [{"role": "user", "content": prompt}], "stream": True})
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(body)}"
        writer.write(f"{head}\r\n\r\n{body}".encode())
        try:
            # This skips the lines of HTTP chunked encoding, which never begin like those of events.
            while (line := await reader.readline()) != b"data: [DONE]\n":
                if not line.startswith(b"data: "):
                    continue
                choices = json.loads(line[6:])["choices"]
                if choices and (text := choices[0]["delta"].get("content")):
                    self._send(text.encode())
        finally:
            writer.close()
        self._send(ENDED % b"complete")

    def _cancel(self) -> None:
        if self._reply:
            self._reply.cancel()
            self._reply = None


async def serve(upstream: str) -> None:
    async def answer(reader: StreamReader, writer: StreamWriter) -> None:
        await Limit(upstream, reader, writer).answer()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    gc.freeze()
    gc.disable()
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
