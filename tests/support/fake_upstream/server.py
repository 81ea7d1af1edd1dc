"""The server: takes requests, writes them down, and runs a script for each."""

import asyncio
import json
import queue
import socket
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

from tests.support.fake_upstream.frames import MODEL, answer
from tests.support.fake_upstream.steps import (
    Abort,
    Close,
    Delay,
    Pause,
    Script,
    Stall,
    Step,
    build_response,
)
from tests.support.listening import stop_listening

WAIT_SECONDS = 60.0  # how long a test waits for what must happen; never reached when it does


@dataclass(frozen=True)
class ClientClose:
    """The client closed the connection: when (monotonic) and how."""

    at: float
    was_reset: bool
    was_streaming: bool  # the response had not ended


@dataclass
class Request:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: Any  # the parsed JSON, None without a body
    arrived_at: float  # time.monotonic()
    connection: int  # counts from 0: requests of one number shared a connection
    raw: bytes = b""  # the body as it came
    closed: ClientClose | None = None
    _closed: threading.Event = field(default_factory=threading.Event, repr=False)

    def record_close(self, close: ClientClose) -> None:
        self.closed = close
        self._closed.set()

    def wait_for_close(self, timeout: float = WAIT_SECONDS) -> ClientClose:
        """Wait until the client closes this request's connection."""
        assert self._closed.wait(timeout), f"the client has not closed {self.path}"
        assert self.closed
        return self.closed

    async def until_closed(self) -> ClientClose:
        return await asyncio.to_thread(self.wait_for_close)


class FakeUpstream:
    """The server; a context manager, or `start` and `stop`. Every method may be called anywhere."""

    def __init__(self) -> None:
        self.requests: list[Request] = []  # all of them, in order
        self.default: list[Step] = answer()
        self.models = [MODEL]
        self.models_failure: Script | None = None
        self.models_a_page = 0  # 0: all
        self._scripts: queue.SimpleQueue[Script] = queue.SimpleQueue()
        self._arrived: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._connections: set[_Connection] = set()
        self._numbers = count()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="fake upstream", daemon=True)
        self._listening: Future[int] = Future()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> Self:
        self._thread.start()
        self.port = self._listening.result(WAIT_SECONDS)
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        return self

    def stop(self) -> None:
        self.begin_stop()
        self.wait()

    def begin_stop(self) -> None:
        self.call_soon(self._stopping.set)

    def wait(self) -> None:
        """Waits for the end of what `begin_stop` began."""
        self._thread.join(WAIT_SECONDS)

    def call_soon(self, call: Callable[[], object]) -> None:
        """Calls it in the event loop of the server."""
        self._loop.call_soon_threadsafe(call)

    def forget(self) -> None:
        """Begins redraw: without requests and scripts that an earlier test left."""
        self.requests.clear()
        self._scripts = queue.SimpleQueue()
        self._arrived = queue.SimpleQueue()

    def script(
        self,
        *steps: Step,
        status: int = 200,
        headers: dict[str, str] | None = None,
        head: bytes = b"",
    ) -> None:
        """Queue the response to the next chat completion that has none yet.

        With a `head`, that is written as it is, and so is the body, which ends with a close.
        """
        self.respond(Script(steps, status, headers or {}, head))

    def respond(self, script: Script) -> None:
        """Queue a response that is written down already."""
        self._scripts.put(script)

    def fail(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        """Queue an error response; a body that is no text is sent as JSON."""
        self.respond(build_response(status, body, headers))

    def fail_models(self, status: int, body: object) -> None:
        """Let every `GET /models` fail from now on."""
        self.models_failure = build_response(status, body)

    def wait_for_request(self, timeout: float = WAIT_SECONDS) -> Request:
        """Wait for the next chat completion request; each is returned once, in order."""
        return self._arrived.get(timeout=timeout)

    async def until_requested(self) -> Request:
        return await asyncio.to_thread(self.wait_for_request)

    @property
    def chat_requests(self) -> list[Request]:
        return [request for request in self.requests if request.method == "POST"]

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    # What its connections tell it

    def add_connection(self, connection: "_Connection") -> int:
        """Add the connection and return its number."""
        self._connections.add(connection)
        return next(self._numbers)

    def remove_connection(self, connection: "_Connection") -> None:
        self._connections.discard(connection)

    def record_request(self, request: Request) -> Script:
        """Record the request and return the script that answers it."""
        script = self._script_for(request)
        self.requests.append(request)
        if request.method == "POST":
            self._arrived.put(request)
        return script

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._listen())

    async def _listen(self) -> None:
        self._stopping = asyncio.Event()
        server = await self._loop.create_server(lambda: _Connection(self), "127.0.0.1", 0)
        self._listening.set_result(server.sockets[0].getsockname()[1])
        await self._stopping.wait()
        await stop_listening(server)
        connections = list(self._connections)
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(connection.lost for connection in connections))

    def _script_for(self, request: Request) -> Script:
        path = request.path.partition("?")[0]
        if (request.method, path) == ("GET", "/v1/models"):
            return self.models_failure or build_response(200, self._models_after(request.path))
        if (request.method, path) != ("POST", "/v1/chat/completions"):
            return build_response(404, {"error": {"message": f"no such path: {path}"}})
        try:
            return self._scripts.get_nowait()
        except queue.Empty:
            return Script(tuple(self.default))

    def _models_after(self, path: str) -> dict[str, object]:
        """Return a page of models, as Anthropic does."""
        after = parse_qs(path.partition("?")[2]).get("after_id", [""])[0]
        start = self.models.index(after) + 1 if after else 0
        end = start + (self.models_a_page or len(self.models))
        models = [{"id": model, "object": "model"} for model in self.models[start:end]]
        return {"object": "list", "data": models, "has_more": end < len(self.models)}


class _Connection(asyncio.Protocol):
    """One client's connection: reads requests one after another, runs a script for each."""

    transport: asyncio.Transport

    def __init__(self, server: FakeUpstream) -> None:
        self._server = server
        self._received = bytearray()
        self._request: Request | None = None
        self._task: asyncio.Task[None] | None = None
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._may_write = asyncio.Event()
        self._may_write.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._number = self._server.add_connection(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, payload = bytes(self._received).partition(b"\r\n\r\n")
        if not end:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (s.partition(":") for s in lines)
        }
        length = int(headers.get("content-length", 0))
        if len(payload) < length:
            return
        self._received = bytearray(payload[length:])
        method, path, _ = first.split(" ")
        raw = payload[:length]
        body = json.loads(raw) if length else None
        self._answer(Request(method, path, headers, body, time.monotonic(), self._number, raw))

    def eof_received(self) -> None:
        self._record_close(was_reset=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._record_close(was_reset=exc is not None)
        self._server.remove_connection(self)
        self.lost.set_result(None)
        self.resume_writing()
        if self._task:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def abort(self) -> None:
        linger = struct.pack("ii", 1, 0)  # close sends RST
        self.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, linger
        )
        self.transport.abort()

    def _answer(self, request: Request) -> None:
        self._request = request
        self._task = asyncio.create_task(self._run(self._server.record_request(request)))

    async def _run(self, script: Script) -> None:
        self.transport.write(script.head())
        for step in script.steps:
            match step:
                case bytes():
                    if step:
                        is_bare = bool(script.written_head)
                        chunked = b"%x\r\n%b\r\n" % (len(step), step)
                        self.transport.write(step if is_bare else chunked)
                        await self._may_write.wait()
                case Pause():
                    await step.wait()
                case Delay(seconds):
                    await asyncio.sleep(seconds)
                case Stall():
                    await asyncio.get_running_loop().create_future()
                case Abort():
                    self._request = None
                    self.abort()
                    return
                case Close():
                    self._request = None
                    self.transport.close()
                    return
        if script.written_head:
            self.transport.close()
        else:
            self.transport.write(b"0\r\n\r\n")

    def _record_close(self, was_reset: bool) -> None:
        if self._request and not self._request.closed:
            was_streaming = self._task is not None and not self._task.done()
            self._request.record_close(ClientClose(time.monotonic(), was_reset, was_streaming))
