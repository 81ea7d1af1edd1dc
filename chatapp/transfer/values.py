"""Reads values of JSON that nobody has checked: a value of another type counts as absent.

All texts that are returned can be stored: without NUL, which PostgreSQL refuses, and without
unpaired surrogates, which UTF-8 cannot encode.
"""

import math
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from chatapp.parameters.values import InvalidParameters, clean_parameters

MAX_LINE = 300  # characters of a title or name
MAX_ID = 100
MAX_DEPTH = 50  # of JSON that is passed on
EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
# Numbers from here on are milliseconds, microseconds and nanoseconds.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
# The names of other apps for parameters that have one here.
_PARAMETERS = {
    "max_tokens": "max_output_tokens",
    "maxOutputTokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    **{name: name for name in ("temperature", "top_p", "stop", "seed", "reasoning_effort")},
}
_EXTRAS = frozenset(
    {
        *("frequency_penalty", "presence_penalty", "repeat_penalty", "top_k", "min_p"),
        *("verbosity", "logit_bias"),
    }
)


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """Return a text; "" if the value isn't one."""
    if not isinstance(value, str):
        return ""
    if value.isascii():
        return value.replace("\0", "") if "\0" in value else value
    try:
        value.encode()
    except UnicodeEncodeError:
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value.replace("\0", "")


def line(value: object, limit: int = MAX_LINE) -> str:
    """Return a text in one line, shortened."""
    return " ".join(text(value)[: 2 * limit].split())[:limit]


def identifier(value: object) -> str:
    """Return a short id; "" if there is none."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return str(value)
    id_text = text(value)
    return id_text if len(id_text) <= MAX_ID else f"sha256:{sha256(id_text.encode()).hexdigest()}"


def number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    return converted if math.isfinite(converted) else None


def count(value: object) -> int | None:
    """Return a number of bytes or the like."""
    amount = number(value)
    return int(amount) if amount is not None and 0 <= amount < 2**53 else None


def moment(value: object, left_out: Counter[str]) -> datetime | None:
    """Read seconds or smaller units since 1970, or ISO 8601. Counts what is not a date."""
    if not value:
        return None
    parsed = _parse_number(value) if number(value) is not None else _parse_text(value)
    if parsed is None or not EARLIEST <= parsed < LATEST:
        left_out["date"] += 1
        return None
    return parsed


def parse_moment(iso: str) -> datetime | None:
    """Return the date in a text that was made of a `moment`; None for ""."""
    return datetime.fromisoformat(iso) if iso else None


def _parse_number(value: object) -> datetime | None:
    seconds = number(value) or 0.0
    unit = next((unit for start, unit in _UNITS if seconds >= start), 1)
    try:
        return datetime.fromtimestamp(seconds / unit, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _parse_text(value: object) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(text(value)[:40])
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def parameters(value: object, left_out: Counter[str]) -> dict[str, object]:
    """Return request parameters by our names. Counts those that are set but not known here."""
    values = mapping(value)
    known_parameters: dict[str, object] = {}
    extra: dict[str, object] = {}
    for name, setting in values.items():
        if setting is None or setting == "" or setting == []:
            continue
        own_name = _PARAMETERS.get(name)
        candidate = {own_name: setting} if own_name else {"extra": {name: setting}}
        if (own_name or name in _EXTRAS) and _is_valid(candidate):
            (known_parameters if own_name else extra)[own_name or name] = storable(setting)
        else:
            left_out["parameter"] += 1
    return known_parameters | ({"extra": extra} if extra else {})


def _is_valid(candidate: Mapping[str, object]) -> bool:
    try:
        return bool(clean_parameters(candidate))
    except InvalidParameters:
        return False


def storable(value: object, depth: int = 0) -> Any:
    """Return JSON with storable texts and finite numbers; what is too deep becomes None."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return value if number(value) is not None and abs(value) < 2**63 else None
    if depth >= MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [storable(child, depth + 1) for child in value]
    return {text(name): storable(child, depth + 1) for name, child in mapping(value).items()}
