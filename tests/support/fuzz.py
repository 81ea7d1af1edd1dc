"""Search for bytes that the decoder can't take.

`python -m tests.support.fuzz --seconds 60 [--seed N]`

Recordings are mutated and cut at random. The decoder must not raise; its events must not depend on
the cuts, must be storable, and must fold into a reply that has an ending. An input that breaks one
of these is written to a file, and the exit status is 1.
"""

import argparse
import hashlib
import json
import random
import sys
import time
import traceback
from pathlib import Path

from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.decoding.logprobs import build_display_tokens
from chatapp.upstream.wire.events import Event
from chatapp.upstream.wire.reply import Ending, Reply
from chatapp.upstream.wire.requests.estimates import PromptSize, estimate
from chatapp.upstream.wire.requests.history import EMPTY_HISTORY

RECORDINGS = Path(__file__).parents[1] / "recordings"
SPLINTERS = [
    *[
        b"\n",
        b"\r",
        b"\n\n",
        b"data: ",
        b"data: [DONE]\n\n",
        b"event: x\n",
        b": ping\n",
        b"\xff",
        b"\0",
    ],
    *[b"null", b"{}", b"[]", b"-1", b"1e999", b"99999999999999999999", b"true", b'""', b"NaN"],
    *[b"<think>", b"</think>", b"`</think>", b"\\ud800", b"\\u0000", b"[" * 2000, b'{"a":' * 2000],
    *[b"[THINK]", b"[/THINK]", b"event: error\n", b"error: ", b"plain words\n", b'{"a":1}\n'],
    *[b'"content":[{"type":"text","text":"x"},[[]]]', b'"images":[{}]', b'"audio":{"data":"x"}'],
    *[b'"citations":["https://a.example/", 5]', b'"annotations":{}', b'"extra_content":{"a":1}'],
    *[b'"finish_reason":"stop"', b'"finish_reason":"odd"', b'"message":{}', b'"object":"error"'],
    *[b'"index":17', b'"content":null', b'"tool_calls":[{}]', b'"choices":[null]', b'"error":"x"'],
]


class BrokenPromise(Exception):
    """The decoder broke a promise."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    options = parser.parse_args()
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)  # noqa: S311 - not for secrets
    seeds = [path.read_bytes() for path in sorted(RECORDINGS.glob("*.sse"))]
    end, count = time.monotonic() + options.seconds, 0
    while time.monotonic() < end:
        data = mutate_recording(chance, seeds)
        step = chance.choice((1, 7, 500))
        places = list(range(chance.randrange(step), len(data), step))
        try:
            check(data, places)
        except Exception:  # noqa: BLE001 - any exception is a finding
            traceback.print_exc()
            path = Path(f"fuzz-{hashlib.sha256(data).hexdigest()[:12]}.sse")
            path.write_bytes(data)
            print(f"after {count} inputs, cut every {step} bytes: {path}\n{data[:2000]!r}")
            return 1
        count += 1
    print(f"{count} inputs, nothing wrong")
    return 0


def mutate_recording(chance: random.Random, seeds: list[bytes]) -> bytes:
    """Return a recording, or parts of two joined, with a few places changed."""
    data = bytearray(chance.choice(seeds))
    if chance.random() < 0.3:
        other = chance.choice(seeds)
        data[chance.randrange(len(data)) :] = other[chance.randrange(len(other)) :]
    for _ in range(chance.randrange(1, 8)):
        start = chance.randrange(len(data) + 1)
        end = start + chance.choice((0, 0, 1, 4, 40))
        match chance.randrange(4):
            case 0:
                data[start:end] = chance.choice(SPLINTERS)
            case 1:
                data[start:end] = chance.randbytes(chance.randrange(4))
            case 2:
                data[start:end] = data[start:end] * chance.randrange(4)
            case 3:
                del data[start:end]
    return bytes(data)


def check(data: bytes, places: list[int]) -> None:
    """Raise `BrokenPromise`, or whatever the decoder raises, if it breaks a promise."""
    events = _events(data, [])
    if _events(data, places) != events:
        raise BrokenPromise("the events depend on where the bytes are cut")
    text = repr(events)
    text.encode()  # no lone surrogate
    for choice in range(2):
        reply = Reply(choice)
        for event in events:
            reply.apply(event)
        if any("\0" in text for text in (reply.answer, reply.reasoning, reply.refusal)):
            raise BrokenPromise("there is a NUL in a text")
        assert reply.ending in Ending
        assert not reply.wants_tools or reply.tool_calls
        estimate(PromptSize.of(EMPTY_HISTORY), [reply])
        stored = [*reply.sources, *reply.left_out, reply.error.message if reply.error else ""]
        if any("\0" in text for text in stored):
            raise BrokenPromise("there is a NUL in what is kept besides")
        build_display_tokens(reply.logprobs)


def _events(data: bytes, places: list[int]) -> list[Event]:
    decoder, start, events = EventDecoder(), 0, []
    for place in places:
        events += decoder.receive_data(data[start:place])
        start = place
    return [*events, *decoder.receive_data(data[start:]), *decoder.close()]


def adversarial(size: int) -> dict[str, bytes]:
    """Return streams of about `size` bytes, each written to be slow to parse."""

    def repeat_piece(piece: bytes) -> bytes:
        return piece * (size // len(piece) + 1)

    def content(text: str) -> bytes:
        chunk = {"choices": [{"index": 0, "delta": {"content": text}}]}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    def call(index: int, arguments: str) -> bytes:
        part = {"index": index, "function": {"arguments": arguments}}
        chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [part]}}]}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    return {
        "comments": repeat_piece(b":\n"),
        "empty data": repeat_piece(b"data\n\n"),
        "one endless line": b"data: " + b"x" * size,
        "one event of endless lines": repeat_piece(b"data: x\n"),
        "carriage returns": repeat_piece(b"\r"),
        "nesting": b"data: " + b"[" * size + b"\n\n",
        "small deltas": repeat_piece(content("x")),
        "half tags": repeat_piece(content("</thin")),
        "half tags in reasoning": content("<think>") + repeat_piece(content("</thin")),
        "white space after a tag": content("<think>") + repeat_piece(content(" ")),
        "arguments": repeat_piece(call(0, "[")),
        "tool calls": repeat_piece(b"".join(call(index, "{") for index in range(128))),
        "choices": b'data: {"choices":[' + b'{"index":1},' * (size // 12) + b"{}]}\n\n",
        "surrogates": b'data: {"id":"' + rb"\ud800" * (size // 6) + b'"}\n\n',
    }


if __name__ == "__main__":
    sys.exit(main())
