"""Reads chats of a backup of Chatbox, which is one JSON object.

Known are backups of 2024 to 2026. Seen in chatboxai/chatbox: src/shared/types/session.ts and
src/renderer/storage. A session has its messages, earlier threads, which become chats of their own,
and other versions of what followed a message (`messageForksHash`). Settings, which contain keys,
are not read.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from chatapp.transfer.formats.parts import (
    DAMAGED_MESSAGE,
    MADE_UP,
    NO_ROLE,
    Export,
    as_json,
    build_file,
    chat,
    unknown_part,
)
from chatapp.transfer.records import Format, RunState, SourceChat
from chatapp.transfer.tree import Kind, Node, Part, Reasoning, Text, ToolCall, ToolResult
from chatapp.transfer.values import as_list, identifier, line, mapping, moment, text
from chatapp.upstream.wire.reply import Ending

NOT_EXPORTED = "Chatbox's backup does not contain this file."
SESSION = "session:"  # how the keys of sessions begin
OLD_SESSIONS = "chat-sessions"
CHAT = "chatbox session"  # the key of a chat that was taken out of a backup


def take_chats(backup: dict[str, Any]) -> list[object]:
    """Take the sessions and their threads out of a backup. Returns nothing if it is not one."""
    sessions = [backup.pop(key) for key in list(backup) if key.startswith(SESSION)]
    if isinstance(backup.get(OLD_SESSIONS), list):
        sessions += backup.pop(OLD_SESSIONS)
    return [{CHAT: chat} for session in sessions for chat in [session, *_threads(session)]]


def _threads(session: object) -> Iterator[object]:
    about = mapping(session)
    for thread in as_list(about.get("threads")):
        yield {"messageForksHash": about.get("messageForksHash"), **mapping(thread)}


def is_chat(value: dict[str, Any]) -> bool:
    return isinstance(mapping(value.get(CHAT)).get("messages"), list)


def read_chat(value: dict[str, Any], export: Export) -> SourceChat:
    left_out: Counter[str] = Counter()
    instructions: list[str] = []
    about = mapping(value.get(CHAT))
    shown_nodes = list(_chain(about.get("messages"), None, "", instructions, left_out))
    nodes = [
        *shown_nodes,
        *_forks(about, {node.id for node in shown_nodes}, instructions, left_out),
    ]
    return chat(
        Format.CHATBOX,
        about,
        nodes,
        left_out,
        source_id=about.get("id"),
        title=about.get("name"),
        current=shown_nodes[-1].id if shown_nodes else "",
        created_at=moment(about.get("createdAt"), left_out),
        updated_at=None,
        is_pinned=about.get("starred") is True,
        system_prompt="\n\n".join(dict.fromkeys(instructions)),
    )


def _forks(
    about: dict[str, Any], shown_ids: set[str], instructions: list[str], left_out: Counter[str]
) -> Iterator[Node]:
    """Yield the messages of versions that are not shown; those that are have an empty list."""
    for after, fork in mapping(about.get("messageForksHash")).items():
        for number, version in enumerate(as_list(mapping(fork).get("lists"))):
            if identifier(after) in shown_ids:
                messages = mapping(version).get("messages")
                place = f"{identifier(after)}:{number}:"
                yield from _chain(messages, identifier(after), place, instructions, left_out)


def _chain(
    messages: object,
    before: str | None,
    place: str,
    instructions: list[str],
    left_out: Counter[str],
) -> Iterator[Node]:
    for number, message in enumerate(map(mapping, as_list(messages))):
        node = Node(
            identifier(message.get("id")) or f"{MADE_UP}{place}{number}", before, Kind.HIDDEN
        )
        _fill(node, message, instructions, left_out)
        before = node.id
        yield node


def _fill(
    node: Node, message: dict[str, Any], instructions: list[str], left_out: Counter[str]
) -> None:
    node.at = moment(message.get("timestamp"), left_out)
    parts = list(_parts(node, message, left_out))
    match message.get("role"):
        case "system":
            instruction = "\n\n".join(part.text for part in parts if isinstance(part, Text))
            instructions += [instruction] if instruction.strip() else []
        case "user":
            node.kind, node.parts = Kind.PROMPT, parts
        case "assistant" | "tool":
            node.kind, node.parts = Kind.REPLY, parts
            node.model = line(message.get("model"), 200)
            if error := text(message.get("error")):
                node.ending, node.error = Ending.FAILED, error
        case _:
            node.damage = NO_ROLE if message else DAMAGED_MESSAGE
    for file in map(mapping, as_list(message.get("files")) + as_list(message.get("pictures"))):
        node.files.append(build_file(file.get("name") or "image", missing=NOT_EXPORTED))


def _parts(node: Node, message: dict[str, Any], left_out: Counter[str]) -> Iterator[Part]:
    yield Reasoning(text(message.get("reasoningContent")))
    parts = as_list(message.get("contentParts"))
    if not parts:
        yield Text(text(message.get("content")))
    for part in map(mapping, parts):
        kind = line(part.get("type"), 40)
        match kind:
            case "text" | "info":
                yield Text(text(part.get("text")))
            case "reasoning":
                yield Reasoning(text(part.get("text")))
            case "image":
                node.files.append(build_file("image", missing=NOT_EXPORTED))
            case "tool-call":
                name, id = line(part.get("toolName"), 100), identifier(part.get("toolCallId"))
                yield ToolCall(name, as_json(part.get("args")), id)
                if (result := part.get("result")) is not None:
                    state: RunState = "failed" if part.get("state") == "error" else "done"
                    yield ToolResult(as_json(result), name, id, state)
            case _:
                yield Text(unknown_part(kind, part, left_out))
