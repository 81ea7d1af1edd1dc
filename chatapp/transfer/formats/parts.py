"""Common parts of the readers of all formats: the rest of an export, and similar elements."""

import binascii
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import Any, BinaryIO
from urllib.parse import unquote_to_bytes

from chatapp.text.file_names import clean_file_name
from chatapp.transfer.records import (
    DamagedMessage,
    FileContent,
    Format,
    SourceChat,
    SourceFeedback,
    SourceFile,
    SourceMessage,
)
from chatapp.transfer.tree import Node, Tree, build_tree
from chatapp.transfer.values import MAX_LINE, as_list, identifier, line, mapping, text
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.sources import Source, parse_source

MAX_UNKNOWN = 20_000  # characters of a part that is kept as JSON
MAX_LINKS = 1_000  # of one message
UNTITLED = "Untitled chat"
DAMAGED_MESSAGE = "A message is damaged, so it is left out."
NO_ROLE = "A message doesn't say who wrote it, so it is left out."
NO_MESSAGES = "It has no messages."
ALL_DAMAGED = "All of its messages are damaged."
MADE_UP = "message:"  # how the ids of messages begin that have none of their own
MAX_DAMAGED = 100  # messages of a chat that are named

# Why a reply ended, by the words of several apps and gateways.
_ENDINGS: Mapping[str, Ending] = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens"), Ending.LENGTH),
    **dict.fromkeys(("content_filter", "safety"), Ending.CONTENT_FILTER),
    "refusal": Ending.REFUSED,
    **dict.fromkeys(("interrupted", "user_canceled", "incomplete", "cancelled"), Ending.STOPPED),
    **dict.fromkeys(("error", "failed"), Ending.FAILED),
}
_BACKTICKS = re.compile("`+")


class Unusable(ValueError):
    """Raised for JSON that has no chat to import. The message is a sentence."""


@dataclass(slots=True)
class Export:
    """The content of an export besides the chats."""

    files: Callable[[str], SourceFile | None] = lambda _: None  # a file in the archive by its id
    feedback: Mapping[str, SourceFeedback] = field(default_factory=dict)  # by message
    folders: Mapping[str, str] = field(default_factory=dict)  # names of folders and projects
    notes: tuple[str, ...] = ()  # sentences about what is not imported


@dataclass(frozen=True, slots=True)
class DataContent:
    """The content of a file that is written into the JSON: a data URL, or text."""

    text: str

    def open(self) -> BinaryIO:
        """Open the bytes; there are none if they are damaged."""
        if not is_data_url(self.text):
            return io.BytesIO(self.text.encode())
        head, _, encoded = self.text.partition(",")
        if not head.lower().endswith(";base64"):
            return io.BytesIO(unquote_to_bytes(encoded))
        try:
            return io.BytesIO(binascii.a2b_base64(encoded))
        except binascii.Error:
            return io.BytesIO()


def is_data_url(url: str) -> bool:
    return url[:5].lower() == "data:"


def build_file(
    name: object,
    media_type: object = "",
    *,
    size: int | None = None,
    content: FileContent | None = None,
    missing: str = "",
    **others: Any,
) -> SourceFile:
    file_name = clean_file_name(text(name))
    reason = "" if content else missing
    return SourceFile(file_name, line(media_type, 100), size, content, reason, **others)


def file_of_url(url: str, name: object, missing: str) -> SourceFile:
    """Return the file that a data URL contains; a missing one for any other URL."""
    if not is_data_url(url):
        return build_file(name, missing=missing)
    media_type = url[5:].partition(",")[0].partition(";")[0]
    return build_file(name, media_type, content=DataContent(url))


def chat(
    source: Format,
    value: Mapping[str, Any],
    nodes: list[Node],
    left_out: Counter[str],
    *,
    source_id: object,
    title: object,
    current: object,
    created_at: datetime | None,
    updated_at: datetime | None,
    notes: Iterable[str] = (),
    **others: Any,
) -> SourceChat:
    """Build the chat of these nodes. Raises `Unusable` if there is nothing in them."""
    tree = build_tree(nodes, identifier(current), left_out)
    if not any(message.rounds != _NOTHING or message.files for message in tree.messages):
        raise Unusable(ALL_DAMAGED if any(node.damage for node in nodes) else NO_MESSAGES)
    left_out["damaged message"] += len([node for node in nodes if node.damage][MAX_DAMAGED:])
    times = [message.created_at for message in tree.messages if message.created_at]
    return SourceChat(
        source=source,
        source_id=identifier(source_id) or _made_up_id(value, tree),
        title=line(title) or _build_title(tree),
        messages=tuple(tree.messages),
        active_leaf=tree.active_leaf,
        created_at=created_at or min(times, default=None),
        updated_at=updated_at or max(times, default=created_at),
        left_out={kind: count for kind, count in left_out.items() if count},
        damaged=_damaged_messages(nodes),
        notes=tuple(dict.fromkeys([*notes, *tree.notes])),
        **others,
    )


_NOTHING = SourceMessage(source_id="", parent=None, role="user").rounds


def _damaged_messages(nodes: list[Node]) -> tuple[DamagedMessage, ...]:
    """Return the first messages that can't be read, by their ids or else their numbers."""
    damaged = ((number, node) for number, node in enumerate(nodes, 1) if node.damage)
    return tuple(
        DamagedMessage(node.damage, f"message {number if node.id.startswith(MADE_UP) else node.id}")
        for number, node in islice(damaged, MAX_DAMAGED)
    )


def _made_up_id(value: Mapping[str, Any], tree: Tree) -> str:
    """Return an id that a later export of the same chat gives, too."""
    first = tree.messages[0]
    identity = f"{line(value.get('title'))}|{first.created_at}|{first.source_id}|{first.content}"
    return f"sha256:{sha256(identity.encode()).hexdigest()}"


def _build_title(tree: Tree) -> str:
    first = next((message.content for message in tree.messages if message.content.strip()), "")
    return line(first, 60) or UNTITLED


def find_ending(word: object) -> Ending:
    """Return the ending that a word such as `finish_reason` means; complete if none is known."""
    return _ENDINGS.get(text(word).lower(), Ending.COMPLETE)


def read_feedback(
    rating: object, note: object, given_at: datetime | None = None
) -> SourceFeedback | None:
    """Return the feedback for 1, -1, `thumbsUp`, `thumbs_down` and the like, or None."""
    word = str(rating).lower().replace("_", "") if isinstance(rating, str | int) else ""
    ups, downs = ("1", "up", "thumbsup", "good"), ("-1", "down", "thumbsdown", "bad")
    if word not in ups + downs:
        return None
    return SourceFeedback("up" if word in ups else "down", text(note)[:1000], given_at)


def link(url: object, title: object, left_out: Counter[str]) -> list[Source]:
    """Return a source, or nothing if its link is not safe to show."""
    if not url:
        return []
    source = parse_source(text(url), line(title, MAX_LINE))
    if source is None:
        left_out["source"] += 1
    return [source] if source else []


def fence_code(code: str, language: str = "") -> str:
    """Return code as a block of Markdown."""
    longest = max(map(len, _BACKTICKS.findall(code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def as_json(value: object) -> str:
    """Return tool arguments or the like as text: texts as they are, other values as JSON."""
    if isinstance(value, str):
        return text(value)
    if value is None:
        return ""
    try:
        return text(json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError):
        return ""


def unknown_part(kind: str, value: object, left_out: Counter[str]) -> str:
    """Return a part of a kind that nobody knows here as a block of JSON, and count it."""
    left_out[f"unknown part ({kind})" if kind else "unknown part"] += 1
    try:
        as_text = text(json.dumps(value, ensure_ascii=False, indent=1))
    except (ValueError, RecursionError):
        return ""
    return fence_code(as_text[:MAX_UNKNOWN], "json")


def text_of_blocks(value: object) -> str:
    """Return the text of a tool's result: a text, or a list of blocks with texts."""
    if isinstance(value, str | None):
        return text(value)
    blocks = as_list(value) or [value]
    texts = [text(mapping(block).get("text")) or text(block) for block in blocks]
    return "\n\n".join(filter(None, texts)) or as_json(value)
