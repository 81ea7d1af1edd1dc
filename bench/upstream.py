"""The scripted upstream: streams what the prompt orders, and records when requests come and end.

`python -m bench.upstream` listens on a loopback port and prints it. It speaks chat completions as
SSE. `GET /records` returns as JSON what has happened since the last `GET /records`, in monotonic
times: `[[order number, arrived at, null], …]`, and an entry with the time of the close if the
client closed before the answer's end.
"""

import asyncio
import gc
import json
import time
from functools import lru_cache
from typing import cast

import uvloop

from bench.answers import STAMP, STAMP_DIGITS, Answer, Order

MODEL = "scripted"
OTHER_MODELS = ("scripted-1", "scripted-2", "scripted-3")
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"


def _event(choices: list[object], **more: object) -> bytes:
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    return b"data: " + json.dumps({**chunk, "choices": choices, **more}).encode() + b"\n\n"


def _delta(delta: dict[str, str], finish_reason: str | None = None) -> bytes:
    return _event([{"index": 0, "delta": delta, "finish_reason": finish_reason}])


def _http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@lru_cache(16)
def _frames(answer: Answer, tokens: int) -> list[bytes]:
    """Return the answer's events as HTTP chunks, complete except for their stamps."""
    stamp = STAMP * STAMP_DIGITS  # as long as the stamp that replaces it
    order = Order(0, tokens, answer=answer)
    texts = (text.replace("@", "t" + stamp.decode()) for text in order.texts())
    return [_http_chunk(_delta({"content": text})) for text in texts]


class Upstream:
    """The records, shared by all connections."""

    def __init__(self) -> None:
        self.records: list[tuple[int, float, float | None]] = []

    def take_records(self) -> bytes:
        taken, self.records = self.records, []
        return json.dumps(taken).encode()


class Connection(asyncio.Protocol):
    """One client's connection, with one request after another."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._received = b""
        # the one being answered, and its arrival time
        self._request: tuple[int, float] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = _content_length(head)
        if not end or len(body) < length:
            return
        self._received = body[length:]
        path = head.split(b" ", 2)[1]
        if path == b"/records":
            self._write_json(self._upstream.take_records())
        elif path == b"/v1/models":
            models = [{"id": name} for name in (MODEL, *OTHER_MODELS)]
            self._write_json(json.dumps({"object": "list", "data": models}).encode())
        else:
            order = Order.from_prompt(json.loads(body)["messages"][-1]["content"])
            self._request = (order.number, now)
            self._upstream.records.append((*self._request, None))
            self._start(order)

    def eof_received(self) -> None:
        self._note_close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._note_close()
        if self._timer:
            self._timer.cancel()

    def _note_close(self) -> None:
        if self._request:
            self._upstream.records.append((*self._request, time.monotonic()))
            self._request = None

    def _write_json(self, body: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        self._transport.write(head % len(body) + body)

    def _start(self, order: Order) -> None:
        self._transport.write(_HEAD + _http_chunk(_delta({"role": "assistant"})))
        self._loop = asyncio.get_running_loop()
        self._frames = _frames(order.answer, order.tokens)
        self._next = 0
        self._interval = 1 / order.pace
        self._due = self._loop.time()
        self._write_token()

    def _write_token(self) -> None:
        if self._next == len(self._frames):
            self._finish()
            return
        frame = self._frames[self._next]
        stamp = b"%0*d" % (STAMP_DIGITS, time.monotonic_ns() // 1000)
        self._transport.write(frame.replace(STAMP * STAMP_DIGITS, stamp))
        self._next += 1
        self._due += self._interval
        self._timer = self._loop.call_at(self._due, self._write_token)

    def _finish(self) -> None:
        usage = {
            "prompt_tokens": 9,
            "completion_tokens": self._next,
            "total_tokens": self._next + 9,
        }
        tail = _delta({}, "stop") + _event([], usage=usage) + b"data: [DONE]\n\n"
        self._transport.write(_http_chunk(tail) + _LAST_CHUNK)
        self._request = None


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def serve() -> None:
    upstream = Upstream()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(upstream), "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    gc.freeze()
    gc.disable()
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve())
