"""Encode replies as upstreams do: events in, bytes out. The inverse of the decoder, for tests.

Each encoder writes a script (deltas in any order, then the finish and the usage) as one gateway
would. Scripts contain only what every gateway can express.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, assert_never

from chatapp.upstream.wire.events import (
    AnswerDelta,
    Finished,
    ReasoningDelta,
    RefusalDelta,
    TokenUsage,
    ToolCallDelta,
)

Delta = ReasoningDelta | AnswerDelta | RefusalDelta | ToolCallDelta


@dataclass(frozen=True)
class Script:
    """A reply's deltas in order, its finish and its usage."""

    deltas: list[Delta]
    finished: Finished
    usage: TokenUsage


def opentoken(script: Script) -> bytes:
    return _common(script, opening={"role": "assistant"})


def openai(script: Script) -> bytes:
    opening = {"role": "assistant", "content": "", "refusal": None}
    return _common(script, opening, logprobs=None, always={"usage": None, "service_tier": "flex"})


def aivene(script: Script) -> bytes:
    return _common(script, opening={"role": "assistant", "content": ""})


def aigateway(script: Script) -> bytes:
    """No index, ids only in the first chunk, the finish with the last delta, bare usage."""
    choices: list[dict[str, Any]] = [{"delta": {"role": "assistant"}}]
    choices += [{"delta": _delta(event, "reasoning_content")} for event in script.deltas]
    choices[-1]["finish_reason"] = script.finished.finish_reason
    chunks: list[dict[str, Any]] = [{"choices": [choice]} for choice in choices]
    chunks[0]["id"], chunks[0]["model"] = "r", "m"
    return _events([*chunks, {"usage": _usage(script.usage)}])


def vllm(script: Script) -> bytes:
    return _common(script, opening={"role": "assistant", "content": ""}, reasoning="reasoning")


def mistral(script: Script) -> bytes:
    """Content as a list of typed parts, including the reasoning; usage with the finish."""

    def parts(event: Delta) -> dict[str, Any]:
        match event:
            case ReasoningDelta():
                thinking = [{"type": "text", "text": event.text}]
                return {"content": [{"type": "thinking", "thinking": thinking}]}
            case AnswerDelta():
                return {"content": [{"type": "text", "text": event.text}]}
        return _delta(event, "")

    head = {"id": "r", "object": "chat.completion.chunk", "model": "m"}
    choices: list[dict[str, Any]] = [{"index": 0, "delta": parts(event)} for event in script.deltas]
    finish = {"index": 0, "delta": {"content": ""}, "finish_reason": script.finished.finish_reason}
    chunks: list[dict[str, Any]] = [{**head, "choices": [choice]} for choice in [*choices, finish]]
    chunks[-1]["usage"] = _usage(script.usage)
    return _events(chunks)


def small(script: Script) -> bytes:
    """PHP's empty objects, an index per chunk, counts as strings, no blank lines, pings."""
    choices: list[dict[str, Any]] = [
        {"index": number, "delta": _delta(event, "reasoning"), "finish_reason": ""}
        for number, event in enumerate(script.deltas)
    ]
    finish = script.finished.finish_reason
    choices.append({"index": len(choices), "delta": [], "finish_reason": finish})
    head: dict[str, Any] = {"id": "r", "model": "m", "usage": []}
    chunks = [{**head, "choices": [choice]} for choice in choices]
    counts = {name: str(count) for name, count in _usage(script.usage).items()}
    chunks.append({**head, "choices": {}, "usage": counts})
    return _events(chunks).replace(b"\n\n", b"\n").replace(b"data: {", b": ping\ndata: {")


def proxy(script: Script) -> bytes:
    """Write a BOM, CRLF, no space after the colon, comments, and no `[DONE]`."""
    plain = opentoken(script).removesuffix(b"data: [DONE]\n\n")
    packed = plain.replace(b"\n", b"\r\n").replace(b"data: ", b": ping\r\ndata:")
    return b"\xef\xbb\xbf" + packed


ENCODERS: list[Callable[[Script], bytes]] = [
    *(opentoken, openai, aivene, aigateway),
    *(vllm, mistral, small, proxy),
]


def _common(
    script: Script,
    opening: dict[str, Any],
    reasoning: str = "reasoning_content",
    always: dict[str, Any] | None = None,
    **of_choice: Any,
) -> bytes:
    head = {"id": "r", "object": "chat.completion.chunk", "model": "m", **(always or {})}

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, **of_choice, "finish_reason": finish_reason}
        return {**head, "choices": [choice]}

    deltas = [chunk(_delta(event, reasoning)) for event in script.deltas]
    finish = chunk({}, script.finished.finish_reason)
    usage = {**head, "choices": [], "usage": _usage(script.usage)}
    return _events([chunk(opening), *deltas, finish, usage])


def _delta(event: Delta, reasoning: str) -> dict[str, Any]:
    match event:
        case ReasoningDelta():
            return {reasoning: event.text}
        case AnswerDelta():
            return {"content": event.text}
        case RefusalDelta():
            return {"refusal": event.text}
        case ToolCallDelta():
            function = {"name": event.name, "arguments": event.arguments}
            return {"tool_calls": [{"index": event.index, "id": event.id, "function": function}]}
        case _:
            assert_never(event)


def _usage(usage: TokenUsage) -> dict[str, int]:
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}


def _events(chunks: Iterable[dict[str, Any]]) -> bytes:
    frames = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return b"".join([*frames, b"data: [DONE]\n\n"])
