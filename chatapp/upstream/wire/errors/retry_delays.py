"""Read the delay before retrying a rate-limited request, in seconds, from its headers or body."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_DEPTH = 6  # levels of nesting to search
_WIDTH = 50  # members of each object to search
_MESSAGE_LENGTH = 2000  # characters to search
_NAMES = frozenset({"retrydelay", "retryafter", "retryafterseconds", "retryafterms"})
_NUMBER = re.compile(r"\d{1,12}(\.\d+)?", re.ASCII)
_DURATION = re.compile(
    r"(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,9}(?:\.\d+)?)(ms|s))?", re.ASCII
)
# "Please try again in 6m0.5s", "Retry after 20 seconds", "please wait 1 minute"
_SENTENCE = re.compile(
    r"(?:try again|retry|wait)(?: again| in| after| for| about){0,2} "
    r"((?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?) ?(ms|s\b|sec|m\b|min)",
    re.ASCII | re.IGNORECASE,
)
_UNITS = {"sec": "s", "min": "m"}


def delay_of_headers(headers: Mapping[str, str], now: datetime) -> float | None:
    """Read `Retry-After`, or Azure's `retry-after-ms`. `headers` must ignore case."""
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    return retry_after_seconds(headers.get("retry-after", ""), now)


def retry_after_seconds(value: str, now: datetime) -> float | None:
    """Read a Retry-After header: seconds or an HTTP date (RFC 9110, section 10.2.3)."""
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value.strip(), re.ASCII):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())


def delay_of_body(content: object) -> float | None:
    """Find a delay in the JSON of an error.

    Google gives a `retryDelay` such as "42s" in the details, others `retry_after` in seconds or
    milliseconds. OpenAI and Groq mention it in the message.
    """
    named = _named_delays(content, _DEPTH)
    return next((delay for delay in (*named, *_delays_in_messages(content, _DEPTH))), None)


def _named_delays(content: object, depth: int) -> Iterable[float]:
    for name, value in _members(content):
        plain = name.lower().replace("_", "").replace("-", "")
        if plain in _NAMES:
            delay = _seconds(value, is_ms=plain.endswith("ms"))
            if delay is not None:
                yield delay
        elif depth:
            yield from _named_delays(value, depth - 1)


def _delays_in_messages(content: object, depth: int) -> Iterable[float]:
    if isinstance(content, str) and (match := _SENTENCE.search(content[:_MESSAGE_LENGTH])):
        number, unit = match.groups()
        delay = _seconds(f"{number}{_UNITS.get(unit.lower(), unit.lower())}", is_ms=False)
        if delay is not None:
            yield delay
    elif depth:
        for _, value in _members(content):
            yield from _delays_in_messages(value, depth - 1)


def _members(content: object) -> list[tuple[str, object]]:
    if isinstance(content, dict):
        return [(str(name), value) for name, value in list(content.items())[:_WIDTH]]
    if isinstance(content, list):
        return [("", value) for value in content[:_WIDTH]]
    return []


def _seconds(value: object, *, is_ms: bool) -> float | None:
    """Read a number, or a duration such as "1m2.5s"."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
        return value / 1000 if is_ms else float(value)
    text = value.strip().lower() if isinstance(value, str) else ""
    if _NUMBER.fullmatch(text):
        return float(text) / 1000 if is_ms else float(text)
    match = _DURATION.fullmatch(text)
    if not text or not match:
        return None
    hours, minutes, seconds, unit = match.groups()
    remaining_seconds = float(seconds or 0) / (1000 if unit == "ms" else 1)
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + remaining_seconds
