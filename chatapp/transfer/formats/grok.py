"""Reads chats of Grok's data export, `prod-grok-backend.json`.

Known are exports from 2025 to the autumn of 2026. xAI documents none of it. Seen in:
docs of portable-ai-memory, osaurus-ai/osaurus (issue 2217), and public tests of other importers.
Dates are ISO 8601 or MongoDB's extended JSON; senders are `human`, `ASSISTANT` or a model's name.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from chatapp.transfer.formats.parts import (
    DAMAGED_MESSAGE,
    MADE_UP,
    MAX_LINKS,
    NO_ROLE,
    Export,
    build_file,
    chat,
    fence_code,
    link,
)
from chatapp.transfer.records import Format, SourceChat, SourceFile
from chatapp.transfer.tree import Kind, Node, Part, Reasoning, Text
from chatapp.transfer.values import as_list, identifier, line, mapping, moment, text
from chatapp.upstream.wire.reply import Ending

NOT_EXPORTED = "Grok's export does not contain this file."
POST = "https://x.com/i/status/{}"
_PROMPTS = ("human", "user")
# Grok writes these into its replies itself, so that patterns are enough to find them.
_ARTIFACT = re.compile(r"<xaiArtifact\b([^<>]*)>")
_ATTRIBUTE = re.compile(r'(?<![\w-])([\w-]++)="([^"]*)"')
_CARD = re.compile(r"<grok:render\b([^<>]*)>")
_CITATION = 'type="render_inline_citation"'
_SOURCES = ("cited_web_search_results", "web_search_results")
_PLAIN = ("text/markdown", "text/plain")


def is_chat(value: dict[str, Any]) -> bool:
    is_named = "conversation" in value or "conversation_id" in value
    return is_named and isinstance(value.get("responses"), list)


def read_chat(value: dict[str, Any], export: Export) -> SourceChat:
    left_out: Counter[str] = Counter()
    about = mapping(value.get("conversation")) or value
    nodes = list(_nodes(value, export, left_out))
    return chat(
        Format.GROK,
        value,
        nodes,
        left_out,
        source_id=about.get("id") or about.get("conversation_id"),
        title=about.get("title"),
        current=about.get("leaf_response_id"),
        created_at=_moment(about.get("create_time"), left_out),
        updated_at=_moment(about.get("modify_time"), left_out),
        is_pinned=about.get("starred") is True,
    )


def _nodes(value: dict[str, Any], export: Export, left_out: Counter[str]) -> Iterator[Node]:
    responses = [mapping(response) for response in as_list(value.get("responses"))]
    messages = [mapping(response.get("response")) or response for response in responses]
    is_tree = any(response.get("parent_response_id") for response in messages)
    before: Node | None = None
    prompt: Node | None = None  # the latest
    for number, message in enumerate(messages):
        id = identifier(message.get("_id") or message.get("id")) or f"{MADE_UP}{number}"
        node = Node(id, identifier(message.get("parent_response_id")) or None, Kind.HIDDEN)
        if not is_tree:
            node.parent = before.id if before else None
        _fill(node, message, export, left_out)
        if node.kind is Kind.PROMPT:
            prompt = node
        elif node.parent is None and prompt:
            node.parent = prompt.id
        before = node
        yield node


def _fill(node: Node, message: dict[str, Any], export: Export, left_out: Counter[str]) -> None:
    sender = text(message.get("sender")).lower()
    if not sender:
        node.damage = NO_ROLE if message else DAMAGED_MESSAGE
        return
    node.kind = Kind.PROMPT if sender in _PROMPTS else Kind.REPLY
    node.at = _moment(message.get("create_time"), left_out)
    node.files = list(_files(message, export))
    message_text = text(message.get("message")) or text(message.get("query"))
    if node.kind is Kind.PROMPT:
        node.parts = [Text(message_text)]
    else:
        node.parts = [*_reasoning(message), Text(_with_artifacts(message_text, left_out))]
        _fill_reply(node, message, left_out)


def _fill_reply(node: Node, message: dict[str, Any], left_out: Counter[str]) -> None:
    sender = text(message.get("sender"))
    node.model = line(
        message.get("model") or ("" if sender.lower() == "assistant" else sender), 200
    )
    for name in _SOURCES:
        for page in map(mapping, as_list(message.get(name))[:MAX_LINKS]):
            node.sources += link(page.get("url"), page.get("title"), left_out)
    for url in as_list(message.get("webpage_urls"))[:MAX_LINKS]:
        node.sources += link(url, "", left_out)
    for id in filter(str.isdigit, map(identifier, as_list(message.get("xpost_ids"))[:MAX_LINKS])):
        node.sources += link(POST.format(id), "X", left_out)
    left_out["step of a tool"] += len(as_list(message.get("steps")))
    left_out["card"] += len(as_list(message.get("card_attachments_json")))
    if message.get("partial") is True:
        node.ending = Ending.STOPPED
    error = message.get("error")
    if error_text := text(error) or text(mapping(error).get("message")):
        node.ending, node.error = Ending.FAILED, error_text
    began = _moment(message.get("thinking_start_time"), Counter())
    ended = _moment(message.get("thinking_end_time"), Counter())
    if began and ended and ended >= began:
        node.reasoning_seconds = (ended - began).total_seconds()


def _reasoning(message: dict[str, Any]) -> Iterator[Part]:
    yield Reasoning(text(message.get("thinking_trace")))
    for trace in map(mapping, as_list(message.get("agent_thinking_traces"))):
        yield Reasoning(text(trace.get("thinking_trace")))


def _files(message: dict[str, Any], export: Export) -> Iterator[SourceFile]:
    for attachment in [
        *as_list(message.get("file_attachments")),
        *as_list(message.get("image_attachments")),
    ]:
        about = mapping(attachment)
        id = identifier(attachment) or identifier(about.get("id") or about.get("file_id"))
        archived_file = export.files(id)
        name = about.get("file_name") or about.get("name") or id
        if archived_file:
            yield build_file(
                name,
                archived_file.media_type,
                size=archived_file.size,
                content=archived_file.content,
            )
        else:
            yield build_file(name, missing=NOT_EXPORTED)
    for url in map(text, as_list(message.get("generated_image_urls"))):
        yield build_file(url.rpartition("/")[2] or "image", missing=NOT_EXPORTED)


def _with_artifacts(message_text: str, left_out: Counter[str]) -> str:
    """Return the text with artifacts as Markdown, and without marks that show a link or a card."""

    def show_artifact(attributes: str, content: str) -> str:
        about = dict(_ATTRIBUTE.findall(attributes))
        kind = about.get("contentType", "")
        artifact = content if kind in _PLAIN else fence_code(content, _language(kind))
        title = line(about.get("title"))
        return f"**{title}**\n\n{artifact}" if title else artifact

    def show_card(attributes: str, content: str) -> str:
        left_out["card"] += _CITATION not in attributes
        return ""

    message_text = _replace_elements(message_text, _ARTIFACT, "</xaiArtifact>", show_artifact)
    return _replace_elements(message_text, _CARD, "</grok:render>", show_card)


def _replace_elements(
    message_text: str, opening: re.Pattern[str], closing: str, show: Callable[[str, str], str]
) -> str:
    """Replace each of Grok's elements by what `show` makes of its attributes and content."""
    pieces: list[str] = []
    position = 0
    for match in opening.finditer(message_text):
        if match.start() < position:
            continue
        end = message_text.find(closing, match.end())
        if end < 0:
            break
        content = message_text[match.end() : end].strip("\n")
        pieces += [message_text[position : match.start()], show(match.group(1), content)]
        position = end + len(closing)
    return "".join([*pieces, message_text[position:]])


def _language(media_type: str) -> str:
    language = media_type.rpartition("/")[2].removeprefix("x-").removeprefix("vnd.")
    return language if language.isalnum() else ""


def _moment(value: object, left_out: Counter[str]) -> datetime | None:
    """Read a date that may be written as `{"$date": {"$numberLong": "…"}}`."""
    while isinstance(value, dict) and ("$date" in value or "$numberLong" in value):
        value = value.get("$date", value.get("$numberLong"))
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        value = int(value)
    return moment(value, left_out)
