"""Reads chats of Claude.ai's data export.

Known are exports from 2024 to the autumn of 2026: `conversations.json` as an array, since 2025 with
`parent_message_uuid`, and chats saved from the web page's own requests. Anthropic documents none of
it. Seen in: Sinity/polylogue, withLinda/claude-conversation-exporter,
Superkikim/nexus-ai-chat-importer (issue 65), and public tests of other importers.

Without `parent_message_uuid` a chat has one branch, in the array's order: a prompt and its reply
may have the same time.
"""

import re
from collections import Counter
from collections.abc import Iterator
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
    find_ending,
    link,
    text_of_blocks,
    unknown_part,
)
from chatapp.transfer.records import Format, SourceChat
from chatapp.transfer.tree import Kind, Node, Part, Reasoning, Text, ToolCall, ToolResult
from chatapp.transfer.values import as_list, count, identifier, line, mapping, moment, text

NOT_EXPORTED = "Claude's export does not contain this file."
_KINDS = {
    **dict.fromkeys(("human", "user"), Kind.PROMPT),
    "assistant": Kind.REPLY,
}
ROOT = "00000000-0000-4000-8000-000000000000"  # the parent of first prompts
# What the plain text of a message has in place of tools and artifacts.
_UNSUPPORTED = re.compile(r"```\nThis block is not supported on your current device yet\.\n```\n*")
_SPOKEN = ("voice", "audio")
_IGNORED = frozenset({"token_budget", "flag"})


def is_chat(value: dict[str, Any]) -> bool:
    return isinstance(value.get("chat_messages"), list)


def read_chat(value: dict[str, Any], export: Export) -> SourceChat:
    left_out: Counter[str] = Counter()
    nodes = list(_nodes(value, left_out))
    project = mapping(value.get("project"))
    folder_id = identifier(project.get("uuid") or value.get("project_uuid"))
    return chat(
        Format.CLAUDE,
        value,
        nodes,
        left_out,
        source_id=value.get("uuid"),
        title=value.get("name"),
        current=value.get("current_leaf_message_uuid") or (nodes[-1].id if nodes else ""),
        created_at=moment(value.get("created_at"), left_out),
        updated_at=moment(value.get("updated_at"), left_out),
        is_pinned=value.get("is_starred") is True,
        folder_id=folder_id,
        folder=line(project.get("name")) or export.folders.get(folder_id, ""),
    )


def _nodes(value: dict[str, Any], left_out: Counter[str]) -> Iterator[Node]:
    messages = as_list(value.get("chat_messages"))
    known_ids = {identifier(mapping(message).get("uuid")) for message in messages}
    is_tree = any(_parent(message) in known_ids for message in messages)
    roots = {ROOT, ""} | ({_parent(messages[0])} - known_ids if messages else set())
    before: str | None = None
    for index, entry in enumerate(messages):
        message = mapping(entry)
        kind = _KINDS.get(text(message.get("sender")))
        node = Node(identifier(message.get("uuid")) or f"{MADE_UP}{index}", before, Kind.HIDDEN)
        if is_tree and "parent_message_uuid" in message:
            parent = _parent(message)
            node.parent = None if parent in roots else parent  # the tree counts what is missing
        if kind is None:
            node.damage = NO_ROLE if message else DAMAGED_MESSAGE
        else:
            node.kind = kind
            node.model = line(message.get("model") or value.get("model"), 200)
            _fill(node, message, left_out)
        before = node.id
        yield node


def _parent(message: object) -> str:
    return identifier(mapping(message).get("parent_message_uuid"))


def _fill(node: Node, message: dict[str, Any], left_out: Counter[str]) -> None:
    node.at = moment(message.get("created_at"), left_out)
    node.ending = find_ending(message.get("stop_reason"))
    blocks = message.get("content")
    for block in blocks if isinstance(blocks, list) else [blocks]:
        node.parts += _parts(node, block, left_out)
    if not any(isinstance(part, Text) for part in node.parts):
        written = text(message.get("text")) or text(message.get("transcript"))
        answer_text, unsupported = _UNSUPPORTED.subn("", written)
        if not node.parts:
            left_out["part that Claude's export does not contain"] += unsupported
        if answer_text.strip():
            node.parts.append(Text(answer_text.strip("\n") if unsupported else answer_text))
    for attachment in map(mapping, as_list(message.get("attachments"))):
        extracted = text(attachment.get("extracted_content"))
        size, content = (
            count(attachment.get("file_size")),
            DataContent(extracted) if extracted else None,
        )
        name, media_type = (
            attachment.get("file_name"),
            "text/plain" if extracted else attachment.get("file_type"),
        )
        node.files.append(
            build_file(name, media_type, size=size, content=content, missing=NOT_EXPORTED)
        )
    for attachment in map(mapping, as_list(message.get("files_v2") or message.get("files"))):
        node.files.append(build_file(attachment.get("file_name"), missing=NOT_EXPORTED))


def _parts(node: Node, value: object, left_out: Counter[str]) -> list[Part]:
    block = mapping(value)
    kind = line(block.get("type"), 40)
    match kind:
        case "thinking":
            return [Reasoning(_thinking(block))]
        case "tool_use":
            name = line(block.get("name"), 100)
            return [ToolCall(name, as_json(block.get("input")), identifier(block.get("id")))]
        case "tool_result":
            return [_result(node, block, left_out)]
        case _ if any(spoken_kind in kind for spoken_kind in _SPOKEN) and (
            part_text := _transcript(block)
        ):
            return [Text(part_text)]
    for citation in map(mapping, as_list(block.get("citations"))):
        about = mapping(citation.get("details")) | citation
        node.sources += link(about.get("url"), about.get("title"), left_out)
    part_text = text(value) or text(block.get("text"))
    if kind not in ("", "text") and kind not in _IGNORED and not part_text:
        return [Text(unknown_part(kind, block, left_out))]
    return [Text(part_text)] if part_text else []


def _transcript(block: dict[str, Any]) -> str:
    """Return the text of what was spoken."""
    names = ("text", "transcript", "transcription", "content")
    title = line(block.get("title"))
    spoken_text = next(filter(str.strip, (text_of_blocks(block.get(name)) for name in names)), "")
    return f"**{title}**\n\n{spoken_text}" if title and spoken_text else spoken_text


def _thinking(block: dict[str, Any]) -> str:
    """Return the thoughts; of hidden ones, the summaries."""
    summaries = (
        text(mapping(summary).get("summary")) for summary in as_list(block.get("summaries"))
    )
    return text(block.get("thinking")) or "\n\n".join(filter(None, summaries))


def _result(node: Node, block: dict[str, Any], left_out: Counter[str]) -> ToolResult:
    content = block.get("content")
    for page in map(mapping, as_list(content)):
        node.sources += link(page.get("url"), page.get("title"), left_out)
    return ToolResult(
        text_of_blocks(content),
        line(block.get("name"), 100),
        identifier(block.get("tool_use_id")),
        "failed" if block.get("is_error") is True else "done",
    )
