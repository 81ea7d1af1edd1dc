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


def parsed_json(data: bytes) -> Any:
    """Return what the file has. Raises `ValueError`."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError from None


def entries_of(name: str, parsed: object) -> list[Any] | None:
    """Return the list in an export; None if this is none."""
    if not isinstance(parsed, dict) or parsed.get("format", format_of(name)) != format_of(name):
        return None
    entries = parsed.get(name)
    return entries if isinstance(entries, list) else None


def storable(value: object) -> str:
    """Return a text without what a database cannot store: NUL and unpaired surrogates."""
    text = value if isinstance(value, str) else ""
    return text.replace("\0", "").encode(errors="replace").decode()
