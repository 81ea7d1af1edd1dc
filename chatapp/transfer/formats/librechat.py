"""Reads conversations of LibreChat, which exports each as one JSON object.

Known are exports from 2023 to the autumn of 2026: as a tree (`messagesTree`), as a list of all
branches, or as one branch. Seen in danny-avila/LibreChat:
client/src/hooks/Conversations/useExportConversation.ts, api/server/utils/import (sample exports
and importers.js), packages/data-provider/src/types/agents.ts and assistants.ts (tool calls).

The time of the export has no date and is not used. Files are never in the export.
"""

import re
from collections import Counter
from typing import Any

from chatapp.transfer.formats.parts import (
    DAMAGED_MESSAGE,
    MADE_UP,
    Export,
    as_json,
    build_file,
    chat,
    file_of_url,
    find_ending,
    read_feedback,
    text_of_blocks,
    unknown_part,
)
from chatapp.transfer.records import Format, SourceChat
from chatapp.transfer.tree import Kind, Node, Part, Reasoning, Text, ToolCall, ToolResult
from chatapp.transfer.values import (
    as_list,
    count,
    identifier,
    line,
    mapping,
    moment,
    parameters,
    text,
)
from chatapp.upstream.wire.reply import Ending

NOT_EXPORTED = "LibreChat's export does not contain files."
NO_PARENT = "00000000-0000-0000-0000-000000000000"
SENT = frozenset(
    {
        *("temperature", "top_p", "topP", "topK", "top_k", "presence_penalty", "stop", "seed"),
        *("frequency_penalty", "max_tokens", "maxOutputTokens", "reasoning_effort", "verbosity"),
    }
)
_RENAMED = {"topP": "top_p", "topK": "top_k"}
_THINKING = re.compile(r"\A\s*:::thinking\n(.*?)\n?:::(?:\n|\Z)", re.DOTALL)


def is_chat(value: dict[str, Any]) -> bool:
    has_messages = isinstance(value.get("messagesTree") or value.get("messages"), list | dict)
    return "conversationId" in value and has_messages


def read_chat(value: dict[str, Any], export: Export) -> SourceChat:
    left_out: Counter[str] = Counter()
    options = mapping(value.get("options"))
    nodes = _nodes(value, left_out)
    sent_options = {
        _RENAMED.get(name, name): option for name, option in options.items() if name in SENT
    }
    is_branch = value.get("branches") is not True and "messagesTree" not in value
    return chat(
        Format.LIBRECHAT,
        value,
        nodes,
        left_out,
        source_id=value.get("conversationId"),
        title=value.get("title"),
        current=nodes[-1].id if nodes and is_branch else "",
        created_at=None,
        updated_at=None,
        system_prompt=text(options.get("promptPrefix")) or text(options.get("system")),
        parameters=parameters(sent_options, left_out),
    )


def _nodes(value: dict[str, Any], left_out: Counter[str]) -> list[Node]:
    """Return the nodes of a tree or list. Trees are walked without recursion: they are deep."""
    nodes: list[Node] = []
    messages = value.get("messagesTree") or value.get("messages")
    roots = (
        messages if isinstance(messages, list) else mapping(messages).get("children") or [messages]
    )
    is_branch = value.get("branches") is not True and "messagesTree" not in value
    root_ids = {identifier(mapping(root).get("messageId")) for root in as_list(roots)}
    stack: list[tuple[object, str | None]] = [(root, None) for root in reversed(as_list(roots))]
    while stack:
        entry, above = stack.pop()
        message = mapping(entry)
        node = Node(
            identifier(message.get("messageId")) or f"{MADE_UP}{len(nodes)}", above, Kind.HIDDEN
        )
        parent_id = identifier(message.get("parentMessageId"))
        if above is None and parent_id and parent_id != NO_PARENT:
            node.parent = parent_id
            if is_branch and parent_id not in root_ids:
                node.parent = nodes[-1].id if nodes else None
        _fill(node, message, left_out)
        nodes.append(node)
        stack += [(child, node.id) for child in reversed(as_list(message.get("children")))]
    return nodes


def _fill(node: Node, message: dict[str, Any], left_out: Counter[str]) -> None:
    is_prompt = message.get("isCreatedByUser")
    if not isinstance(is_prompt, bool):
        is_prompt = text(message.get("sender")).lower() == "user"
    if not message:
        node.damage = DAMAGED_MESSAGE
        return
    node.kind = Kind.PROMPT if is_prompt else Kind.REPLY
    node.at = moment(message.get("createdAt"), left_out)
    node.ending = find_ending(message.get("finish_reason"))
    for part in as_list(message.get("content")):
        node.parts += _parts(node, part, left_out)
    message_text = text(message.get("text"))
    is_error = message.get("error") is True
    if not any(isinstance(part, Text) for part in node.parts) and not is_error:
        node.parts += _legacy_parts(message_text)
    if not is_prompt:
        node.model = line(message.get("model"), 200)
        if message.get("unfinished") is True:
            node.ending = Ending.STOPPED
        if is_error:
            node.ending, node.error = (
                Ending.FAILED,
                "\n\n".join(filter(None, (node.error, message_text))),
            )
        rating = mapping(message.get("feedback"))
        node.feedback = read_feedback(rating.get("rating"), rating.get("text"))
    for file in as_list(message.get("files")) + as_list(message.get("attachments")):
        _attach(node, mapping(file))


def _legacy_parts(message_text: str) -> list[Part]:
    """Return the reasoning and text of a message from before content had parts."""
    match = _THINKING.match(message_text)
    if match is None:
        return [Text(message_text)]
    return [Reasoning(match.group(1)), Text(message_text[match.end() :].lstrip("\n"))]


def _parts(node: Node, value: object, left_out: Counter[str]) -> list[Part]:
    part = mapping(value)
    kind = line(part.get("type"), 40)
    match kind:
        case "think":
            return [Reasoning(_text(part.get("think")))]
        case "tool_call":
            return _tool_parts(mapping(part.get("tool_call")))
        case "image_file":
            _attach(node, mapping(part.get("image_file")))
            return []
        case "image_url":
            url = part.get("image_url")
            url = mapping(url).get("url") if isinstance(url, dict) else url
            node.files.append(file_of_url(text(url), "image", NOT_EXPORTED))
            return []
        case "error":
            node.ending = Ending.FAILED
            node.error = _text(part.get("text")) or text(part.get("error"))
            return []
        case "agent_update":
            return []
    part_text = _text(part.get("text")) or text(value)
    if kind not in ("", "text") and not part_text:
        return [Text(unknown_part(kind, part, left_out))]
    return [Text(part_text)]


def _text(value: object) -> str:
    return text(value) or text(mapping(value).get("value"))


def _tool_parts(call: dict[str, Any]) -> list[Part]:
    """Return a call and its result, of agents or of the older assistants."""
    kind = text(call.get("type"))
    inner = mapping(call.get(kind)) or mapping(call.get("function"))
    name = line(call.get("name") or inner.get("name") or kind, 100)
    arguments = call.get("args") or inner.get("arguments") or inner.get("input")
    output = next((source["output"] for source in (call, inner) if source.get("output")), None)
    if output is None:
        output = inner.get("outputs")
    id = identifier(call.get("id"))
    parts: list[Part] = [ToolCall(name, as_json(arguments), id)]
    if output is not None:
        parts.append(ToolResult(text_of_blocks(output), name, id))
    return parts


def _attach(node: Node, file: dict[str, Any]) -> None:
    if file:
        name = file.get("filename") or text(file.get("filepath")).rpartition("/")[2]
        size = count(file.get("bytes"))
        node.files.append(build_file(name, file.get("type"), size=size, missing=NOT_EXPORTED))
