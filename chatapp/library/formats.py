"""Reads prompts from JSON files: this app's export, and Open WebUI's. Pure.

Ours is `{"format": "chatapp.prompts", "version": 1, "prompts": [{"title", "command", "text"}, …]}`.
Open WebUI's is a list of `{"command": "/name", "title", "content", …}`; newer versions write `name`
for the title, and the command without its slash.
"""

import json
from typing import Any

from chatapp.models.library.prompts import (
    COMMAND,
    MAX_BLANKS,
    MAX_COMMAND_LENGTH,
    MAX_TEXT_LENGTH,
    MAX_TITLE_LENGTH,
)
from chatapp.text.blanks import blanks_of
from chatapp.text.visible import is_blank

FORMAT = "chatapp.prompts"
MAX_BYTES = 5 * 1024 * 1024
MAX_SHOWN_LENGTH = 40  # of a title in a sentence
NOT_JSON = "This file isn't JSON. Choose an export of prompts."
NO_LIST = "This file has no list of prompts. Choose an export of prompts."


class Unreadable(ValueError):
    """Raised for a file that is not an export. The message is a sentence."""


def prompts_in(data: bytes) -> tuple[list[dict[str, str]], list[str]]:
    """Return the contents of the prompts in the file, and why others are left out."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    problems: list[str] = []
    for number, entry in enumerate(_entries(data), 1):
        content = _content(entry)
        if problem := _problem(content):
            title = " ".join(content["title"].split()) or f"number {number}"
            problems.append(f"“{title[:MAX_SHOWN_LENGTH]}” {problem}")
        else:
            found[tuple(content.values())] = content
    return list(found.values()), problems


def _entries(data: bytes) -> list[Any]:
    try:
        parsed: Any = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Unreadable(NOT_JSON) from None
    if isinstance(parsed, dict):
        if parsed.get("format", FORMAT) != FORMAT:
            raise Unreadable(NO_LIST)
        parsed = parsed.get("prompts")
    if not isinstance(parsed, list):
        raise Unreadable(NO_LIST)
    return parsed


def _content(entry: Any) -> dict[str, str]:
    known = entry if isinstance(entry, dict) else {}
    command = _text(known.get("command")).strip().removeprefix("/").lower()
    title = _text(known.get("title")) or _text(known.get("name")) or command
    text = _text(known.get("text")) or _text(known.get("content"))
    is_command = len(command) <= MAX_COMMAND_LENGTH and COMMAND.fullmatch(command)
    return {
        "title": " ".join(title.split()),
        "command": command if is_command else "",
        "text": text.replace("\r\n", "\n").replace("\r", "\n").strip(),
    }


def _text(value: Any) -> str:
    """Return a text without what a database cannot store: NUL and unpaired surrogates."""
    text = value if isinstance(value, str) else ""
    return text.replace("\0", "").encode(errors="replace").decode()


def _problem(content: dict[str, str]) -> str:
    title, text = content["title"], content["text"]
    if is_blank(title):
        return "has no title"
    if len(title) > MAX_TITLE_LENGTH:
        return f"has a title of more than {MAX_TITLE_LENGTH} characters"
    if is_blank(text):
        return "has no text"
    if len(text) > MAX_TEXT_LENGTH:
        return f"has more than {MAX_TEXT_LENGTH:,} characters"
    if len(blanks_of(text)) > MAX_BLANKS:
        return f"has more than {MAX_BLANKS} blanks"
    return ""
