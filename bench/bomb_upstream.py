"""An upstream that answers with bombs: the prompt's first line names one, or the answer is short.

`python -m bench.bomb_upstream` listens on a loopback port and prints it.
"""

import asyncio
import json
from collections.abc import AsyncIterator

from bench.bombs import REPLIES
from bench.upstream import MODEL

PREFIX = "bomb:"
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\nconnection: close\r\n\r\n"


def prompt_for(name: str, scale: float = 1) -> str:
    """Return the prompt that is answered with this bomb."""
    return f"{PREFIX}{scale}:{name}"


def _event(delta: dict[str, object], finish_reason: str | None = None) -> bytes:
    fields = {name: part for name, part in delta.items() if name != "logprobs"}
    choice = {"index": 0, "delta": fields, "finish_reason": finish_reason}
    choice["logprobs"] = delta.get("logprobs")
    return (
        b"data: " + json.dumps({"id": "1", "model": MODEL, "choices": [choice]}).encode() + b"\n\n"
    )


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"content-length:" not in head:
        models = json.dumps({"object": "list", "data": [{"id": MODEL}]}).encode()
        writer.write(_HEAD % b"application/json" + models)
    else:
        length = int(head.partition(b"content-length:")[2].split()[0])
        body = json.loads(await reader.readexactly(length))
        writer.write(_HEAD % b"text/event-stream")
        async for event in _stream(body["messages"]):
            writer.write(event)
            await writer.drain()
    writer.close()


async def _stream(messages: list[dict[str, str]]) -> AsyncIterator[bytes]:
    content = messages[-1]["content"]
    if messages[-1]["role"] != "user" or not content.startswith(PREFIX):
        yield _event({"content": "Short."})
        yield _event({}, "stop")
    else:
        scale, _, name = content.removeprefix(PREFIX).partition(":")
        for delta in REPLIES[name].deltas(float(scale)):
            yield _event(delta)
        yield _event({}, "stop")
    yield b"data: [DONE]\n\n"


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, limit=64 * 1024 * 1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
