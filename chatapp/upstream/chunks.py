"""`chat.completion.chunk`: one event's data in, one typed `Chunk` out.

Everything may be missing or null, and what is unknown is read over; only JSON that is no chunk
raises, as `MalformedChunk`, which names the place. The shapes are those of OpenAI's API reference
("The chat completion chunk object") and of what gateways make of it. A `chat.completion`, the
answer that is no stream, is a chunk whose choices have a `message` in place of a `delta`.
"""

import json
from typing import Any

import msgspec

from chatapp.upstream.events import TokenUsage

_MAX_COUNT = 10**12  # more tokens than this is no count


class MalformedChunk(Exception):
    """The data of an event is no chunk; the message says where it went wrong."""


class FunctionPart(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: Any = None  # text, but some send the object itself

    def arguments_text(self) -> str:
        match self.arguments:
            case None:
                return ""
            case str():
                return self.arguments
        return msgspec.json.encode(self.arguments).decode()


class ToolCallPart(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: FunctionPart | None = None


class Delta(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: Any = None
    refusal: str | None = None
    tool_calls: list[ToolCallPart] | None = None
    function_call: FunctionPart | None = None  # deprecated

    def reasoning_text(self) -> str:
        """The reasoning once, however many of its fields repeat it."""
        if text := self.reasoning_content or self.reasoning:
            return text
        if not isinstance(self.reasoning_details, list):
            return ""
        return "".join(map(_reasoning_of_detail, self.reasoning_details))


class Choice(msgspec.Struct, gc=False):
    index: int | None = 0
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    logprobs: Any = None

    def said(self) -> Delta | None:
        return self.message if self.delta is None else self.delta


class PromptDetails(msgspec.Struct, gc=False):
    cached_tokens: Any = None
    cache_write_tokens: Any = None
    audio_tokens: Any = None


class CompletionDetails(msgspec.Struct, gc=False):
    reasoning_tokens: Any = None
    audio_tokens: Any = None
    accepted_prediction_tokens: Any = None
    rejected_prediction_tokens: Any = None


class Usage(msgspec.Struct, gc=False):
    """The counts as they came: a bad number must not cost a person the reply."""

    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_tokens: Any = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None

    def counted(self) -> TokenUsage | None:
        """Return the usage, or None where a main count is neither given nor follows."""
        prompt, completion = _count(self.prompt_tokens), _count(self.completion_tokens)
        total = _count(self.total_tokens)
        if total is not None and completion is not None and prompt is None:
            prompt = _count(total - completion)
        if total is not None and prompt is not None and completion is None:
            completion = _count(total - prompt)
        if prompt is None or completion is None:
            return None
        prompt_details = self.prompt_tokens_details or PromptDetails()
        details = self.completion_tokens_details or CompletionDetails()
        return TokenUsage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=prompt + completion if total is None else total,
            cached_tokens=_count(prompt_details.cached_tokens),
            cache_write_tokens=_count(prompt_details.cache_write_tokens),
            reasoning_tokens=_count(details.reasoning_tokens),
            prompt_audio_tokens=_count(prompt_details.audio_tokens),
            completion_audio_tokens=_count(details.audio_tokens),
            accepted_prediction_tokens=_count(details.accepted_prediction_tokens),
            rejected_prediction_tokens=_count(details.rejected_prediction_tokens),
        )


class Chunk(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    choices: list[Choice] | None = None
    usage: Usage | None = None
    error: Any = None
    service_tier: Any = None
    system_fingerprint: Any = None
    moderation: Any = None


_decode_strictly = msgspec.json.Decoder(Chunk).decode


def decode(data: str | bytes) -> Chunk:
    """Decode one event's data. Raises `MalformedChunk`."""
    try:
        return _decode_strictly(data)
    except msgspec.ValidationError as error:  # sound JSON of the wrong shape
        raise MalformedChunk(str(error)) from error
    except (ValueError, RecursionError):
        return _decode_leniently(data)


def _decode_leniently(data: str | bytes) -> Chunk:
    """Decode what the standard library can read: raw control characters, lone surrogates, NaN."""
    try:
        content = json.loads(data, strict=False, parse_constant=lambda _: None)
        text = json.dumps(content, ensure_ascii=False)
        return _decode_strictly(_without_lone_surrogates(text))
    except (ValueError, RecursionError) as error:
        raise MalformedChunk(str(error)) from error


def _without_lone_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _reasoning_of_detail(detail: object) -> str:
    """OpenRouter's `reasoning.text` has `text`, `reasoning.summary` has `summary`."""
    if not isinstance(detail, dict):
        return ""
    text = detail.get("text") or detail.get("summary")
    return text if isinstance(text, str) else ""


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _MAX_COUNT else None
