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


def build_export(name: str, entries: Sequence[Any]) -> dict[str, Any]:
    return {"format": name_format(name), "version": VERSION, name: entries}


def name_format(name: str) -> str:
    return f"chatapp.{name}"


def entries_in(data: bytes, name: str) -> list[Any]:
    """Return the list in an export, or in a file that is a list. Raises `Unreadable`."""
    try:
        entries: Any = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Unreadable(f"This file isn't JSON. Choose an export of {name}.") from None
    if isinstance(entries, dict) and entries.get("format", name_format(name)) == name_format(name):
        entries = entries.get(name)
    if not isinstance(entries, list):
        raise Unreadable(f"This file has no list of {name}. Choose an export of {name}.")
    return entries


def storable(value: object) -> str:
    """Return a text without what a database cannot store: NUL and unpaired surrogates."""
    text = value if isinstance(value, str) else ""
    return text.replace("\0", "").encode(errors="replace").decode()
