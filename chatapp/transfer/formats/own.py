"""Reads chats of our own export, JSON Lines, alone or in an archive that also has the files.

Written by `chatapp/exports/formats/json_lines.py`, described in docs/export-format.md. What other
apps don't have is passed on as `own`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from chatapp.transfer.formats.parts import (
    Export,
    Unusable,
    chat,
    feedback_of,
    file_named,
    link,
)
from chatapp.transfer.records import Format, RunState, SourceChat, SourceFile
from chatapp.transfer.tree import Kind, Node, Reasoning, Text, ToolCall, ToolResult
from chatapp.transfer.values import (
    count,
    identifier,
    line,
    listed,
    mapping,
    moment,
    number,
    storable,
    text,
)
from chatapp.upstream.wire.chat_parameters import InvalidParameters, checked
from chatapp.upstream.wire.reply import Ending

VERSION = 1
NOT_EXPORTED = (
    "This export was made without files. Export the chat again with its files, or import your"
    " personal archive."
)
NEWER = "It was exported by a newer version of this app. Update this app, then import it again."
EXPIRED = "The file had been deleted by the retention period."
_CHAT = ("preset", "left_out", "is_temporary")
_MESSAGE = (
    *("upstream", "finish_reason", "choice", "failed_models", "moderation", "request_settings"),
    *("time_to_first_token", "duration", "extras", "usage"),
)
_STATES: Mapping[str, RunState] = {"done": "done", "failed": "failed", "denied": "denied"}


def is_chat(value: dict[str, Any]) -> bool:
    return "is_temporary" in value and isinstance(value.get("messages"), list)


def chat_of(value: dict[str, Any], export: Export) -> SourceChat:
    if value.get("trashed_at"):
        raise Unusable("It was in the trash.")
    if (version := count(value.get("version"))) and version > VERSION:
        raise Unusable(NEWER)
    left_out: Counter[str] = Counter()
    asked_with = {
        identifier(mapping(one).get("id")): storable(one)
        for one in listed(value.get("request_settings"))
    }
    nodes = [
        _node(mapping(one), index, export, asked_with, left_out)
        for index, one in enumerate(listed(value.get("messages")))
    ]
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
        system_prompt=text(value.get("system_prompt")),
        parameters=_parameters(value.get("parameters"), left_out),
        own={name: storable(value[name]) for name in _CHAT if value.get(name)},
    )


def _parameters(value: object, left_out: Counter[str]) -> dict[str, object]:
    try:
        return checked(storable(mapping(value)))
    except InvalidParameters as invalid:
        left_out["parameter"] += len(invalid.errors)
        return {}


def _node(
    message: dict[str, Any],
    index: int,
    export: Export,
    asked_with: dict[str, Any],
    left_out: Counter[str],
) -> Node:
    node = Node(
        identifier(message.get("id")) or f"message:{index}",
        identifier(message.get("parent")) or None,
        Kind.HIDDEN,
    )
    role = message.get("role")
    if message.get("deleted_at"):
        left_out["deleted message"] += 1
    elif role not in ("user", "assistant"):
        left_out["message without a role" if message else "damaged message"] += 1
    else:
        node.kind = Kind.PROMPT if role == "user" else Kind.REPLY
        _fill(node, message, export, left_out)
        settings = asked_with.get(identifier(message.get("request_settings")))
        node.own = {name: storable(message[name]) for name in _MESSAGE if message.get(name)}
        if settings:
            node.own["request_settings"] = settings
    return node


def _fill(node: Node, message: dict[str, Any], export: Export, left_out: Counter[str]) -> None:
    node.at = moment(message.get("created_at"), left_out)
    node.is_continuation = message.get("is_continuation") is True
    rounds = [mapping(one) for one in listed(message.get("rounds"))]
    if rounds:  # since version 1
        for one in rounds:
            node.parts += [Reasoning(text(one.get("reasoning"))), Text(text(one.get("content")))]
            node.parts += _tool_parts(one)
    else:
        node.parts.append(Reasoning(text(message.get("reasoning"))))
        node.parts += [*_tool_parts(message), Text(text(message.get("content")))]
    node.model = line(message.get("model"), 200)
    node.reasoning_seconds = number(message.get("reasoning_duration"))
    ending = text(message.get("ending"))
    known = list(Ending)
    node.ending = Ending(ending) if ending in known else Ending.INTERRUPTED
    for pair in listed(mapping(message.get("extras")).get("sources")):
        url, title = [*listed(pair), "", ""][:2]
        node.sources += link(url, title, left_out)
    given = mapping(message.get("feedback"))
    given_at = moment(given.get("given_at"), left_out)
    node.feedback = feedback_of(given.get("rating"), given.get("note"), given_at)
    files = [*listed(message.get("files")), *listed(message.get("images"))]
    node.files = [_file(mapping(one), export) for one in files]
    node.error = text(mapping(message.get("error")).get("message"))


def _tool_parts(record: dict[str, Any]) -> Iterator[ToolCall | ToolResult]:
    for call in map(mapping, listed(record.get("tool_calls"))):
        id, name = identifier(call.get("id")), line(call.get("name"), 200)
        yield ToolCall(name, text(call.get("arguments")), id)
        if state := _STATES.get(text(call.get("state"))):
            yield ToolResult(text(call.get("result")), name, id, state)


def _file(record: dict[str, Any], export: Export) -> SourceFile:
    found = export.files(identifier(record.get("id")))
    missing = EXPIRED if record.get("is_expired") is True else NOT_EXPORTED
    return file_named(
        record.get("name") or (found.name if found else "Image"),
        record.get("type"),
        size=count(record.get("size")),
        content=found.content if found else None,
        missing=missing,
        alt=text(record.get("alt")),
    )
