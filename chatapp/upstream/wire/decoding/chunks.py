"""Decode a `chat.completion.chunk`: one event's data in, one typed `Chunk` out.

Any field may be missing or null, and unknown fields are ignored. A field of the wrong type is
converted to its likely meaning, or left out and named. Only invalid JSON raises: `MalformedChunk`,
with the position. The shapes are those of OpenAI's API reference ("The chat completion chunk
object") and of the variants that gateways send; some write names in camel case, and some put an
envelope around chunks. A `chat.completion`, a reply that is not streamed, is a chunk whose choices
have a `message` instead of a `delta`.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from chatapp.upstream.wire.usage import CompletionDetails, PromptDetails, Usage


class MalformedChunk(Exception):
    """The data of an event is not valid JSON; the message says where."""


class FunctionPart(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: Any = None  # text, but some upstreams send the object itself
    provider_specific_fields: Any = None
    thought_signature: Any = None

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
    # Sent back with the call: for Gemini, LiteLLM.
    extra_content: Any = None
    provider_specific_fields: Any = None
    thought_signature: Any = None


class Delta(msgspec.Struct, gc=False):
    content: str | list[Any] | None = None  # a list of typed parts is Mistral's
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None  # GitHub Copilot's
    thinking: str | None = None
    camel_reasoning: str | None = msgspec.field(default=None, name="reasoningContent")
    reasoning_details: Any = None
    thinking_blocks: Any = None
    provider_specific_fields: Any = None
    reasoning_opaque: Any = None
    extra_content: Any = None  # Google's
    refusal: str | None = None
    tool_calls: list[ToolCallPart] | None = None
    camel_tool_calls: list[ToolCallPart] | None = msgspec.field(default=None, name="toolCalls")
    function_call: FunctionPart | None = None  # deprecated
    images: Any = None
    audio: Any = None
    annotations: Any = None

    def all_reasoning(self) -> str:
        """Return the reasoning once, even if several fields repeat it."""
        if text := (
            self.reasoning_content or self.reasoning or self.reasoning_text or self.thinking
        ):
            return text
        if self.camel_reasoning:
            return self.camel_reasoning
        if not isinstance(self.reasoning_details, list):
            return ""
        return "".join(map(_reasoning_of_detail, self.reasoning_details))

    @property
    def has_numbered_details(self) -> bool:
        """Whether the reasoning came only in details that have ids, which may be cumulative."""
        details = self.reasoning_details
        return isinstance(details, list) and not self.reasoning_field and any(map(_get_id, details))

    @property
    def is_thought(self) -> bool:
        """Whether only a flag says that the content is reasoning."""
        match self.extra_content:
            case {"google": {"thought": True}}:
                return True
        return False

    @property
    def has_opaque(self) -> bool:
        """Whether the delta has fields that must be sent back with the reply's tool calls."""
        return bool(
            self.reasoning_details
            or self.thinking_blocks
            or self.provider_specific_fields
            or self.reasoning_opaque
        )

    def opaque_fields(self) -> dict[str, object]:
        return {
            "reasoning_details": self.reasoning_details,
            "thinking_blocks": self.thinking_blocks,
            "provider_specific_fields": self.provider_specific_fields,
            "reasoning_opaque": self.reasoning_opaque,
        }

    @property
    def reasoning_field(self) -> str:
        """The text field that carries the reasoning, or ""."""
        for name in ("reasoning_content", "reasoning", "reasoning_text", "thinking"):
            if getattr(self, name):
                return name
        return ""


class Choice(msgspec.Struct, gc=False):
    index: int | None = None
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    camel_finish_reason: str | None = msgspec.field(default=None, name="finishReason")
    native_finish_reason: Any = None  # OpenRouter's, of the provider behind it
    logprobs: Any = None
    error: Any = None
    usage: Usage | None = None  # Moonshot's

    @property
    def any_finish_reason(self) -> str:
        """The finish_reason, or "" if the choice goes on."""
        return self.finish_reason or self.camel_finish_reason or ""


class Chunk(msgspec.Struct, gc=False):
    id: str | int | None = None
    model: str | None = None
    choices: list[Choice] | None = None
    usage: Usage | None = None
    x_groq: Any = None
    error: Any = None
    service_tier: Any = None
    system_fingerprint: Any = None
    moderation: Any = None
    citations: Any = None
    search_results: Any = None


_CHUNK_FIELDS = frozenset(Chunk.__struct_fields__)
_decode_strictly = msgspec.json.Decoder(Chunk).decode


def decode(data: str | bytes, left_out: list[str] | None = None) -> Chunk:
    """Decode one event's data; add the names of fields that are left out to `left_out`.

    Raises `MalformedChunk`.
    """
    try:
        return _decode_strictly(data)
    except msgspec.ValidationError:  # valid JSON of the wrong shape
        pass
    except (ValueError, RecursionError):
        return _convert_leniently(_repair_json(data), [] if left_out is None else left_out)
    return _decode_leniently(data, [] if left_out is None else left_out)


_ENVELOPES = ("data", "result", "response")
_INSIDE = frozenset({"choices", "usage", "error"})


def open_envelope(content: object) -> dict[str, Any] | None:
    """Return the chunk inside an object such as `{"data": {"choices": […]}}`, or None."""
    if not isinstance(content, dict):
        return None
    inner = (content.get(name) for name in _ENVELOPES)
    return next(
        (
            candidate
            for candidate in inner
            if isinstance(candidate, dict) and _INSIDE & candidate.keys()
        ),
        None,
    )


def looks_like_chunk(content: Mapping[str, object]) -> bool:
    """Tell a chunk that says nothing from an object of another kind, such as a list of models."""
    is_named = str(content.get("object")).startswith("chat.completion")
    return is_named or bool(content.keys() & (_CHUNK_FIELDS - {"id", "model"}))


def usage_of_groq(content: object) -> Usage | None:
    """Return the usage inside Groq's `x_groq` field."""
    return _struct(Usage, content.get("usage"), "x_groq", []) if isinstance(content, dict) else None


def _repair_json(data: str | bytes) -> object:
    """Decode with the standard library: it accepts control characters, lone surrogates and NaN.

    A delta may end with half a surrogate pair; the next one begins with the other half.
    """
    try:
        content = json.loads(data, strict=False, parse_constant=lambda _: None)
        return _without_lone_surrogates(content)
    except (ValueError, RecursionError) as error:
        raise MalformedChunk(str(error)) from error


# Texts of deltas; `SurrogateJoiner` joins their split surrogate pairs.
_MAY_SPLIT_PAIRS = frozenset(
    {
        *("content", "refusal", "arguments", "text"),
        *("reasoning_content", "reasoning", "reasoning_text", "reasoningContent", "thinking"),
    }
)


def _without_lone_surrogates(value: Any, name: str = "") -> Any:
    if isinstance(value, str):
        return _with_outer_halves(value) if name in _MAY_SPLIT_PAIRS else _without_halves(value)
    if isinstance(value, dict):
        return {
            _without_halves(key): _without_lone_surrogates(member, key)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_without_lone_surrogates(member, name) for member in value]
    return value


def _with_outer_halves(text: str) -> str:
    """Keep half a pair at either end (the other half may be in another delta); replace others."""
    first = text[:1] if "\udc00" <= text[:1] <= "\udfff" else ""
    last = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    return first + _without_halves(text[len(first) : len(text) - len(last)]) + last


def _without_halves(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# The type of the objects in a chunk, by field name: fields that hold a list, and a single object.
_LISTS: dict[str, type[msgspec.Struct]] = {
    "choices": Choice,
    "tool_calls": ToolCallPart,
    "toolCalls": ToolCallPart,
}
_OBJECTS: dict[str, type[msgspec.Struct]] = {
    "delta": Delta,
    "message": Delta,
    "function": FunctionPart,
    "function_call": FunctionPart,
    "usage": Usage,
    "prompt_tokens_details": PromptDetails,
    "input_tokens_details": PromptDetails,
    "completion_tokens_details": CompletionDetails,
    "output_tokens_details": CompletionDetails,
}
_Kind = TypeVar("_Kind", bound=msgspec.Struct)


def _decode_leniently(data: str | bytes, left_out: list[str]) -> Chunk:
    """Decode a chunk field by field, because one of them has the wrong type."""
    try:
        content = msgspec.json.decode(data)
    except (ValueError, RecursionError) as error:
        raise MalformedChunk(str(error)) from error
    return _convert_leniently(content, left_out)


def _convert_leniently(content: object, left_out: list[str]) -> Chunk:
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    return _struct(Chunk, content, "event", left_out) or Chunk()


def _struct(kind: type[_Kind], content: object, place: str, left_out: list[str]) -> _Kind | None:
    if not isinstance(content, dict):
        if content:  # PHP writes an empty object as an empty list
            left_out.append(place)
        return None
    values = {}
    for field in msgspec.structs.fields(kind):
        value = content.get(field.encode_name)
        if value is not None:
            values[field.name] = _value(field, value, left_out)
    return kind(**values)


def _value(field: msgspec.structs.FieldInfo, value: object, left_out: list[str]) -> object:
    name = field.encode_name
    if kind := _OBJECTS.get(name):
        return _struct(kind, value, name, left_out)
    if kind := _LISTS.get(name):
        items = (_struct(kind, item, name, left_out) for item in _list_members(value))
        return [item for item in items if item is not None]
    try:
        return msgspec.convert(value, field.type, strict=False)
    except (ValueError, RecursionError):
        text = None if name == "index" else find_text(value)
    if text is None and value not in (False, [], {}):
        left_out.append(name)
    return text


def _list_members(value: object) -> list[object]:
    """Return the items of a list, a list that PHP encoded as an object, or a single item."""
    if isinstance(value, dict):
        are_numbered = all(key.isdecimal() for key in value)  # true if empty
        return list(value.values()) if are_numbered else [value]
    return value if isinstance(value, list) else [value]


def find_text(value: object, depth: int = 4) -> str | None:
    """Return the text in a value that should be a string, such as a list of parts, or None."""
    match value:
        case str():
            return value
        case bool():
            return None
        case int() | float():
            return str(value)
        case dict() if depth:
            return find_text(value.get("text"), depth - 1)
        case list() if depth:
            texts = [text for item in value if (text := find_text(item, depth - 1))]
            return "".join(texts) or None
    return None


def _get_id(detail: object) -> object:
    return detail.get("id") if isinstance(detail, dict) else None


def _reasoning_of_detail(detail: object) -> str:
    """Return the text of OpenRouter's `reasoning.text` (`text`) or `reasoning.summary`."""
    if not isinstance(detail, dict):
        return ""
    text = detail.get("text") or detail.get("summary")
    return text if isinstance(text, str) else ""
