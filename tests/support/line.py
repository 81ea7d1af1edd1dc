"""A relay between a browser and a server that can be cut.


with Line(server) as line:
    ...                                # line.url answers
    line.cut()                         # resets open connections and new ones
    line.mend()
    line.hush()                        # silently stops passing data in either direction
    line.mend()                        # held data arrives, as TCP would resend it
    line.forget()                      # open connections carry nothing more; new ones work
"""

import asyncio
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import urlsplit

from tests.support.listening import stop_listening
from tests.support.live import reset
from tests.support.program import WAIT_SECONDS


class HasURL(Protocol):
    """The target of a line; the URL may change while it runs."""

    url: str


class Line:
    """A relay with a thread of its own; the browser opens its `url`."""

    def __init__(self, end: HasURL) -> None:
        self.end = end
        self.is_cut = self.is_silent = False
        self._ends: set[_End] = set()
        self._known: set[_End] = set()  # includes ends that closed while the line was silent

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._listening: Future[int] = Future()
        self._thread = threading.Thread(target=self._serve, name="line", daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._listening.result(WAIT_SECONDS)}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(WAIT_SECONDS)

    def cut(self) -> None:
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(WAIT_SECONDS)

    def hush(self) -> None:
        self.is_silent = True

    def forget(self) -> None:
        for end in set(self._known):
            end.forget()

    def mend(self) -> None:
        self.is_cut = self.is_silent = False
        self._loop.call_soon_threadsafe(self._deliver)

    # Called by the ends of its connections

    def add_end(self, end: "_End") -> None:
        self._ends.add(end)
        self._known.add(end)

    def remove_end(self, end: "_End") -> None:
        self._ends.discard(end)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._listen())

    async def _listen(self) -> None:
        self._stopping = asyncio.Event()
        server = await self._loop.create_server(lambda: _End(self), "127.0.0.1", 0)
        self._listening.set_result(server.sockets[0].getsockname()[1])
        await self._stopping.wait()
        await stop_listening(server)
        await self._cut()

    def _deliver(self) -> None:
        for end in self._known:
            end.deliver()
        self._known = set(self._ends)

    async def _cut(self) -> None:
        self.is_cut = True
        for end in list(self._ends):
            reset(end.transport)
        while self._ends:  # noqa: ASYNC110 - a turn or two of the loop
            await asyncio.sleep(0)


class _End(asyncio.Protocol):
    """One end of a relayed connection; the browser's end opens the server's."""

    transport: asyncio.Transport

    def __init__(self, line: Line, other: "_End | None" = None) -> None:
        self._line = line
        self._other = other
        self._waiting: list[bytes] = []  # until the other end exists and the line passes data
        self._has_ended = self._is_reset = self._is_forgotten = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._line.add_end(self)
        if self._line.is_cut:
            reset(transport)
        elif self._other is None:
            self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        parts = urlsplit(self._line.end.url)
        assert parts.hostname
        assert parts.port
        end, loop = _End(self._line, self), asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: end, parts.hostname, parts.port)
        except OSError:
            reset(self.transport)
            return
        self._other = end
        self.deliver()

    def data_received(self, data: bytes) -> None:
        self._waiting.append(data)
        self.deliver()

    def deliver(self) -> None:
        """Pass on received data, and the end of the connection, if the line lets it."""
        if self._other is None or self._line.is_silent or self._is_forgotten:
            return
        waiting, self._waiting = self._waiting, []
        if not self._other.transport.is_closing():
            self._other.transport.writelines(waiting)
        if self._has_ended:
            self._end_other(self._other.transport)

    def forget(self) -> None:
        self._is_forgotten = True

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_ended, self._is_reset = True, exc is not None
        self._line.remove_end(self)
        self.deliver()

    def _end_other(self, transport: asyncio.Transport) -> None:
        if self._is_reset:
            reset(transport)
        else:
            transport.close()
