"""A reverse proxy that can misbehave: it buffers, refuses upgrades, closes idle connections, limits
bodies, rewrites headers, and speaks TLS.

    with Relay(server.url, lump_seconds=1) as relay:
        ...                                   # relay.url is the proxy's address
"""

import asyncio
import re
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.support.listening import stop_listening
from tests.support.program import WAIT_SECONDS

TOO_LARGE = b"HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def pass_unchanged(data: bytes) -> bytes:
    return data


def refuse_upgrades(data: bytes) -> bytes:
    """Drop the hop-by-hop headers, as a proxy does that isn't configured for WebSockets."""
    return re.sub(rb"\r\n(Upgrade|Connection): [^\r]*", b"", data)


def drop_header(name: str) -> Callable[[bytes], bytes]:
    return lambda data: re.sub(rb"(?i)\r\n" + name.encode() + rb": [^\r]*", b"", data)


def set_header(name: str, value: str) -> Callable[[bytes], bytes]:
    """Return a function that sets a header, replacing any value it has."""

    def rewrite(data: bytes) -> bytes:
        if not re.match(rb"[A-Z]+ /|HTTP/1", data):
            return data
        head, separator, tail = drop_header(name)(data).partition(b"\r\n")
        return head + separator + f"{name}: {value}\r\n".encode() + tail

    return rewrite


@dataclass
class Relay:
    """A proxy for the server at `target`, in a thread of its own; a context manager."""

    target: str
    ask: Callable[[bytes], bytes] = pass_unchanged  # applied to what goes to the server
    tell: Callable[[bytes], bytes] = pass_unchanged  # applied to what comes from it
    lump_seconds: float = 0.0
    idle_seconds: float | None = None
    max_body: int | None = None
    max_message: int | None = None
    context: ssl.SSLContext | None = None
    port: int = 0
    _tasks: "set[asyncio.Task[None]]" = field(default_factory=set)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._listening: Future[int] = Future()
        self._thread = threading.Thread(target=self._serve, name="relay", daemon=True)
        self._thread.start()
        self.port = self._listening.result(WAIT_SECONDS)
        scheme = "https" if self.context else "http"
        self.url = f"{scheme}://localhost:{self.port}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(WAIT_SECONDS)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._listen())

    async def _listen(self) -> None:
        self._stopping = asyncio.Event()
        server = await asyncio.start_server(
            self._accept, "127.0.0.1", self.port, ssl=self.context, limit=2**22
        )
        self._listening.set_result(server.sockets[0].getsockname()[1])
        await self._stopping.wait()
        await stop_listening(server)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._connect(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(self.target)
        with suppress(OSError):
            upstream, to_upstream = await asyncio.open_connection(parts.hostname, parts.port)
            try:
                await self._relay(reader, writer, upstream, to_upstream)
            finally:
                to_upstream.close()
                writer.close()

    async def _relay(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: asyncio.StreamReader,
        to_upstream: asyncio.StreamWriter,
    ) -> None:
        directions = {
            asyncio.create_task(self._forward(reader, to_upstream, writer)),
            asyncio.create_task(self._return(upstream, writer)),
        }
        try:
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for direction in directions:
                direction.cancel()
            await asyncio.gather(*directions, return_exceptions=True)

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        to_upstream: asyncio.StreamWriter,
        writer: asyncio.StreamWriter,
    ) -> None:
        is_socket, size = False, 0
        while data := await self._read(reader):
            length = re.search(rb"(?i)\r\ncontent-length: (\d+)", data)
            if self.max_body is not None and length and int(length[1]) > self.max_body:
                writer.write(TOO_LARGE)
                await writer.drain()
                return
            size = size + len(data) if is_socket else 0
            is_socket |= b"Upgrade: websocket" in data
            if self.max_message is not None and size > self.max_message:
                return
            to_upstream.write(self.ask(data))
            await to_upstream.drain()

    async def _return(self, upstream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await self._read(upstream):
            if self.lump_seconds and not data.startswith(b"HTTP/1.1 101"):
                await asyncio.sleep(self.lump_seconds)
            writer.write(self.tell(data))
            await writer.drain()

    async def _read(self, reader: asyncio.StreamReader) -> bytes:
        """Return the next bytes, or none after `idle_seconds` of silence."""
        try:
            async with asyncio.timeout(self.idle_seconds):
                return await reader.read(2**21)
        except TimeoutError:
            return b""
