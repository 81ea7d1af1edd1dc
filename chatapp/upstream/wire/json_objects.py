"""JSON objects that stand in a row, where one was expected."""

import json
import re
from typing import Any

_READER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"\s*")


def objects_in(text: str, most: int) -> list[tuple[dict[str, Any], str]]:
    """Return the objects and the text of each.

    None are returned if the text holds anything else, or more than `most`.
    """
    objects: list[tuple[dict[str, Any], str]] = []
    place = _after_space(text, 0)
    while place < len(text):
        try:
            value, end = _READER.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict) or len(objects) == most:
            return []
        objects.append((value, text[place:end]))
        place = _after_space(text, end)
    return objects


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
