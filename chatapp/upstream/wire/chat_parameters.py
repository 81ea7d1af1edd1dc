"""The request parameters that a person can set for a chat, and the fields of a request they become.

Parameters are a JSON object that has only what is set, and only that is sent:
`{"temperature": 0.2, "extra": {"top_k": 20}}`. A schema for the response is stored as
`{"type": "json_schema", "schema": {…}}`.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from chatapp.upstream.wire.dialects import RESERVED_PARAMETERS
from chatapp.upstream.wire.spellings import COMMON_SPELLING, Spelling

# Each parameter in words, as in “gpt-5 doesn't accept …”.
LABELS: Mapping[str, str] = MappingProxyType(
    {
        "temperature": "temperature",
        "top_p": "Top P",
        "max_output_tokens": "a maximum output",
        "reasoning_effort": "reasoning effort",
        "stop": "stop sequences",
        "seed": "a seed",
        "response_format": "a response format",
        "logprobs": "log probabilities",
        "top_logprobs": "alternatives per token",
        "web_search": "web search",
        "extra": "other parameters",
    }
)
# Each parameter as the label of a field.
PARAMETER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "temperature": "Temperature",
        "top_p": "Top P",
        "max_output_tokens": "Maximum output",
        "reasoning_effort": "Reasoning effort",
        "stop": "Stop sequences",
        "seed": "Seed",
        "response_format": "Response format",
        "logprobs": "Log probabilities",
        "top_logprobs": "Alternatives per token",
        "web_search": "Web search",
        "extra": "Other parameters",
    }
)
EFFORT_NAMES = {
    "none": "No reasoning",
    "minimal": "Minimal effort",
    "low": "Low effort",
    "medium": "Medium effort",
    "high": "High effort",
    "xhigh": "Extra high effort",
    "max": "Maximum effort",
}
EFFORTS = tuple(EFFORT_NAMES)
NO_REASONING = EFFORTS[0]
NO_EFFORT = ("", "Default effort")  # the choice to set none
FORMATS = ("text", "json_object", "json_schema")
MAX_OUTPUT = 10_000_000  # tokens
MAX_STOPS, MAX_STOP_LENGTH = 4, 200
MAX_SEED = 2**63 - 1
MAX_TOP_LOGPROBS = 20
MAX_JSON = 20_000  # characters of `extra`, and of a schema
MAX_DEPTH = 20
MAX_EXTRA_NAME = 100
MAX_QUOTED_LENGTH = 40  # characters of a value in a sentence

# The fields that each parameter can become, in any upstream's spelling.
FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        "max_output_tokens": ("max_tokens", "max_completion_tokens"),
        "reasoning_effort": ("reasoning_effort", "reasoning", "thinking"),
        "stop": ("stop",),
        "seed": ("seed", "random_seed"),
        "response_format": ("response_format",),
        "logprobs": ("logprobs",),
        "top_logprobs": ("top_logprobs",),
        "web_search": ("web_search_options", "tools", "enable_search"),
    }
)
# Fields with more than one part: others may be in `extra` or set by an administrator.
MERGEABLE_FIELDS = frozenset({"reasoning", "thinking", "tools"})
_PARAMETER_BY_FIELD = {
    name: parameter for parameter, names in FIELDS.items() for name in (parameter, *names)
}
# Set by the app, or they would choose another model or server than the one that was checked.
FORBIDDEN = RESERVED_PARAMETERS | {
    *("n", "best_of", "tools", "tool_choice", "functions", "function_call", "stream_options"),
    *("models", "fallbacks", "route", "model_list", "deployment_id", "custom_llm_provider"),
    *("context_window_fallbacks", "content_policy_fallbacks", "preset", "user_config"),
    *("api_base", "base_url", "api_key", "api_version", "extra_body", "extra_headers", "headers"),
    "extra",
}


def plain_name(name: str) -> str:
    """Return what names have in common that some server takes for the same, as Go's and Google's
    JSON decoders do: `max_tokens`, `maxTokens` and `Max_Tokens`."""
    return name.lower().replace("_", "").replace("-", "")


_FORBIDDEN = frozenset(map(plain_name, FORBIDDEN))
_RESERVED_NAMES = frozenset(map(plain_name, _PARAMETER_BY_FIELD.keys() - MERGEABLE_FIELDS))


class InvalidParameters(ValueError):
    """Raised for invalid parameters, with a sentence for each by its name; "" is all of them."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = dict(errors)


def clean_parameters(value: object) -> dict[str, object]:
    """Return parameters with only what is set. Raises `InvalidParameters`.

    None, an empty text, list or object means that a parameter isn't set.
    """
    if not isinstance(value, Mapping):
        raise InvalidParameters({"": "Parameters must be a JSON object."})
    parameters = {name: setting for name, setting in value.items() if _is_set(setting)}
    errors: dict[str, str] = {}
    for name, setting in parameters.items():
        if name not in LABELS:
            errors[""] = f"“{str(name)[:40]}” isn't a parameter of a chat. Put it into “extra”."
        elif error := find_error(name, setting):
            errors[name] = error
    if "top_logprobs" in parameters and parameters.get("logprobs") is not True:
        errors.setdefault(
            "top_logprobs", "Switch log probabilities on, or set no alternatives per token."
        )
    if errors:
        raise InvalidParameters(errors)
    return {name: parameters[name] for name in LABELS if name in parameters}


def find_error(name: str, value: object) -> str:
    """Return a sentence that says what is wrong with the value of this parameter, or ""."""
    match name:
        case "temperature":
            return _error_of_number("Temperature", value, 0, 2)
        case "top_p":
            return _error_of_number("Top P", value, 0, 1)
        case "max_output_tokens":
            return _error_of_integer("The maximum output", value, 1, MAX_OUTPUT)
        case "seed":
            return _error_of_integer("The seed", value, -MAX_SEED - 1, MAX_SEED)
        case "top_logprobs":
            return _error_of_integer(
                "The number of alternatives per token", value, 0, MAX_TOP_LOGPROBS
            )
        case "reasoning_effort":
            is_known = isinstance(value, str) and value in EFFORTS
            return "" if is_known else f"Reasoning effort must be one of {', '.join(EFFORTS)}."
        case "logprobs" | "web_search":
            is_known = isinstance(value, bool)
            return "" if is_known else f"{PARAMETER_NAMES[name]} must be on or off."
        case "stop":
            return _error_of_stop(value)
        case "response_format":
            return _error_of_format(value)
        case "extra":
            return _error_of_extra(value)
    return ""


def as_request(
    parameters: Mapping[str, object],
    spelling: Spelling = COMMON_SPELLING,
    refused: Collection[str] = (),
) -> dict[str, object]:
    """Return the fields of a request for checked parameters, without fields that were refused."""
    fields: dict[str, object] = {}
    for name, value in parameters.items():
        match name:
            case "extra":
                continue
            case "max_output_tokens":
                taken = [field for field in spelling.output if field not in refused]
                fields |= dict.fromkeys(taken[:1], value)
            case "reasoning_effort" if value == NO_REASONING and spelling.no_effort:
                fields |= spelling.no_effort
            case "reasoning_effort":
                outer, *inner = spelling.effort
                fields[outer] = {inner[0]: value} if inner else value
            case "seed":
                fields[spelling.seed] = value
            case "response_format":
                fields[name] = _format_field(value)
            case "web_search":
                fields |= spelling.web_search if value else {}
            case _:
                fields[name] = value
    extra = parameters.get("extra")
    if isinstance(extra, Mapping):
        fields = merge_fields(extra, fields)
    return {name: value for name, value in fields.items() if name not in refused}


def merge_fields(others: Mapping[str, object], fields: Mapping[str, object]) -> dict[str, object]:
    """Add fields to others; objects and lists that both have are merged."""
    result = dict(others)
    for name, value in fields.items():
        match result.get(name), value:
            case Mapping() as other, Mapping():
                result[name] = {**other, **value}
            case list() as others_of_list, list():
                result[name] = [*others_of_list, *value]
            case _:
                result[name] = value
    return result


def output_limit_in(fields: Mapping[str, object]) -> int | None:
    """Return the maximum output that the fields of a request name."""
    limits = (fields.get(name) for name in FIELDS["max_output_tokens"])
    return next((limit for limit in limits if type(limit) is int and limit > 0), None)


def get_parameter(field: str) -> str:
    """Return the parameter that becomes this field of a request: it, or else a name in `extra`."""
    return _PARAMETER_BY_FIELD.get(field, field)


def find_parameter_names(fields: Iterable[str], parameters: Mapping[str, object]) -> list[str]:
    """Return the names of the parameters that became these fields, without others' fields."""
    extra = parameters.get("extra")
    own = extra if isinstance(extra, Mapping) else {}
    names = (
        get_parameter(field) if get_parameter(field) in parameters else field for field in fields
    )
    return list(dict.fromkeys(name for name in names if name in parameters or name in own))


def format_value(name: str, parameters: Mapping[str, object]) -> str:
    """Return the value of a parameter, or of a name in `extra`, in a few characters."""
    extra = parameters.get("extra")
    value = parameters.get(name, extra.get(name) if isinstance(extra, Mapping) else None)
    if name == "response_format" and isinstance(value, Mapping):
        value = value.get("type")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_QUOTED_LENGTH else text[: MAX_QUOTED_LENGTH - 1] + "…"


def remove_parameters(parameters: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    """Leave out parameters, by their names or by names in `extra`."""
    dropped = set(names)
    if not dropped:
        return dict(parameters)
    if "logprobs" in dropped:
        dropped.add("top_logprobs")
    remaining = {name: value for name, value in parameters.items() if name not in dropped}
    extra = remaining.get("extra")
    if isinstance(extra, Mapping):
        remaining["extra"] = {name: value for name, value in extra.items() if name not in dropped}
    return {name: value for name, value in remaining.items() if _is_set(value)}


def _is_set(value: object) -> bool:
    return value is not None and value != "" and value != [] and value != {}


def _error_of_number(label: str, value: object, minimum: int, maximum: int) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and minimum <= value <= maximum:  # type: ignore[operator]
        return ""
    return f"{label} must be a number from {minimum} to {maximum}."


def _error_of_integer(label: str, value: object, minimum: int, maximum: int) -> str:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if is_integer and minimum <= value <= maximum:  # type: ignore[operator]
        return ""
    return f"{label} must be a whole number from {minimum:,} to {maximum:,}."


def _error_of_stop(value: object) -> str:
    if not isinstance(value, list) or not all(
        isinstance(sequence, str) and sequence for sequence in value
    ):
        return "Stop sequences must be texts."
    if len(value) > MAX_STOPS:
        return f"There can be {MAX_STOPS} stop sequences at most."
    if any(len(sequence) > MAX_STOP_LENGTH for sequence in value):
        return f"A stop sequence can have {MAX_STOP_LENGTH} characters at most."
    return _error_of_json("Stop sequences", value)


def _error_of_format(value: object) -> str:
    if not isinstance(value, Mapping) or value.get("type") not in FORMATS:
        return f"The response format must be one of {', '.join(FORMATS)}."
    is_schema = value["type"] == "json_schema"
    if set(value) - ({"type", "schema", "strict"} if is_schema else {"type"}):
        return "The response format has fields that this app doesn't know."
    if not is_schema:
        return ""
    if not isinstance(value.get("schema"), Mapping) or not value["schema"]:
        return 'The schema must be a JSON object, for example {"type": "object"}.'
    if not isinstance(value.get("strict", False), bool):
        return "Strict must be on or off."
    return _error_of_json("The schema", value["schema"])


def _error_of_extra(value: object) -> str:
    if not isinstance(value, Mapping):
        return 'Other parameters must be a JSON object, for example {"top_k": 20}.'
    if error := _error_of_json("The JSON of other parameters", value):
        return error
    for name in value:
        if plain_name(name) in _FORBIDDEN:
            return f"A chat can't set “{name}”. Remove it."
        if plain_name(name) in _RESERVED_NAMES:
            return f"“{name}” has a field of its own. Set it there."
        if not 0 < len(name) <= MAX_EXTRA_NAME or not name.isprintable() or len(name.split()) != 1:
            return f"The name of a parameter has 1 to {MAX_EXTRA_NAME} characters without spaces."
    return ""


def _error_of_json(label: str, value: object) -> str:
    """Say what is wrong with JSON that databases and upstreams have to take."""
    if not _is_shallow(value, MAX_DEPTH):
        return f"{label} can be nested {MAX_DEPTH} levels deep at most."
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, TypeError):  # NaN, lone surrogates, or numbers with thousands of digits
        return f"{label} can't be sent as JSON. Check its numbers and characters."
    if len(text) > MAX_JSON:
        return f"{label} can have {MAX_JSON:,} characters at most."
    has_nul = r"\u0000" in text.replace(r"\\", "")  # which PostgreSQL can't store
    return f"{label} can't contain the character U+0000." if has_nul else ""


def _is_shallow(value: object, depth: int) -> bool:
    match value:
        case Mapping():
            return depth > 0 and all(_is_shallow(member, depth - 1) for member in value.values())
        case list():
            return depth > 0 and all(_is_shallow(member, depth - 1) for member in value)
    return True


def _format_field(value: object) -> object:
    if not isinstance(value, Mapping) or value.get("type") != "json_schema":
        return value
    schema = value["schema"]
    title = schema.get("title")
    # https://platform.openai.com/docs/api-reference/chat/create: letters, digits, _ and -, up to 64
    is_name = isinstance(title, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", title)
    described = {"name": title if is_name else "answer", "schema": schema}
    if "strict" in value:
        described["strict"] = value["strict"]
    return {"type": "json_schema", "json_schema": described}
