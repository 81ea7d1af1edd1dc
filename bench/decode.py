"""Measures the cost of reading a stream: `python -m bench.decode [--quick]`.

Prints three tables. The decoding cost per chunk, pure and over a socket, compared with bare httpx,
httpx-sse and the official `openai` SDK on the same bytes (the last two if they are installed). The
cost of ten times as many bytes of streams written to be slow. And the result of every recording.

Costs over a socket are CPU time of this process per chunk; the upstream is another process. In
"bulk" the bytes arrive as fast as they are read, in "paced" every chunk arrives alone.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from importlib.util import find_spec

import httpx
import uvloop

from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.reply import Reply
from tests.support.fake_upstream import delta, done, finish, role, usage
from tests.support.fuzz import RECORDINGS, adversarial

BULK_CHUNKS, PACED_CHUNKS = 20_000, 2_000
PACE_SECONDS = 0.001
GREETING = "Hello"
PROMPT = [{"role": "user", "content": GREETING}]
REPEATS = 5

Ask = Callable[[str], Awaitable[int]]  # a base URL → the number of characters read


def stream(chunks: int) -> list[bytes]:
    """Return a reply of this many content chunks in the opentoken dialect."""
    words = [delta("flight ") for _ in range(chunks)]
    return [role(), *words, finish(), usage(), done()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.decode", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="once, in place of the best of five")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        uvloop.run(serve())
        return
    repeats = 1 if options.quick else REPEATS
    pure_costs(repeats)
    with upstream() as base_url:
        uvloop.run(client_costs(base_url, repeats))
    adversarial_costs(repeats)
    recordings()


# The pure core


def pure_costs(repeats: int) -> None:
    frames = stream(BULK_CHUNKS)
    body = b"".join(frames)
    pieces = [body[start : start + 65536] for start in range(0, len(body), 65536)]
    print(f"{'pure core, µs a chunk':34} {'decoded':>9} {'and folded':>11}")
    for name, reads in (("a chunk a read", frames), ("64 KiB a read", pieces)):
        decoded = min(_pure_cost(reads, fold=False) for _ in range(repeats))
        folded = min(_pure_cost(reads, fold=True) for _ in range(repeats))
        print(f"{name:34} {decoded:9.2f} {folded:11.2f}")


def _pure_cost(reads: list[bytes], fold: bool) -> float:
    decoder, reply = EventDecoder(), Reply()
    before = time.process_time()
    for data in reads:
        for event in decoder.receive_data(data):
            if fold:
                reply.apply(event)
    return (time.process_time() - before) / BULK_CHUNKS * 1e6


# Over a socket


async def client_costs(base_url: str, repeats: int) -> None:
    print(f"\n{'over a socket, µs of CPU a chunk':34} {'bulk':>9} {'paced':>11}")
    for name, module, asking in (
        ("httpx aiter_raw, nothing read", "httpx", with_httpx),
        ("chatapp, to the reply", "httpx", with_chatapp),
        ("httpx-sse and json.loads", "httpx_sse", with_httpx_sse),
        ("openai SDK", "openai", with_openai),
    ):
        if find_spec(module) is None:
            print(f"{name:34} is not installed")
            continue
        async with asking() as ask:
            bulk = await _cost(ask, f"{base_url}/bulk", BULK_CHUNKS, repeats)
            paced = await _cost(ask, f"{base_url}/paced", PACED_CHUNKS, repeats)
        print(f"{name:34} {bulk:9.1f} {paced:11.1f}", flush=True)


async def _cost(ask: Ask, base_url: str, chunks: int, repeats: int) -> float:
    costs = []
    for _ in range(repeats):
        before = time.process_time()
        length = await ask(base_url)
        costs.append((time.process_time() - before) / chunks * 1e6)
        assert length >= chunks * len("flight ")
    return min(costs)


@asynccontextmanager
async def with_httpx() -> AsyncIterator[Ask]:
    async with httpx.AsyncClient() as client:

        async def ask(base_url: str) -> int:
            length = 0
            url = f"{base_url}/chat/completions"
            async with client.stream("POST", url, json={}) as response:
                async for data in response.aiter_raw():
                    length += len(data)
            return length

        yield ask


@asynccontextmanager
async def with_chatapp() -> AsyncIterator[Ask]:
    client = UpstreamClient()

    async def ask(base_url: str) -> int:
        reply = Reply()
        async with client.stream(Endpoint(base_url), "m", PROMPT) as batches:
            async for events in batches:
                for event in events:
                    reply.apply(event)
        return len(reply.answer)

    yield ask
    await client.aclose()


@asynccontextmanager
async def with_httpx_sse() -> AsyncIterator[Ask]:
    from httpx_sse import aconnect_sse

    async with httpx.AsyncClient() as client:

        async def ask(base_url: str) -> int:
            parts: list[str] = []
            url = f"{base_url}/chat/completions"
            async with (
                aconnect_sse(client, "POST", url, json={}) as source,
                aclosing(source.aiter_sse()) as events,
            ):
                async for event in events:
                    if event.data == "[DONE]":
                        break
                    choices = json.loads(event.data)["choices"]
                    parts.extend(choice["delta"].get("content") or "" for choice in choices)
            return len("".join(parts))

        yield ask


@asynccontextmanager
async def with_openai() -> AsyncIterator[Ask]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(api_key="none") as client:

        async def ask(base_url: str) -> int:
            parts: list[str] = []
            at = client.with_options(base_url=base_url)
            chunks = await at.chat.completions.create(
                model="m", messages=[{"role": "user", "content": GREETING}], stream=True
            )
            async with chunks:
                async for chunk in chunks:
                    parts.extend(choice.delta.content or "" for choice in chunk.choices)
            return len("".join(parts))

        yield ask


# The upstream, in a separate process


@contextmanager
def upstream() -> Iterator[str]:
    command = [sys.executable, "-m", "bench.decode", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.terminate()


async def serve() -> None:
    bulk, paced = stream(BULK_CHUNKS), stream(PACED_CHUNKS)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        await reader.readexactly(length)
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        is_paced = b" /paced" in head
        for frame in paced if is_paced else bulk:
            writer.write(b"%x\r\n%b\r\n" % (len(frame), frame))
            await writer.drain()
            if is_paced:
                await asyncio.sleep(PACE_SECONDS)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# Streams written to be slow


def adversarial_costs(repeats: int) -> None:
    print(f"\n{'adversarial, ms':34} {'1 MB':>9} {'10 MB':>11} {'ratio':>7}")
    for name in adversarial(1):
        small, large = (
            min(_adversarial_cost(adversarial(size)[name]) for _ in range(repeats))
            for size in (1_000_000, 10_000_000)
        )
        print(f"{name:34} {small:9.1f} {large:11.1f} {large / small:7.1f}", flush=True)


def _adversarial_cost(data: bytes) -> float:
    decoder, reply = EventDecoder(), Reply()
    before = time.process_time()
    for start in range(0, len(data), 4096):
        for event in decoder.receive_data(data[start : start + 4096]):
            reply.apply(event)
    decoder.close()
    return (time.process_time() - before) * 1000


# The results of the recordings


def recordings() -> None:
    headings = ("reasoning", "answer", "refusal", "calls", "usage")
    print(f"\n{'recording':24} {'ending':15} " + " ".join(f"{name:>9}" for name in headings))
    for path in sorted(RECORDINGS.glob("*.sse")):
        decoder, reply = EventDecoder(), Reply()
        for event in decoder.receive_data(path.read_bytes()) + decoder.close():
            reply.apply(event)
        usage = (
            f"{reply.usage.prompt_tokens}+{reply.usage.completion_tokens}" if reply.usage else ""
        )
        counts = (
            len(reply.reasoning),
            len(reply.answer),
            len(reply.refusal),
            len(reply.tool_calls),
        )
        cells = " ".join(f"{count or '':>9}" for count in (*counts, usage))
        error = f"  {reply.error.kind}: {reply.error.message}" if reply.error else ""
        print(f"{path.stem:24} {reply.ending:15} {cells}{error}")


if __name__ == "__main__":
    main()
