"""A scripted upstream for tests: a real HTTP/1.1 server on a loopback port, in a thread of its own.

    with FakeUpstream() as upstream:
        pause = Pause()
        upstream.script(reasoning("Hm. "), delta("Hello"), pause, delta("!"), finish(), done())
        ...                                   # something asks upstream.base_url for a reply
        request = upstream.wait_for_request()  # or: await upstream.until_requested()
        pause.release()
        close = request.wait_for_close()       # or: await request.until_closed()

A script is a list of steps: `bytes` are written as they are, in one piece; `Pause`, `Delay`,
`Stall`, `Abort` and `Close` are below. After the last step the response ends properly and the
connection stays open. Requests without a script of their own get `upstream.default`.
"""

import asyncio
import json
import queue
import socket
import struct
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.listening import stop_listening

MODEL = "google/gemini-3-flash"
RESPONSE_ID = "chatcmpl-1"
WAIT_SECONDS = 15.0  # how long a test waits for what must happen; never reached when it does


# Frames of the opentoken dialect


def frame(content: object) -> bytes:
    """Any JSON as one event."""
    return b"data: " + json.dumps(content, ensure_ascii=False).encode() + b"\n\n"


def chunk(choices: list[Any], **more: Any) -> bytes:
    head = {"id": RESPONSE_ID, "object": "chat.completion.chunk", "created": 1700000000}
    return frame({**head, "model": MODEL, "choices": choices, **more})


def choice(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    return chunk([{"index": 0, "delta": delta, "finish_reason": finish_reason}])


def role() -> bytes:
    return choice({"role": "assistant"})


def delta(text: str) -> bytes:
    return choice({"content": text})


def reasoning(text: str) -> bytes:
    return choice({"reasoning_content": text})


def refusal(text: str) -> bytes:
    return choice({"refusal": text})


def finish(finish_reason: str = "stop") -> bytes:
    return choice({}, finish_reason)


def usage(prompt_tokens: int = 12, completion_tokens: int = 18, **details: int) -> bytes:
    """The usage chunk; details are `cached_tokens` and `reasoning_tokens`."""
    counts: dict[str, Any] = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
    if "cached_tokens" in details:
        counts["prompt_tokens_details"] = {"cached_tokens": details["cached_tokens"]}
    if "reasoning_tokens" in details:
        counts["completion_tokens_details"] = {"reasoning_tokens": details["reasoning_tokens"]}
    return chunk([], usage=counts)


def error(
    message: str = "stream interrupted", type: str = "upstream_error", code: str = "stream_error"
) -> bytes:
    return frame({"error": {"message": message, "type": type, "code": code}})


def done() -> bytes:
    return b"data: [DONE]\n\n"


def answer(text: str = "Packets in flight") -> list["Step"]:
    """A whole reply, a delta for each word."""
    words = [delta(word + " ") for word in text.split(" ")[:-1]] + [delta(text.split(" ")[-1])]
    return [role(), *words, finish(), usage(), done()]


def paced(frames: Iterable[bytes], seconds: float) -> list["Step"]:
    """The frames with a delay before each."""
    return [step for data in frames for step in (Delay(seconds), data)]


# Steps


class Pause:
    """Waits until the test calls `release`, from any thread."""

    def __init__(self) -> None:
        self.reached = threading.Event()  # everything before the pause is written
        self._released: Future[None] = Future()

    def release(self) -> None:
        if not self._released.done():
            self._released.set_result(None)

    async def _wait(self) -> None:
        self.reached.set()
        await asyncio.shield(asyncio.wrap_future(self._released))


@dataclass(frozen=True)
class Delay:
    seconds: float


@dataclass(frozen=True)
class Stall:
    """Sends nothing more until the client closes."""


@dataclass(frozen=True)
class Abort:
    """Resets the connection (RST)."""


@dataclass(frozen=True)
class Close:
    """Closes the connection (FIN) without ending the response."""


Step = bytes | Pause | Delay | Stall | Abort | Close


@dataclass(frozen=True)
class Script:
    steps: tuple[Step, ...]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    written_head: bytes = b""  # in place of our own; the body is then whatever comes until close

    def head(self) -> bytes:
        if self.written_head:
            return self.written_head
        headers = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        headers |= {name.lower(): value for name, value in self.headers.items()}
        lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
        return f"HTTP/1.1 {self.status} Scripted\r\n{''.join(lines)}\r\n".encode()


# What is recorded


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
    closed: ClientClose | None = None
    _closed: threading.Event = field(default_factory=threading.Event, repr=False)

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
        self._scripts: queue.SimpleQueue[Script] = queue.SimpleQueue()
        self._arrived: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._connections: set[_Connection] = set()
        self._connection_count = 0
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
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(WAIT_SECONDS)

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
        self.respond(answered(status, body, headers))

    def fail_models(self, status: int, body: object) -> None:
        """Let every `GET /models` fail from now on."""
        self.models_failure = answered(status, body)

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
            models = [{"id": model, "object": "model"} for model in self.models]
            return self.models_failure or answered(200, {"object": "list", "data": models})
        if (request.method, path) != ("POST", "/v1/chat/completions"):
            return answered(404, {"error": {"message": f"no such path: {path}"}})
        try:
            return self._scripts.get_nowait()
        except queue.Empty:
            return Script(tuple(self.default))


def answered(status: int, body: object, headers: dict[str, str] | None = None) -> Script:
    """A response that is no stream; a body that is no text is sent as JSON."""
    if isinstance(body, str):
        kind = "text/html; charset=utf-8" if body.lstrip().startswith("<") else "text/plain"
        content = body.encode()
    else:
        kind, content = "application/json", json.dumps(body).encode()
    return Script((content,), status, {"content-type": kind, **(headers or {})})


class _Connection(asyncio.Protocol):
    """One client's connection: reads requests one after another, runs a script for each."""

    transport: asyncio.Transport

    def __init__(self, server: FakeUpstream) -> None:
        self._server = server
        self._number = server._connection_count
        server._connection_count += 1
        self._received = bytearray()
        self._request: Request | None = None
        self._task: asyncio.Task[None] | None = None
        self.lost: asyncio.Future[None] = server._loop.create_future()
        self._may_write = asyncio.Event()
        self._may_write.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._server._connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = bytes(self._received).partition(b"\r\n\r\n")
        if not end:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (s.partition(":") for s in lines)
        }
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        self._received = bytearray(rest[length:])
        method, path, _ = first.split(" ")
        body = json.loads(rest[:length]) if length else None
        self._answer(Request(method, path, headers, body, time.monotonic(), self._number))

    def eof_received(self) -> None:
        self._record_close(was_reset=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._record_close(was_reset=exc is not None)
        self._server._connections.discard(self)
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
        script = self._server._script_for(request)
        self._request = request
        self._server.requests.append(request)
        if request.method == "POST":
            self._server._arrived.put(request)
        self._task = self._server._loop.create_task(self._run(script))

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
                    await step._wait()
                case Delay(seconds):
                    await asyncio.sleep(seconds)
                case Stall():
                    await self._server._loop.create_future()
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
            self._request.closed = ClientClose(time.monotonic(), was_reset, was_streaming)
            self._request._closed.set()
