"""Reads the prompts and replies of Gemini in Google Takeout's My Activity, as JSON.

Known are exports from 2024 to the autumn of 2026. The activity has no chats, so each prompt becomes
one. A prompt is the title, after an English verb or in another language as it is; its reply is
HTML. Records of the same form are written by other products of Google.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from chatapp.documents import Limits
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.formats.text.html import to_markdown
from chatapp.transfer.formats.parts import Export, Unusable, build_file, chat
from chatapp.transfer.records import Format, SourceChat, SourceFile
from chatapp.transfer.tree import Kind, Node, Text
from chatapp.transfer.values import as_list, line, mapping, moment, text

SINGLE_PROMPTS = (
    "Gemini's activity has single prompts and no chats, so each prompt is a chat of its own."
)
NOT_EXPORTED = "Gemini's activity does not contain this file."
NO_PROMPT = "It is an activity in Gemini without a prompt."
_NAMES = ("gemini", "bard")
_PROMPTED = (
    *("Prompted with: ", "Asked Gemini: ", "Asked Bard: ", "Prompted ", "Asked ", "Said "),
    *("Branched ", "Answered "),
)
# What people did besides prompting.
_DONE = (
    *("Created ", "Used ", "Added ", "Gave ", "Selected ", "Shared ", "Deleted ", "Viewed "),
    *("Visited ", "Searched ", "Edited ", "Pinned ", "Renamed ", "Exported ", "Updated "),
)
_ATTACHED = re.compile(r"(?<!\s)\s*+Attached \d+ files?\.?\s*\Z")


def is_chat(value: dict[str, Any]) -> bool:
    """Whether it is an activity in Gemini; products have their names in all languages."""
    labels = [value.get("header"), *as_list(value.get("products"))]
    is_gemini = any(name in line(label).lower() for label in labels for name in _NAMES)
    return is_gemini and isinstance(value.get("title"), str) and "time" in value


def read_chat(value: dict[str, Any], export: Export) -> SourceChat:
    left_out: Counter[str] = Counter()
    title = text(value.get("title")).strip()
    pages = [_read_html(reply_item) for reply_item in as_list(value.get("safeHtmlItem"))]
    reply = "\n\n".join(filter(None, (_render_markdown(page) for page in pages if page.strip())))
    prompt = _prompt_in(title, has_reply=bool(reply))
    if not prompt:
        raise Unusable(NO_PROMPT)
    at = moment(value.get("time"), left_out)
    left_out["sound"] += len(as_list(value.get("audioFiles")))
    nodes = [Node("prompt", None, Kind.PROMPT, [Text(prompt)], at)]
    nodes[0].files = list(_files(value, export))
    if reply:
        nodes.append(Node("reply", "prompt", Kind.REPLY, [Text(reply)], at))
    return chat(
        Format.GEMINI,
        value,
        nodes,
        left_out,
        source_id=f"{line(value.get('time'), 60)} {title}",
        title=line(prompt, 60),
        current=nodes[-1].id,
        created_at=at,
        updated_at=at,
    )


def _render_markdown(page: str) -> str:
    """Return the text of a reply, in which pictures are only named."""
    return to_markdown(page, IllustratedPages(Limits()), lambda _: None)


def _read_html(item: object) -> str:
    return text(mapping(item).get("html")) or text(mapping(item).get("htmlValue"))


def _prompt_in(title: str, *, has_reply: bool) -> str:
    """Return the prompt in a title; "" if it tells of something else that was done."""
    if title.startswith(_DONE) and not has_reply:
        return ""
    verb = next(filter(title.startswith, _PROMPTED), "")
    return _ATTACHED.sub("", title.removeprefix(verb)).strip() if verb or has_reply else ""


def _files(value: dict[str, Any], export: Export) -> Iterator[SourceFile]:
    names = [value.get("imageFile"), *as_list(value.get("attachedFiles"))]
    for name in dict.fromkeys(filter(None, map(text, names))):
        archived_file = export.files(name)
        yield archived_file or build_file(name, missing=NOT_EXPORTED)
