"""Frames that an upstream writes, a server-sent event at a time, in the opentoken dialect."""

import json
from collections.abc import Iterable
from typing import Any

from tests.support.fake_upstream.steps import Delay, Step

MODEL = "google/gemini-3-flash"
RESPONSE_ID = "chatcmpl-1"


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


def answer(text: str = "Packets in flight") -> list[Step]:
    """A whole reply, a delta for each word."""
    words = [delta(word + " ") for word in text.split(" ")[:-1]] + [delta(text.split(" ")[-1])]
    return [role(), *words, finish(), usage(), done()]


def delay_frames(frames: Iterable[bytes], seconds: float) -> list[Step]:
    """Return the frames with a delay before each."""
    return [step for data in frames for step in (Delay(seconds), data)]
