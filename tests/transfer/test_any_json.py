"""Whatever is in an export, reading it raises nothing, and what is read can be stored."""

import copy
import io
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.transfer import (
    Format,
    Skipped,
    SourceChat,
    Unreadable,
    detect,
    read_chats,
    read_chunks,
)
from tests.support.profile import choose_size
from tests.transfer import samples
from tests.transfer.samples import TURNS

FULL = TURNS | {Format.OWN: samples.own_detailed}
# Names that readers look at, so that odd values are also at the places that matter.
NAMES = st.sampled_from(
    [
        *("id", "uuid", "parent", "parentId", "messageId", "parentMessageId", "children", "role"),
        *("parent_message_uuid", "author", "name", "content", "content_type", "parts", "text"),
        *("thoughts", "summary", "title", "type", "thinking", "think", "tool_call", "args"),
        *("output", "call_id", "arguments", "input", "files", "attachments", "file", "data", "url"),
        *("image_url", "metadata", "citations", "content_references", "matched_text", "start_ix"),
        *("end_ix", "items", "weight", "recipient", "status", "timestamp", "create_time"),
        *("created_at", "createdAt", "error", "done", "model", "annotation", "rating", "sources"),
        *("source", "history", "messages", "mapping", "chat", "chat_messages", "currentId"),
        *("current_node", "params", "options", "isCreatedByUser", "sender", "unfinished"),
        *("upstream", "system_prompt", "parameters", "request_settings", "left_out", "through"),
        *("failed_models", "moderation", "results", "categories", "scores", "usage", "pages"),
        *("conversation", "responses", "response", "thinking_trace", "web_search_results", "$date"),
        *("steps", "conv", "extra", "toolCalls", "header", "products", "safeHtmlItem", "html"),
        *("contentParts", "messageForksHash", "lists", "chunks", "docs", "project_memories"),
        *("feedback", "tool_calls", "extras", "is_temporary", "conversationId", "models", "merged"),
    ]
)
WORDS = st.sampled_from(
    [
        *("", "user", "assistant", "tool", "text", "code", "message", "think", "tool_call", "all"),
        *("human", "thoughts", "multimodal_text", "image_asset_pointer", "reasoning", "reasoning"),
        *("function_call", "u1", "a1", "u", "a", "q", "p", "thumbsUp", "https://[", "9" * 30),
        *("data:image/png;base64,%%%", "nul\0", "\ud800", "\ue200cite\ue201"),
        '<details type="reasoning">\nx</details>',
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats()
    | WORDS
    | st.text(max_size=5)
)
ANY = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(NAMES | WORDS | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=25,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return each place in JSON: the container, and the key or index."""
    all_places: list[tuple[Any, Any]] = []
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        all_places += [(value, key), *places(value[key])]
    return all_places


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, child in value.items():
            yield from (*texts_in(name), *texts_in(child))
    elif isinstance(value, tuple | list):
        for child in value:
            yield from texts_in(child)
    elif isinstance(value, msgspec.Struct):
        yield from texts_in(msgspec.to_builtins(value))
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            if field.name != "content" or isinstance(getattr(value, field.name), str):
                yield from texts_in(getattr(value, field.name))


def check(chat: SourceChat) -> None:
    """Check what a database and the rest of the app rely on."""
    for text in texts_in(chat):
        assert "\0" not in text
        text.encode()
    own = msgspec.to_builtins([chat.own, *(message.own for message in chat.messages)])
    json.dumps([chat.parameters, own], allow_nan=False)
    roles: dict[str | None, str] = {None: "assistant"}
    for message in chat.messages:
        assert {message.role, roles[message.parent]} == {"user", "assistant"}
        assert message.source_id not in roles
        assert message.rounds
        assert (message.ending is None) == (message.role == "user")
        assert message.created_at is None or isinstance(message.created_at, datetime)
        roles[message.source_id] = message.role
        for file in message.files:
            assert bool(file.content) != bool(file.missing)
            if file.content:
                b"".join(read_chunks(file))
    assert chat.active_leaf in roles
    assert chat.title
    assert chat.source_id


def read_any(data: bytes, format: Format | None = None) -> list[SourceChat | Skipped]:
    file = io.BytesIO(data)
    entries = list(read_chats([file], format or detect([file])))
    for entry in entries:
        if isinstance(entry, SourceChat):
            check(entry)
        else:
            assert entry.reason.endswith(".")
    return entries


@pytest.mark.parametrize("format", Format)
@given(st.data())
@settings(max_examples=100)
def test_any_value_at_any_place_is_survived(format: Format, data: st.DataObject) -> None:
    chat = copy.deepcopy(FULL[format]())
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(chat)))
        container[key] = data.draw(ANY)
    good = TURNS[format]()
    entries = read_any(json.dumps([chat, good]).encode("utf-8", "surrogatepass"), format)
    assert len(entries) == 2
    assert isinstance(entries[1], SourceChat)


@given(ANY)
@settings(max_examples=100)
def test_any_json_is_read_or_refused(value: object) -> None:
    data = json.dumps(value).encode()
    for format in Format:
        read_any(data, format)
    with suppress(Unreadable):
        read_any(data)


@pytest.mark.parametrize("format", Format)
@given(st.data())
@settings(max_examples=40)
def test_any_bytes_within_a_file_are_survived(format: Format, data: st.DataObject) -> None:
    whole = json.dumps([TURNS[format]()] * 3).encode()
    at = data.draw(st.integers(1, len(whole)))  # a file that begins like a ZIP is read as one
    length = data.draw(st.integers(0, 20))
    inserted = data.draw(st.binary(max_size=10))
    read_any(whole[:at] + inserted + whole[at + length :], format)


@pytest.mark.parametrize(
    "repeated",
    [
        "<details\n",
        '<details type="reasoning"',
        "<details a='\n",
        '<details type="reasoning">\n',
        "\ue200",
        "【1†",
        'entity["a","',
        ":::thinking\n",
        '<xaiArtifact title="a">',
        "<grok:render a>",
        "<think>",
        "<p><b>",
        "1 ",
        "[](",
    ],
)
@pytest.mark.parametrize("format", Format)
def test_long_hostile_texts_are_read_in_linear_time(format: Format, repeated: str) -> None:
    check_time(format, repeated)


@pytest.mark.parametrize(
    ("format", "before", "repeated", "after"),
    [
        (Format.GROK, "<xaiArtifact ", "a", "></xaiArtifact>"),
        (Format.GROK, "<xaiArtifact ", 'a="', "></xaiArtifact>"),
        (Format.GEMINI, "Prompted a", " ", "b"),
        (Format.GEMINI, "<pre>a", " ", "b</pre>"),
    ],
)
def test_long_runs_within_a_text_are_read_in_linear_time(
    format: Format, before: str, repeated: str, after: str
) -> None:
    check_time(format, repeated, before, after)


def check_time(format: Format, repeated: str, before: str = "", after: str = "") -> None:
    length, seconds = choose_size((100_000, 1.5), (300_000, 5.0))
    text = before + repeated * (length // len(repeated)) + after
    chat = TURNS[format]()
    for container, key in places(chat):
        if isinstance(container[key], str) and key not in KEPT:
            container[key] = text
    data = json.dumps(chat, ensure_ascii=False).encode()
    started = time.process_time()
    read_any(data, format)
    assert time.process_time() - started < seconds


KEPT = (
    "header",
    "_id",
    "parent_response_id",
    "role",
    "sender",
    "id",
    "uuid",
    "type",
    "content_type",
    "recipient",
    "parent",
    "parentId",
)
TEXTS = st.text(st.sampled_from("ab \n*`_<>&日é"), min_size=1).filter(str.strip)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.lists(TEXTS, min_size=1, max_size=4))
def test_what_was_shown_is_in_the_record_and_nothing_is_joined_by_spaces(
    prompts: list[str], replies: list[str]
) -> None:
    joined = ("\n\n".join(prompts), "\n\n".join(replies))
    gpt = samples.gpt_turn()["mapping"]
    gpt["u1"]["message"]["content"]["parts"] = prompts
    gpt["a1"]["message"]["content"]["parts"] = replies
    webui = samples.webui_turn()
    webui_messages = webui["chat"]["history"]["messages"]
    webui_messages["u"]["content"] = [{"type": "text", "text": piece} for piece in prompts]
    webui_messages["a"]["output"] = [
        {"type": "message", "content": [{"text": piece}]} for piece in replies
    ]
    libre = samples.libre_turn()
    claude = samples.claude_turn()
    for messages in (libre["messages"], claude["chat_messages"]):
        for message, texts in zip(messages, (prompts, replies), strict=True):
            message["content"] = [{"type": "text", "text": piece} for piece in texts]
    own = samples.own_turn()
    own["messages"][0]["content"], own["messages"][1]["content"] = joined
    for chat in ({**samples.gpt_turn(), "mapping": gpt}, webui, libre, claude, own):
        source_chat = samples.only(samples.json_file([chat]))
        assert (source_chat.messages[0].content, source_chat.messages[1].content) == joined
