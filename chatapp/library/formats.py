"""JSON files of prompts and presets.

For example `{"format": "chatapp.prompts", "version": 1, "prompts": [{…}, …]}`.
"""

import json
from collections.abc import Sequence
from typing import Any

VERSION = 1
MAX_SHOWN_LENGTH = 40  # of a name in a sentence


class Unreadable(ValueError):
    """Raised for a file that is not an export. The message is a sentence."""


def export_of(name: str, entries: Sequence[Any]) -> dict[str, Any]:
    return {"format": format_of(name), "version": VERSION, name: entries}


def format_of(name: str) -> str:
    return f"chatapp.{name}"


def entries_in(data: bytes, name: str) -> list[Any]:
    """Return the list in an export, or in a file that is a list. Raises `Unreadable`."""
    try:
        found: Any = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Unreadable(f"This file isn't JSON. Choose an export of {name}.") from None
    if isinstance(found, dict) and found.get("format", format_of(name)) == format_of(name):
        found = found.get(name)
    if not isinstance(found, list):
        raise Unreadable(f"This file has no list of {name}. Choose an export of {name}.")
    return found


def storable(value: object) -> str:
    """Return a text without what a database cannot store: NUL and unpaired surrogates."""
    text = value if isinstance(value, str) else ""
    return text.replace("\0", "").encode(errors="replace").decode()
