"""Split several JSON objects in a row, where one was expected."""

import json
import re
from typing import Any

_READER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"\s*")


def objects_in(text: str, max_objects: int) -> list[tuple[dict[str, Any], str]]:
    """Return each object with its text.

    Returns an empty list if the text contains anything else, or more than `max_objects` objects.
    """
    objects: list[tuple[dict[str, Any], str]] = []
    position = _after_space(text, 0)
    while position < len(text):
        try:
            value, end = _READER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict) or len(objects) == max_objects:
            return []
        objects.append((value, text[position:end]))
        position = _after_space(text, end)
    return objects


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position
