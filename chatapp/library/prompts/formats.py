"""Reads prompts from JSON files: this app's export, and Open WebUI's. Pure.

Ours has an object `{"title", "command", "text"}` for each prompt. Open WebUI's is a list of
`{"command": "/name", "title", "content", …}`; newer versions write `name` for the title, and the
command without its slash.
"""

from typing import Any

from chatapp.library.formats import MAX_SHOWN_LENGTH, Unreadable, entries_in, storable
from chatapp.models.library.prompts import (
    COMMAND,
    MAX_BLANKS,
    MAX_COMMAND_LENGTH,
    MAX_PROMPTS,
    MAX_TEXT_LENGTH,
    MAX_TITLE_LENGTH,
)
from chatapp.text.blanks import has_more_blanks_than
from chatapp.text.visible import is_blank


def prompts_in(data: bytes) -> tuple[list[dict[str, str]], list[str]]:
    """Return the contents of the prompts in the file, and why others are left out.

    Raises `Unreadable`.
    """
    entries = entries_in(data, "prompts")
    if len(entries) > MAX_PROMPTS:
        raise Unreadable(
            f"This file has {len(entries):,} prompts, and you can have {MAX_PROMPTS:,} at most."
        )
    contents: dict[tuple[str, ...], dict[str, str]] = {}
    problems: list[str] = []
    for number, entry in enumerate(entries, 1):
        content = _content(entry)
        if problem := _problem(content):
            title = " ".join(content["title"].split()) or f"number {number}"
            problems.append(f"“{title[:MAX_SHOWN_LENGTH]}” {problem}")
        else:
            contents[tuple(content.values())] = content
    return list(contents.values()), problems


def _content(entry: Any) -> dict[str, str]:
    fields = entry if isinstance(entry, dict) else {}
    command = storable(fields.get("command")).strip().removeprefix("/").lower()
    title = storable(fields.get("title")) or storable(fields.get("name")) or command
    text = storable(fields.get("text")) or storable(fields.get("content"))
    is_command = len(command) <= MAX_COMMAND_LENGTH and COMMAND.fullmatch(command)
    return {
        "title": " ".join(title.split()),
        "command": command if is_command else "",
        "text": text.replace("\r\n", "\n").replace("\r", "\n").strip(),
    }


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
    if has_more_blanks_than(MAX_BLANKS, text):
        return f"has more than {MAX_BLANKS} blanks"
    return ""
