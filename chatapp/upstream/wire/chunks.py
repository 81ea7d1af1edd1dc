"""`chat.completion.chunk`: one event's data in, one typed `Chunk` out.

Everything may be missing or null, and what is unknown is read over. A field of a wrong type is read
as what it must have meant, or left out and named; only what is no JSON raises, as `MalformedChunk`,
which names the place. The shapes are those of OpenAI's API reference ("The chat completion chunk
object") and of what gateways make of it. A `chat.completion`, the answer that is no stream, is a
chunk whose choices have a `message` in place of a `delta`.
"""

import json
from typing import Any, TypeVar

import msgspec

from chatapp.upstream.wire.usage import CompletionDetails, PromptDetails, Usage


class MalformedChunk(Exception):
    """The data of an event is no JSON; the message says where it went wrong."""


class FunctionPart(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: Any = None  # text, but some send the object itself
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
    # What must come back with the call: Gemini's, LiteLLM's.
    extra_content: Any = None
    provider_specific_fields: Any = None
    thought_signature: Any = None


class Delta(msgspec.Struct, gc=False):
    content: str | list[Any] | None = None  # a list of typed parts is Mistral's
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None  # GitHub Copilot's
    thinking: str | None = None
    reasoning_details: Any = None
    thinking_blocks: Any = None
    provider_specific_fields: Any = None
    reasoning_opaque: Any = None
    refusal: str | None = None
    tool_calls: list[ToolCallPart] | None = None
    function_call: FunctionPart | None = None  # deprecated
    images: Any = None
    audio: Any = None
    annotations: Any = None

    def all_reasoning(self) -> str:
        """The reasoning once, however many of its fields repeat it."""
        if text := (
            self.reasoning_content or self.reasoning or self.reasoning_text or self.thinking
        ):
            return text
        if not isinstance(self.reasoning_details, list):
            return ""
        return "".join(map(_reasoning_of_detail, self.reasoning_details))

    @property
    def has_opaque(self) -> bool:
        """Whether something came that must come back with the calls of the same reply."""
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
        """The field of text that has the reasoning; empty where none has."""
        for name in ("reasoning_content", "reasoning", "reasoning_text", "thinking"):
            if getattr(self, name):
                return name
        return ""


class Choice(msgspec.Struct, gc=False):
    index: int | None = None
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    native_finish_reason: Any = None  # OpenRouter's, of the provider behind it
    logprobs: Any = None
    error: Any = None
    usage: Usage | None = None  # Moonshot's


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


_decode_strictly = msgspec.json.Decoder(Chunk).decode


def decode(data: str | bytes, left_out: list[str] | None = None) -> Chunk:
    """Decode one event's data; the places of what is left out are added to `left_out`.

    Raises `MalformedChunk`.
    """
    try:
        return _decode_strictly(data)
    except msgspec.ValidationError:  # sound JSON of the wrong shape
        pass
    except (ValueError, RecursionError):
        return _read_generously(_repaired(data), [] if left_out is None else left_out)
    return _decode_generously(data, [] if left_out is None else left_out)


def usage_of_groq(content: object) -> Usage | None:
    """Groq's own field has the usage inside."""
    return _struct(Usage, content.get("usage"), "x_groq", []) if isinstance(content, dict) else None


def _repaired(data: str | bytes) -> object:
    """Read what the standard library can: raw control characters, lone surrogates, NaN.

    A delta may end with half a character, whose other half begins the next one.
    """
    try:
        content = json.loads(data, strict=False, parse_constant=lambda _: None)
        return _without_lone_surrogates(content)
    except (ValueError, RecursionError) as error:
        raise MalformedChunk(str(error)) from error


# The texts of deltas, which `SurrogateJoiner` goes on with.
_TORN = frozenset(
    {
        *("content", "refusal", "arguments", "text"),
        *("reasoning_content", "reasoning", "reasoning_text", "thinking"),
    }
)


def _without_lone_surrogates(value: Any, name: str = "") -> Any:
    if isinstance(value, str):
        return _torn(value) if name in _TORN else _replaced(value)
    if isinstance(value, dict):
        return {_replaced(key): _without_lone_surrogates(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_lone_surrogates(one, name) for one in value]
    return value


def _torn(text: str) -> str:
    """Keep half a character at the beginning or at the end, whose other half may be elsewhere."""
    first = text[:1] if "\udc00" <= text[:1] <= "\udfff" else ""
    last = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    return first + _replaced(text[len(first) : len(text) - len(last)]) + last


def _replaced(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# What stands in a chunk by the field it stands in; of the first kind there are several.
_LISTS: dict[str, type[msgspec.Struct]] = {"choices": Choice, "tool_calls": ToolCallPart}
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


def _decode_generously(data: str | bytes, left_out: list[str]) -> Chunk:
    """Read a chunk field by field, since one of them has a type that it should not have."""
    try:
        content = msgspec.json.decode(data)
    except (ValueError, RecursionError) as error:
        raise MalformedChunk(str(error)) from error
    return _read_generously(content, left_out)


def _read_generously(content: object, left_out: list[str]) -> Chunk:
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
        value = content.get(field.name)
        if value is not None:
            values[field.name] = _value(field, value, left_out)
    return kind(**values)


def _value(field: msgspec.structs.FieldInfo, value: object, left_out: list[str]) -> object:
    name = field.name
    if kind := _OBJECTS.get(name):
        return _struct(kind, value, name, left_out)
    if kind := _LISTS.get(name):
        items = (_struct(kind, item, name, left_out) for item in _listed(value))
        return [item for item in items if item is not None]
    try:
        return msgspec.convert(value, field.type, strict=False)
    except (ValueError, RecursionError):
        meant = None if name == "index" else text_of(value)
    if meant is None and value not in (False, [], {}):
        left_out.append(name)
    return meant


def _listed(value: object) -> list[object]:
    """The items of a list, also where PHP has made an object of it, or it is one item alone."""
    if isinstance(value, dict):
        are_numbered = all(key.isdecimal() for key in value)  # of an empty one too
        return list(value.values()) if are_numbered else [value]
    return value if isinstance(value, list) else [value]


def text_of(value: object, depth: int = 4) -> str | None:
    """What a field of text must mean that holds something else, such as a list of parts."""
    match value:
        case str():
            return value
        case bool():
            return None
        case int() | float():
            return str(value)
        case dict() if depth:
            return text_of(value.get("text"), depth - 1)
        case list() if depth:
            texts = [text for item in value if (text := text_of(item, depth - 1))]
            return "".join(texts) or None
    return None


def _reasoning_of_detail(detail: object) -> str:
    """OpenRouter's `reasoning.text` has `text`, `reasoning.summary` has `summary`."""
    if not isinstance(detail, dict):
        return ""
    text = detail.get("text") or detail.get("summary")
    return text if isinstance(text, str) else ""
