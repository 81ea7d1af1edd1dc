"""Kinds of values that parameters have: which values are valid, and what a rule makes of one."""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from chatapp.upstream.wire.requests.dialects import RESERVED_PARAMETERS

FORMATS = {"text": "Text", "json_object": "JSON", "json_schema": "JSON schema"}
MAX_STOPS, MAX_STOP_LENGTH = 4, 200
MAX_JSON = 20_000  # characters of an object, and of a schema
MAX_DEPTH = 20
MAX_NAME = 100  # characters of the name of another parameter
# Set by the app, or they would choose another model or server than the one that was checked.
FORBIDDEN = RESERVED_PARAMETERS | {
    *("n", "best_of", "tools", "tool_choice", "functions", "function_call", "stream_options"),
    *("models", "fallbacks", "route", "model_list", "deployment_id", "custom_llm_provider"),
    *("context_window_fallbacks", "content_policy_fallbacks", "preset", "user_config"),
    *("api_base", "base_url", "api_key", "api_version", "extra_body", "extra_headers", "headers"),
    "extra",
}

Rule = Mapping[str, object]  # see `rules`


class Kind(ABC):
    """A kind of value."""

    description: str  # as in “Temperature must be a number from 0 to 2.”
    allowed_values: Collection[str] = ()  # that a rule can allow; empty if it allows names

    @abstractmethod
    def find_error(self, label: str, value: object) -> str:
        """Return a sentence that says what is wrong with a value, or ""."""

    def limit(self, value: object, rule: Rule) -> object:
        """Return the nearest value that the rule allows, or None."""
        return value


@dataclass(frozen=True)
class Number(Kind):
    """A number within bounds."""

    minimum: int
    maximum: int
    is_whole: bool = False

    @property
    def description(self) -> str:  # type: ignore[override]
        noun = "a whole number" if self.is_whole else "a number"
        return f"{noun} from {self.minimum:,} to {self.maximum:,}"

    def find_error(self, label: str, value: object) -> str:
        is_number = isinstance(value, int if self.is_whole else int | float)
        if (
            is_number and not isinstance(value, bool) and self.minimum <= value <= self.maximum  # type: ignore[operator]
        ):
            return ""
        return f"{label} must be {self.description}."

    def limit(self, value: object, rule: Rule) -> object:
        minimum, maximum = rule.get("min"), rule.get("max")
        if not isinstance(value, int | float):
            return value
        if isinstance(maximum, int | float) and value > maximum:
            return maximum
        return minimum if isinstance(minimum, int | float) and value < minimum else value


@dataclass(frozen=True)
class Choice(Kind):
    """One of several values, from the least to the most, with their names."""

    names: Mapping[str, str]

    @property
    def allowed_values(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.names)

    @property
    def description(self) -> str:  # type: ignore[override]
        return f"one of {', '.join(self.names)}"

    def find_error(self, label: str, value: object) -> str:
        is_known = isinstance(value, str) and value in self.names
        return "" if is_known else f"{label} must be {self.description}."

    def limit(self, value: object, rule: Rule) -> object:
        allowed, values = rule.get("allowed"), self.allowed_values
        if not isinstance(allowed, list):
            return value
        within = [candidate for candidate in values if candidate in allowed]
        position = values.index(str(value))
        below = [candidate for candidate in within if values.index(candidate) <= position]
        return next(iter([*below[::-1], *within]), None)


class Switch(Kind):
    """On or off."""

    description = "on or off"

    def find_error(self, label: str, value: object) -> str:
        return "" if isinstance(value, bool) else f"{label} must be on or off."


class StopSequences(Kind):
    """Texts before which an answer ends."""

    description = f"up to {MAX_STOPS} texts of {MAX_STOP_LENGTH} characters"

    def find_error(self, label: str, value: object) -> str:
        if not isinstance(value, list) or not all(
            isinstance(sequence, str) and sequence for sequence in value
        ):
            return f"{label} must be texts."
        if len(value) > MAX_STOPS:
            return f"There can be {MAX_STOPS} stop sequences at most."
        if any(len(sequence) > MAX_STOP_LENGTH for sequence in value):
            return f"A stop sequence can have {MAX_STOP_LENGTH} characters at most."
        return _find_json_error(label, value)


class ResponseFormat(Kind):
    """The form of an answer: `{"type": "text"}`, `{"type": "json_object"}`, or a schema,
    `{"type": "json_schema", "schema": {…}, "strict": true}`."""

    description = "text, JSON, or a JSON schema"
    allowed_values = tuple(FORMATS)

    def find_error(self, label: str, value: object) -> str:
        if not isinstance(value, Mapping) or value.get("type") not in FORMATS:
            return f"{label} must be one of {', '.join(FORMATS)}."
        is_schema = value["type"] == "json_schema"
        if set(value) - ({"type", "schema", "strict"} if is_schema else {"type"}):
            return f"{label} has fields that this app doesn't know."
        if not is_schema:
            return ""
        if not isinstance(value.get("schema"), Mapping) or not value["schema"]:
            return 'The schema must be a JSON object, for example {"type": "object"}.'
        if not isinstance(value.get("strict", False), bool):
            return "Strict must be on or off."
        return _find_json_error("The schema", value["schema"])

    def limit(self, value: object, rule: Rule) -> object:
        allowed = rule.get("allowed")
        if not isinstance(allowed, list) or not isinstance(value, Mapping):
            return value
        return value if value.get("type") in allowed else None


@dataclass(frozen=True)
class OtherParameters(Kind):
    """Parameters that have no field of their own: `{"top_k": 20}`."""

    reserved_names: Collection[str]  # of those that have one
    description = "a JSON object"

    def find_error(self, label: str, value: object) -> str:
        if not isinstance(value, Mapping):
            return f'{label} must be a JSON object, for example {{"top_k": 20}}.'
        if error := _find_json_error(f"The JSON of {label.lower()}", value):
            return error
        return next(filter(None, map(self.find_name_error, value)), "")

    def limit(self, value: object, rule: Rule) -> object:
        allowed = rule.get("allowed")
        if not isinstance(allowed, list) or not isinstance(value, Mapping):
            return value
        return {name: setting for name, setting in value.items() if name in allowed} or None

    def find_name_error(self, name: str) -> str:
        """Return a sentence that says why a chat can't set a parameter of this name, or ""."""
        if plain_name(name) in _FORBIDDEN_NAMES:
            return f"A chat can't set “{name}”. Remove it."
        if plain_name(name) in map(plain_name, self.reserved_names):
            return f"“{name}” has a field of its own. Set it there."
        if not 0 < len(name) <= MAX_NAME or not name.isprintable() or len(name.split()) != 1:
            return f"The name of a parameter has 1 to {MAX_NAME} characters without spaces."
        return ""


def plain_name(name: str) -> str:
    """Return what names have in common that some server takes for the same, as Go's and Google's
    JSON decoders do: `max_tokens`, `maxTokens` and `Max_Tokens`."""
    return name.lower().replace("_", "").replace("-", "")


_FORBIDDEN_NAMES = frozenset(map(plain_name, FORBIDDEN))


def _find_json_error(label: str, value: object) -> str:
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
    has_nul = r"\u0000" in text.replace(r"\\", "")  # PostgreSQL can't store it
    return f"{label} can't contain the character U+0000." if has_nul else ""


def _is_shallow(value: object, depth: int) -> bool:
    match value:
        case Mapping():
            return depth > 0 and all(_is_shallow(member, depth - 1) for member in value.values())
        case list():
            return depth > 0 and all(_is_shallow(member, depth - 1) for member in value)
    return True
