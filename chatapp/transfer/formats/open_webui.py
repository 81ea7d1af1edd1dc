"""Reads chats of Open WebUI: a person's export, one chat, or the rows of its database.

Known are versions from 0.1 to the autumn of 2026 (0.12). Seen in open-webui/open-webui:
backend/open_webui/models/chats.py and chat_messages.py (commits 00059776 and 02530d50),
src/lib/components/chat/Chat.svelte; the blocks in replies also in clients and their tests.

`childrenIds` may be missing, so links follow `parentId`; a reply without one belongs to the latest
prompt before it. `currentId` may name a message that is gone.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from chatapp.transfer.formats import details
from chatapp.transfer.formats.parts import (
    DAMAGED_MESSAGE,
    MADE_UP,
    MAX_LINKS,
    NO_ROLE,
    DataContent,
    Export,
    Unusable,
    as_json,
    build_file,
    chat,
    file_of_url,
    link,
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
    number,
    parameters,
    text,
)
from chatapp.upstream.wire.reply import Ending

NO_PARENT = "A reply follows a message that is missing, so it is shown after the prompt before it."
NOT_EXPORTED = "Open WebUI's export does not contain this file."
SHARED = "shared-"  # how the owners of shared copies begin
# Parameters that are about Open WebUI itself.
_NOT_SENT = ("system", "function_calling", "stream_response", "stream_delta_chunk_size")
_CODE = "code_interpreter"
_SEARCH = "web_search"  # how the kind of a list of pages begins, which is stored as a file


def is_chat(value: dict[str, Any]) -> bool:
    return _is_content(value) or _is_content(mapping(value.get("chat")))


def _is_content(value: dict[str, Any]) -> bool:
    is_flat = isinstance(value.get("messages"), list) and "models" in value
    return is_flat or "messages" in mapping(value.get("history"))


def read_chat(value: dict[str, Any], export: Export) -> SourceChat:
    """Read a chat with its row's columns around it, or alone as old downloads have it."""
    content = mapping(value.get("chat")) or value
    owner = identifier(value.get("user_id"))
    if owner.startswith(SHARED):
        raise Unusable("It is a copy that Open WebUI made for sharing.")
    if mapping(value.get("meta")).get("internal") is True:
        raise Unusable("It is a chat that Open WebUI keeps for itself.")
    reader = _Reader(content)
    left_out = reader.left_out
    nodes = reader.nodes()
    settings = mapping(content.get("params"))
    sent_parameters = {name: setting for name, setting in settings.items() if name not in _NOT_SENT}
    instructions = [
        text(settings.get("system")) or text(content.get("system")),
        *reader.instructions,
    ]
    folder_id = identifier(value.get("folder_id"))
    return chat(
        Format.OPEN_WEBUI,
        value,
        nodes,
        left_out,
        source_id=value.get("id") or content.get("id"),
        title=value.get("title") or content.get("title"),
        current=mapping(content.get("history")).get("currentId")
        or value.get("current_message_id")
        or (nodes[-1].id if nodes and not reader.is_tree else ""),
        created_at=moment(value.get("created_at") or content.get("timestamp"), left_out),
        updated_at=moment(value.get("updated_at"), left_out),
        is_archived=value.get("archived") in (True, 1),
        is_pinned=value.get("pinned") in (True, 1),
        folder_id=folder_id,
        folder=export.folders.get(folder_id, ""),
        owner=owner,
        system_prompt="\n\n".join(dict.fromkeys(filter(str.strip, instructions))),
        parameters=parameters(sent_parameters, left_out),
    )


class _Reader:
    def __init__(self, content: dict[str, Any]) -> None:
        self.left_out: Counter[str] = Counter()
        self.instructions: list[str] = []
        tree_messages = mapping(mapping(content.get("history")).get("messages"))
        self.is_tree = bool(tree_messages)
        flat = as_list(content.get("messages"))
        self.messages = list(tree_messages.items()) or [
            (mapping(message).get("id") or f"{MADE_UP}{index}", message)
            for index, message in enumerate(flat)
        ]
        self.keys = {identifier(key) for key, _ in self.messages}

    def nodes(self) -> list[Node]:
        prompts: list[Node] = []
        nodes: list[Node] = []
        for key, value in self.messages:
            message = mapping(value)
            node = Node(identifier(key), identifier(message.get("parentId")) or None, Kind.HIDDEN)
            if not self.is_tree and node.parent not in self.keys:
                node.parent = nodes[-1].id if nodes else None
            self._fill(node, message)
            nodes.append(node)
            if node.kind is Kind.PROMPT:
                prompts.append(node)
                nodes += self._read_merged_reply(node, message)
        for node in nodes:
            if node.kind is Kind.REPLY and node.parent not in self.keys:
                node.damage = node.damage or (NO_PARENT if node.parent else "")
                node.parent = _prompt_before(node, prompts)
        return nodes

    def _read_merged_reply(self, prompt: Node, message: dict[str, Any]) -> Iterator[Node]:
        """Yield the reply into which Open WebUI merged those of several models."""
        merged_text = text(mapping(message.get("merged")).get("content"))
        key = f"{prompt.id}:merged"
        if merged_text.strip() and key not in self.keys:
            yield Node(key, prompt.id, Kind.REPLY, [Text(merged_text)], prompt.at)

    def _fill(self, node: Node, message: dict[str, Any]) -> None:
        role = text(message.get("role"))
        if not role and ({"model", "output", "done"} & message.keys()):
            role = "assistant"
        node.at = moment(message.get("timestamp"), self.left_out)
        if role == "system":
            self.instructions.append(text_of_blocks(message.get("content")))
        elif role == "user":
            node.kind = Kind.PROMPT
            node.parts = list(self._content(node, message.get("content")))
        elif role in ("assistant", "tool"):
            node.kind = Kind.REPLY
            self._fill_reply(node, message)
        else:
            node.damage = NO_ROLE if message else DAMAGED_MESSAGE
        self._attach(node, message)

    def _fill_reply(self, node: Node, message: dict[str, Any]) -> None:
        node.model = line(message.get("model"), 200)
        node.parts = self._output(node, as_list(message.get("output")))
        written = []
        for part in self._content(node, message.get("content")):
            part_text = part.text if isinstance(part, Text) else ""
            for written_part, seconds in details.split_parts(part_text):
                written.append((written_part, seconds))
        if not node.parts:
            node.parts = [part for part, _ in written]
            self._add_seconds(node, [seconds for _, seconds in written])
        elif not any(isinstance(part, Text) for part in node.parts):
            node.parts += [part for part, _ in written if isinstance(part, Text)]
        error = message.get("error")
        if error:
            node.error = text_of_blocks(mapping(error).get("content") or error)[:2000]
            node.ending = Ending.FAILED
        elif message.get("done") is False:
            node.ending = Ending.INTERRUPTED
        rating = mapping(message.get("annotation"))
        node.feedback = read_feedback(rating.get("rating"), rating.get("comment"))
        for written_part in as_list(message.get("sources")) + as_list(message.get("citations")):
            self._cite(node, mapping(written_part))

    def _content(self, node: Node, content: object) -> Iterator[Part]:
        """Yield the texts of a content, a text or a list of parts; images go to the node."""
        for part in content if isinstance(content, list) else [content]:
            block = mapping(part)
            image = block.get("image_url")
            url = text(mapping(image).get("url") if isinstance(image, dict) else image)
            if url:
                node.files.append(file_of_url(url, "image", NOT_EXPORTED))
            elif part_text := text(part) or text(block.get("text")):
                yield Text(part_text)
            elif block:
                yield Text(unknown_part(line(block.get("type"), 40), block, self.left_out))

    def _output(self, node: Node, items: list[Any]) -> list[Part]:
        """Return the parts of what newer versions store as a list."""
        parts: list[Part] = []
        seconds = []
        for item in map(mapping, items):
            kind, call = line(item.get("type"), 40), identifier(item.get("call_id"))
            name = line(item.get("name"), 100)
            if kind == "message":
                parts.append(Text(_join_blocks(item.get("content"))))
            elif kind == "reasoning":
                thoughts = _join_blocks(item.get("content")) or _join_blocks(item.get("summary"))
                parts.append(Reasoning(thoughts))
                seconds.append(number(item.get("duration")))
            elif kind == "function_call":
                parts.append(ToolCall(name, as_json(item.get("arguments")), call))
            elif kind == "function_call_output":
                parts.append(ToolResult(text_of_blocks(item.get("output")), name, call))
            elif kind.endswith(_CODE):
                parts.append(ToolCall(_CODE, text(item.get("code")), call))
                if item.get("output") is not None:
                    parts.append(ToolResult(as_json(item.get("output")), _CODE, call))
            elif item:
                parts.append(Text(unknown_part(kind, item, self.left_out)))
        self._add_seconds(node, seconds)
        return parts

    def _add_seconds(self, node: Node, seconds: list[float | None]) -> None:
        valid_seconds = [
            duration for duration in seconds if duration is not None and 0 <= duration < 1e6
        ]
        node.reasoning_seconds = sum(valid_seconds) if valid_seconds else None

    def _cite(self, node: Node, cited: dict[str, Any]) -> None:
        source = mapping(cited.get("source"))
        urls = {}
        for page in map(mapping, as_list(cited.get("metadata"))):
            urls[text(page.get("source")) or text(page.get("url"))] = page.get("title")
        title = source.get("name") or source.get("title")
        urls.setdefault(text(source.get("url")), title)
        for url, own_title in urls.items():
            if url.startswith(("http://", "https://")):
                node.sources += link(url, own_title or title, self.left_out)

    def _attach(self, node: Node, message: dict[str, Any]) -> None:
        for file in map(mapping, as_list(message.get("files"))):
            stored_file = mapping(file.get("file"))
            name = file.get("name") or stored_file.get("filename") or file.get("type")
            file_text = text(mapping(stored_file.get("data")).get("content")) or text(
                file.get("content")
            )
            if text(file.get("type")).startswith(_SEARCH):
                for url in as_list(file.get("urls"))[:MAX_LINKS]:
                    node.sources += link(url, "", self.left_out)
            elif file_text:
                size, content = count(file.get("size")), DataContent(file_text)
                node.files.append(build_file(name, "text/plain", size=size, content=content))
            elif file:
                node.files.append(file_of_url(text(file.get("url")), name, NOT_EXPORTED))


def _join_blocks(blocks: object) -> str:
    texts = [
        text(mapping(block).get("text")) or text(block) for block in as_list(blocks) or [blocks]
    ]
    return "\n\n".join(filter(None, texts))


def _prompt_before(node: Node, prompts: list[Node]) -> str | None:
    """Return the latest prompt before a reply: by time, or else by order."""
    at = node.at
    dated = [(prompt.at, prompt.id) for prompt in prompts if prompt.at and at and prompt.at <= at]
    return max(dated)[1] if dated else (prompts[-1].id if prompts and at is None else None)
