"""Reads chats of our own export, JSON Lines, alone or in an archive that also has the files.

Written by `chatapp/exports/formats/json_lines.py`, described in docs/export-format.md. What other
apps don't have is passed on as `own`, see `own_details`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from chatapp.transfer.formats.own_details import (
    details_of_chat,
    details_of_reply,
    read_parameters,
    seconds,
)
from chatapp.transfer.formats.parts import (
    DAMAGED_MESSAGE,
    MADE_UP,
    NO_ROLE,
    Export,
    Unusable,
    build_file,
    chat,
    link,
    read_feedback,
)
from chatapp.transfer.records import Format, RunState, SourceChat, SourceFile
from chatapp.transfer.tree import Kind, NextRound, Node, Part, Reasoning, Text, ToolCall, ToolResult
from chatapp.transfer.values import as_list, count, identifier, line, mapping, moment, text
from chatapp.upstream.wire.reply import Ending

VERSION = 1
NOT_EXPORTED = (
    "This export was made without files. Export the chat again with its files, or import your"
    " personal archive."
)
NEWER = "It was exported by a newer version of this app. Update this app, then import it again."
EXPIRED = "The file had been deleted by the retention period."
PRESET_KEPT = "Its preset isn't imported. Its instructions and parameters are the chat's own now."
PRESET_MISSING = "Its preset isn't imported, and its instructions aren't in the export."
_STATES: Mapping[str, RunState] = {
    "done": "done",
    "failed": "failed",
    "denied": "denied",
    "cancelled": "cancelled",
}


def is_chat(value: dict[str, Any]) -> bool:
    return "is_temporary" in value and isinstance(value.get("messages"), list)


def read_chat(value: dict[str, Any], export: Export) -> SourceChat:
    if value.get("trashed_at"):
        raise Unusable("It was in the trash.")
    if (version := count(value.get("version"))) and version > VERSION:
        raise Unusable(NEWER)
    left_out: Counter[str] = Counter()
    nodes = [
        _node(mapping(message), index, bool(version), export, left_out)
        for index, message in enumerate(as_list(value.get("messages")))
    ]
    preset = mapping(value.get("preset"))
    chat_settings = _choose_settings(value, preset)
    parameters = read_parameters(chat_settings["parameters"], left_out)
    return chat(
        Format.OWN,
        value,
        nodes,
        left_out,
        source_id=value.get("id"),
        title=value.get("title"),
        current=identifier(value.get("active_leaf")),
        created_at=moment(value.get("created_at"), left_out),
        updated_at=moment(value.get("updated_at"), left_out),
        is_archived=bool(value.get("archived_at")),
        is_pinned=value.get("is_pinned") is True,
        folder=line(value.get("project")),
        system_prompt=text(chat_settings["system_prompt"]),
        parameters=parameters,
        notes=_notes(preset),
        own=details_of_chat(value, parameters, left_out),
    )


def _choose_settings(value: dict[str, Any], preset: dict[str, Any]) -> dict[str, Any]:
    """Return the chat's own system prompt and parameters, or else those of its preset."""
    names = ("system_prompt", "parameters")
    return {name: preset.get(name) if value.get(name) is None else value[name] for name in names}


def _notes(preset: dict[str, Any]) -> list[str]:
    if not preset:
        return []
    return [PRESET_KEPT if "system_prompt" in preset else PRESET_MISSING]


def _node(
    message: dict[str, Any], index: int, has_rounds: bool, export: Export, left_out: Counter[str]
) -> Node:
    node = Node(
        identifier(message.get("id")) or f"{MADE_UP}{index}",
        identifier(message.get("parent")) or None,
        Kind.HIDDEN,
    )
    role = message.get("role")
    if message.get("deleted_at"):
        left_out["deleted message"] += 1
    elif role not in ("user", "assistant"):
        node.damage = NO_ROLE if message else DAMAGED_MESSAGE
    else:
        node.kind = Kind.PROMPT if role == "user" else Kind.REPLY
        _fill(node, message, has_rounds, export, left_out)
        if node.kind is Kind.REPLY:
            node.own = details_of_reply(message)
    return node


def _fill(
    node: Node, message: dict[str, Any], has_rounds: bool, export: Export, left_out: Counter[str]
) -> None:
    node.at = moment(message.get("created_at"), left_out)
    node.is_continuation = message.get("is_continuation") is True
    node.parts = _read_parts(message, has_rounds)
    node.model = line(message.get("model"), 200)
    node.reasoning_seconds = seconds(message.get("reasoning_duration"))
    ending = text(message.get("ending"))
    known_endings = list(Ending)
    node.ending = Ending(ending) if ending in known_endings else Ending.INTERRUPTED
    for pair in as_list(mapping(message.get("extras")).get("sources")):
        url, title = [*as_list(pair), "", ""][:2]
        node.sources += link(url, title, left_out)
    rating = mapping(message.get("feedback"))
    given_at = moment(rating.get("given_at"), left_out)
    node.feedback = read_feedback(rating.get("rating"), rating.get("note"), given_at)
    files = [*as_list(message.get("files")), *as_list(message.get("images"))]
    node.files = [_file(mapping(file), export) for file in files]
    node.error = text(mapping(message.get("error")).get("message"))


def _read_parts(message: dict[str, Any], has_rounds: bool) -> list[Part]:
    rounds = as_list(message.get("rounds"))
    if not rounds and not has_rounds:  # before version 1, which put the rounds together
        reasoning, content = _read_texts(message)
        return [reasoning, *_tool_parts(message), content]
    parts: list[Part] = []
    for entry in rounds or [message]:
        record = mapping(entry)
        parts += [*([NextRound()] if parts else []), *_read_texts(record), *_tool_parts(record)]
    return parts


def _read_texts(record: dict[str, Any]) -> tuple[Reasoning, Text]:
    return Reasoning(text(record.get("reasoning"))), Text(text(record.get("content")))


def _tool_parts(record: dict[str, Any]) -> Iterator[ToolCall | ToolResult]:
    for call in map(mapping, as_list(record.get("tool_calls"))):
        id, name = identifier(call.get("id")), line(call.get("name"), 200)
        yield ToolCall(name, text(call.get("arguments")), id)
        if state := _STATES.get(text(call.get("state"))):
            yield ToolResult(text(call.get("result")), name, id, state)


def _file(record: dict[str, Any], export: Export) -> SourceFile:
    archived_file = export.files(identifier(record.get("id")))
    missing = EXPIRED if record.get("is_expired") is True else NOT_EXPORTED
    return build_file(
        record.get("name") or (archived_file.name if archived_file else "Image"),
        record.get("type"),
        size=count(record.get("size")),
        content=archived_file.content if archived_file else None,
        missing=missing,
        alt=text(record.get("alt")),
        pages=_pages(record.get("pages")),
        is_expired=archived_file is None and record.get("is_expired") is True,
    )


def _pages(value: object) -> tuple[int, int]:
    first, last = [*(count(page) or 0 for page in as_list(value)[:2]), 0, 0][:2]
    return first, last
