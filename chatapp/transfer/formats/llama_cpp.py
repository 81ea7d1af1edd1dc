"""Reads chats of the web page of llama.cpp's server, as JSON or JSON Lines.

Known are exports from 2024 to the autumn of 2026. Seen in ggml-org/llama.cpp:
tools/server/webui/src/lib/types/database.d.ts and utils, and issues 19372 and 25911. The root
message is empty, and `currNode` may be empty or name a message that is gone.
"""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from chatapp.transfer.formats.parts import (
    DAMAGED_MESSAGE,
    MADE_UP,
    NO_ROLE,
    DataContent,
    Export,
    as_json,
    build_file,
    chat,
    file_of_url,
    text_of_blocks,
    unknown_part,
)
from chatapp.transfer.records import Format, SourceChat
from chatapp.transfer.tree import Kind, Node, Part, Reasoning, Text, ToolCall, ToolResult
from chatapp.transfer.values import as_list, identifier, line, mapping, moment, text
from chatapp.upstream.wire.reply import Ending

NOT_EXPORTED = "llama.cpp's export does not contain this file."
_ROOT = "root"
_OLD = "conv-"  # how the ids of chats of 2024 begin, which have no branches
_BEGIN_THINKING, _END_THINKING = "<think>", "</think>"
_SOUND = ("audioFile", "AUDIO")


def is_chat(value: dict[str, Any]) -> bool:
    is_old = "lastModified" in value and text(value.get("id")).startswith(_OLD)
    return (isinstance(value.get("conv"), dict) or is_old) and isinstance(
        value.get("messages"), list
    )


def read_chat(value: dict[str, Any], export: Export) -> SourceChat:
    left_out: Counter[str] = Counter()
    instructions: list[str] = []
    about = mapping(value.get("conv")) or value
    messages = [mapping(message) for message in as_list(value.get("messages"))]
    nodes = [
        _node(message, number, instructions, left_out) for number, message in enumerate(messages)
    ]
    if not any("parent" in message for message in messages):
        for before, node in pairwise(nodes):
            node.parent = before.id
    return chat(
        Format.LLAMA_CPP,
        value,
        nodes,
        left_out,
        source_id=about.get("id"),
        title=about.get("name"),
        current=about.get("currNode"),
        created_at=None,
        updated_at=moment(about.get("lastModified"), left_out),
        is_pinned=about.get("pinned") is True,
        system_prompt="\n\n".join(dict.fromkeys(instructions)),
    )


def _node(
    message: dict[str, Any], number: int, instructions: list[str], left_out: Counter[str]
) -> Node:
    parent = identifier(message.get("parent")) or None
    node = Node(identifier(message.get("id")) or f"{MADE_UP}{number}", parent, Kind.HIDDEN)
    if message.get("type") == _ROOT:
        node.parent = None
        return node
    message_text = text_of_blocks(message.get("content"))
    match message.get("role"):
        case "system":
            instructions += [message_text] if message_text.strip() else []
            return node
        case "user":
            node.kind = Kind.PROMPT
            node.parts = [Text(message_text)]
        case "assistant":
            node.kind = Kind.REPLY
            node.parts = list(_parts_of_reply(message, message_text))
            node.model = line(message.get("model"), 200)
        case "tool":
            node.kind = Kind.REPLY
            node.parts = [ToolResult(message_text, "", identifier(message.get("toolCallId")))]
        case _:
            node.damage = NO_ROLE if message else DAMAGED_MESSAGE
            return node
    node.at = moment(message.get("timestamp"), left_out)
    if message.get("type") == "error":
        node.ending, node.error, node.parts = Ending.FAILED, message_text, []
    for extra in as_list(message.get("extra")):
        _attach(node, mapping(extra), left_out)
    return node


def _parts_of_reply(message: dict[str, Any], reply_text: str) -> Iterator[Part]:
    yield Reasoning(text(message.get("reasoningContent")) or text(message.get("thinking")))
    if reply_text.lstrip().startswith(_BEGIN_THINKING) and _END_THINKING in reply_text:
        thoughts, _, reply_text = reply_text.lstrip().partition(_END_THINKING)
        yield Reasoning(thoughts.removeprefix(_BEGIN_THINKING).strip())
    yield Text(reply_text.lstrip("\n"))
    for call in map(mapping, _calls(message.get("toolCalls"))):
        function = mapping(call.get("function")) or call
        name, arguments = line(function.get("name"), 100), as_json(function.get("arguments"))
        yield ToolCall(name, arguments, identifier(call.get("id")))


def _calls(value: object) -> list[Any]:
    """Return the tool calls, which are stored as a text with JSON."""
    try:
        return as_list(json.loads(value) if isinstance(value, str) and value else value)
    except (ValueError, RecursionError):
        return []


def _attach(node: Node, extra: dict[str, Any], left_out: Counter[str]) -> None:
    name, kind = extra.get("name"), line(extra.get("type"), 40)
    if url := text(extra.get("base64Url")):
        node.files.append(file_of_url(url, name, NOT_EXPORTED))
    elif kind in _SOUND or "base64Data" in extra:
        left_out["sound"] += 1
    elif content := text(extra.get("content")):
        node.files.append(build_file(name, "text/plain", content=DataContent(content)))
    elif name:
        node.files.append(build_file(name, missing=NOT_EXPORTED))
    else:
        node.parts.append(Text(unknown_part(kind, extra, left_out)))
