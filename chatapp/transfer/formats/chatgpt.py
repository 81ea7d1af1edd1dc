"""Reads chats of ChatGPT's data export.

Known are exports from 2023 to February 2026: `conversations.json` as an array, in parts such as
`conversations-000.json`, or inside an object. Seen in: docs/dev/chatgpt-spec.md of
mohamed-chs/convoviz (3.0, February 2026), api/server/utils/import of danny-avila/LibreChat,
src/api.ts of pionxzh/chatgpt-exporter, and atomantic/PortOS.

Links between nodes follow `parent`; `children` is incomplete at times, and only orders siblings.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from chatapp.transfer.formats.chatgpt_projects import PROJECT
from chatapp.transfer.formats.citations import with_links
from chatapp.transfer.formats.parts import (
    DAMAGED_MESSAGE,
    NO_ROLE,
    Export,
    build_file,
    chat,
    fence_code,
    find_ending,
    link,
    unknown_part,
)
from chatapp.transfer.records import Format, RunState, SourceChat, SourceFile
from chatapp.transfer.tree import Kind, Node, Part, Reasoning, Text, ToolCall, ToolResult
from chatapp.transfer.values import as_list, count, identifier, line, mapping, moment, number, text
from chatapp.upstream.wire.reply import Ending

NOT_EXPORTED = "The export does not contain this file."
IMAGE_PROMPT = "Image prompt: {}"
MAX_NAME = 100  # characters of a tool's name
MAX_RECAP = 60  # characters of a sentence such as “Thought for 44s”
FILE_ID = re.compile(r"file[-_][A-Za-z0-9]+")
_DURATION = re.compile(r"(?:(\d{1,6})\s*h\w*)?\s*(?:(\d{1,6})\s*m\w*)?\s*(?:(\d{1,6})\s*s\w*)?\.?")
_STATUSES = {
    "in_progress": Ending.INTERRUPTED,
    "finished_partial_completion": Ending.STOPPED,
    "error": Ending.FAILED,
    "failed": Ending.FAILED,
}
_INSTRUCTIONS, _MEMORY = "user_editable_context", "model_editable_context"
# The fields with the text of contents that have several.
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "tether_quote": ("title", "text"),
    "sonic_webpage": ("title", "text"),
    "tether_browsing_display": ("result", "summary"),
    "system_error": ("name", "text"),
}
_MEDIA = {
    "audio_asset_pointer": "sound",
    "real_time_user_audio_video_asset_pointer": "sound",
    "video_container_asset_pointer": "video",
}


def is_chat(value: dict[str, Any]) -> bool:
    return isinstance(value.get("mapping"), dict)


def file_id(pointer: str) -> str:
    """Return the id in a pointer, such as `file-AbC` in `file-service://file-AbC`."""
    pointed = pointer.rpartition("://")[2]
    match = FILE_ID.search(pointed)
    return match.group() if match else pointed


def read_chat(value: dict[str, Any], export: Export) -> SourceChat:
    left_out: Counter[str] = Counter()
    reader = _Reader(value, export, left_out)
    folder_ids = (identifier(value.get(key)) for key in ("conversation_template_id", "gizmo_id"))
    folder_id = next((candidate for candidate in folder_ids if candidate.startswith(PROJECT)), "")
    nodes = list(reader.nodes())
    return chat(
        Format.CHATGPT,
        value,
        nodes,
        left_out,
        source_id=value.get("conversation_id") or value.get("id"),
        title=value.get("title"),
        current=value.get("current_node"),
        created_at=moment(value.get("create_time"), left_out),
        updated_at=moment(value.get("update_time"), left_out),
        is_archived=value.get("is_archived") is True,
        is_pinned=value.get("is_starred") is True or bool(number(value.get("pinned_time"))),
        folder_id=folder_id,
        folder=_project_name(value) or export.folders.get(folder_id, ""),
        system_prompt="\n\n".join(dict.fromkeys(reader.instructions)),
    )


def _read_id(entry: dict[str, Any]) -> str:
    return text(entry.get("id"))


def _project_name(value: dict[str, Any]) -> str:
    """Return the name of a chat's project. Most exports have only its id."""
    project = mapping(value.get("project"))
    names = [value.get("project_name"), project.get("name"), project.get("title")]
    return next(filter(None, map(line, names)), "")


class _Reader:
    def __init__(self, value: dict[str, Any], export: Export, left_out: Counter[str]) -> None:
        self.mapping = mapping(value.get("mapping"))
        self.export = export
        self.left_out = left_out
        self.model = _model(value.get("default_model_slug"))
        self.instructions: list[str] = []
        self.files = self._read_attachments()

    def _read_attachments(self) -> dict[str, SourceFile]:
        """Return the files with names by their ids, which contents refer to without a name."""
        messages = (mapping(mapping(node).get("message")) for node in self.mapping.values())
        entries = (
            mapping(entry)
            for message in messages
            for entry in as_list(mapping(message.get("metadata")).get("attachments"))
        )
        return {
            file_id(id): self._attachment(entry) for entry in entries if (id := _read_id(entry))
        }

    def _attachment(self, entry: dict[str, Any]) -> SourceFile:
        media_type = entry.get("mime_type") or entry.get("mimeType")
        return self._file(_read_id(entry), entry.get("size"), entry.get("name"), media_type)

    def nodes(self) -> Iterator[Node]:
        ranks: dict[str, int] = {}
        for entry in self.mapping.values():
            for rank, child in enumerate(as_list(mapping(entry).get("children"))):
                ranks[text(child)] = rank
        for key in sorted(self.mapping, key=lambda key: ranks.get(key, 0)):
            yield self._node(identifier(key), self.mapping[key])

    def _node(self, key: str, value: object) -> Node:
        node = Node(key, identifier(mapping(value).get("parent")) or None, Kind.HIDDEN)
        message = mapping(value).get("message")
        if isinstance(message, dict):
            self._fill(node, message)
        elif message is not None or node.parent or not isinstance(value, dict):
            node.damage = DAMAGED_MESSAGE  # only the root has no message
        return node

    def _fill(self, node: Node, message: dict[str, Any]) -> None:
        content = message.get("content")
        content = content if isinstance(content, dict) else {"parts": [content]}
        metadata = mapping(message.get("metadata"))
        role = text(mapping(message.get("author")).get("role"))
        kind = content.get("content_type")
        if kind == _INSTRUCTIONS or metadata.get("is_user_system_message") is True:
            self._take_instructions(content, metadata)
        elif kind == _MEMORY or role == "system" or _is_hidden(role, message, metadata):
            self.left_out["hidden message"] += bool(_plain(content))
        elif role not in ("user", "assistant", "tool"):
            node.damage = NO_ROLE
        elif message.get("content") is None:
            node.damage = DAMAGED_MESSAGE
        else:
            node.kind = Kind.PROMPT if role == "user" else Kind.REPLY
            node.at = moment(message.get("create_time"), self.left_out)
            self._fill_shown(node, role, message, content, metadata)

    def _take_instructions(self, content: dict[str, Any], metadata: dict[str, Any]) -> None:
        about = mapping(metadata.get("user_context_message_data"))
        fields = [
            content.get("user_profile") or about.get("about_user_message"),
            content.get("user_instructions") or about.get("about_model_message"),
        ]
        instructions = list(filter(str.strip, map(text, fields)))
        self.instructions += instructions or filter(None, [_plain(content)])

    def _fill_shown(
        self,
        node: Node,
        role: str,
        message: dict[str, Any],
        content: dict[str, Any],
        metadata: dict[str, Any],
    ) -> None:
        recipient = line(message.get("recipient"), MAX_NAME) or "all"
        is_code = content.get("content_type") == "code"
        parts = list(self._parts(node, content))
        if role == "tool":
            name = line(mapping(message.get("author")).get("name"), MAX_NAME)
            is_failed = content.get("content_type") == "system_error"
            state: RunState = "failed" if is_failed else "done"
            parts = [ToolResult(_join_texts(parts), name, state=state)]
            node.sources += link(content.get("url"), content.get("title"), self.left_out)
        elif role == "assistant" and recipient != "all":
            parts = [ToolCall(recipient, _join_texts(parts))]
        elif role == "assistant" and is_code:
            parts = [Text(fence_code(_join_texts(parts), _language(content)))] if parts else []
        elif role == "assistant":
            parts = [self._add_links(node, part, metadata) for part in parts]
        node.parts = parts
        if role != "user":
            node.model = _model(metadata.get("model_slug")) or self.model
            node.ending = _ending(message, metadata)
            node.feedback = self.export.feedback.get(identifier(message.get("id")) or node.id)
        self._attach(node, metadata)

    def _add_links(self, node: Node, part: Part, metadata: dict[str, Any]) -> Part:
        if not isinstance(part, Text):
            return part
        linked_text, sources = with_links(part.text, metadata, self.left_out)
        node.sources += sources
        return Text(linked_text)

    def _parts(self, node: Node, content: dict[str, Any]) -> Iterator[Part]:
        """Yield the parts of a message's content; its files go to the node."""
        kind = line(content.get("content_type"), 40)
        if kind == "thoughts":
            yield from map(Reasoning, _thoughts(content))
        elif kind == "reasoning_recap":
            recap = text(content.get("content"))
            node.reasoning_seconds = _seconds(recap)
            if node.reasoning_seconds is None:
                yield Reasoning(recap)
        elif isinstance(content.get("parts"), list):
            for part in content["parts"]:
                yield from self._part(node, part)
        elif plain_text := _plain(content):
            yield Text(plain_text)
        elif any(field for name, field in content.items() if name != "content_type"):
            yield Text(unknown_part(kind, content, self.left_out))

    def _part(self, node: Node, part: object) -> Iterator[Part]:
        content = mapping(part)
        kind = line(content.get("content_type"), 40)
        if kind == "image_asset_pointer":
            node.files.append(
                self._pointed_file(content.get("asset_pointer"), content.get("size_bytes"))
            )
            if prompt := text(mapping(mapping(content.get("metadata")).get("dalle")).get("prompt")):
                yield Text(IMAGE_PROMPT.format(prompt))
        elif kind in _MEDIA:
            self.left_out[_MEDIA[kind]] += 1
        elif plain_text := text(part) or _plain(content):
            yield Text(plain_text)
        elif part:
            yield Text(unknown_part(kind, part, self.left_out))

    def _attach(self, node: Node, metadata: dict[str, Any]) -> None:
        """Add the files that only the metadata names: attachments, and charts of Python code."""
        attachments = map(mapping, as_list(metadata.get("attachments")))
        files = [
            self._pointed_file(_read_id(attachment))
            if _read_id(attachment)
            else self._attachment(attachment)
            for attachment in attachments
        ]
        outputs = map(mapping, as_list(mapping(metadata.get("aggregate_result")).get("messages")))
        images = (output for output in outputs if output.get("message_type") == "image")
        files += (self._pointed_file(image.get("image_url")) for image in images)
        attached = set(files)
        node.files = [file for file in node.files if file not in attached] + files

    def _pointed_file(self, pointer: object, size: object = None) -> SourceFile:
        """Return the file of a pointer, always the same one."""
        id = file_id(text(pointer))
        file = self.files.get(id) or self._file(pointer, size)
        if id:
            self.files[id] = file
        return file

    def _file(
        self, pointer: object, size: object = None, name: object = "", media_type: object = ""
    ) -> SourceFile:
        archived_file = self.export.files(text(pointer))
        if archived_file is None:
            name = name or text(pointer).rpartition("/")[2]
            return build_file(name, media_type, size=count(size), missing=NOT_EXPORTED)
        return build_file(
            name or archived_file.name,
            media_type,
            size=archived_file.size,
            content=archived_file.content,
        )


def _join_texts(parts: list[Part]) -> str:
    return "\n\n".join(part.text for part in parts if isinstance(part, Text) and part.text.strip())


def _is_hidden(role: str, message: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Whether the page does not show a message; results of tools often have no weight."""
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True
    return is_hidden or (role != "tool" and number(message.get("weight")) == 0)


def _plain(content: dict[str, Any]) -> str:
    """Return the text of a content of whatever type; "" if it has none."""
    names = _TEXTS.get(text(content.get("content_type")))
    if names:
        return "\n\n".join(filter(str.strip, (text(content.get(name)) for name in names)))
    parts = "\n\n".join(filter(str.strip, map(text, as_list(content.get("parts")))))
    others = (text(content.get(name)) for name in ("text", "result", "summary", "content"))
    return parts or next(filter(str.strip, others), "")


def _thoughts(content: dict[str, Any]) -> Iterator[str]:
    thoughts = as_list(content.get("thoughts")) or [content.get("thoughts")]
    for thought in thoughts if any(thoughts) else [content]:
        about = mapping(thought)
        summary = text(about.get("summary")).strip()
        thought_text = (
            text(about.get("content")) or _join_chunks(about.get("chunks")) or text(thought)
        )
        yield "\n\n".join(filter(None, [f"**{summary}**" if summary else "", thought_text]))


def _join_chunks(chunks: object) -> str:
    """Return the text of a thought that was exported as it was streamed, piece by piece."""
    return text(chunks) or "".join(
        text(chunk) or text(mapping(chunk).get("content")) or text(mapping(chunk).get("text"))
        for chunk in as_list(chunks)
    )


def _seconds(recap: str) -> float | None:
    """Return the seconds of “Thought for 1m 3s”."""
    match = _DURATION.fullmatch(recap[:MAX_RECAP].strip().lower().rpartition(" for ")[2])
    if match is None or not any(match.groups()) or len(recap) > MAX_RECAP:
        return None
    hours, minutes, seconds = (int(group or 0) for group in match.groups())
    return float(3600 * hours + 60 * minutes + seconds)


def _language(content: dict[str, Any]) -> str:
    language = line(content.get("language"), 20)
    return language if language.isalnum() and language != "unknown" else ""


def _model(slug: object) -> str:
    model_name = line(slug, 200)
    return "" if model_name == "auto" else model_name


def _ending(message: dict[str, Any], metadata: dict[str, Any]) -> Ending:
    by_status = _STATUSES.get(text(message.get("status")))
    return by_status or find_ending(mapping(metadata.get("finish_details")).get("type"))
