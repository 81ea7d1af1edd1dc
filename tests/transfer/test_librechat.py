"""LibreChat's JSON."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from chatapp.transfer import SourceFeedback
from chatapp.upstream.wire.reply import Ending
from tests.transfer.samples import (
    build_zip,
    json_file,
    libre_chat,
    libre_message,
    libre_turn,
    only,
    outline,
    read_all,
)

ROOT = "00000000-0000-0000-0000-000000000000"


def read_reply(text: str = "", **others: Any) -> Any:
    messages = [
        libre_message("q", ROOT, "Go", by_user=True),
        libre_message("r", "q", text, by_user=False, **others),
    ]
    return only(json_file(libre_chat(messages))).messages[1]


def test_a_chat_with_its_fields() -> None:
    options = {"promptPrefix": "Be cold.", "temperature": 1, "maxOutputTokens": 50, "topK": 3}
    chat = only(json_file(libre_turn(options={**options, "iconURL": "x"})))
    assert outline(chat) == [("q", None, "Is snow white?"), ("w", "q", "It looks so.")]
    assert (chat.source, chat.source_id, chat.title) == ("librechat", "l-1", "Snow")
    assert chat.created_at == datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)
    assert chat.system_prompt == "Be cold."
    assert chat.parameters == {"temperature": 1, "max_output_tokens": 50, "extra": {"top_k": 3}}
    assert (chat.messages[1].model, chat.messages[1].ending) == ("gpt-5", Ending.COMPLETE)


def test_a_deep_tree_with_branches() -> None:
    length = 3000
    tree: list[Any] = []
    for number in reversed(range(length)):
        message = libre_message(str(number), "", f"text {number}", by_user=number % 2 == 0)
        tree = [{**message, "children": tree}]
    tree[0]["children"].append(libre_message("other", "0", "Another", by_user=False))
    text = '{"conversationId": "l-1", "recursive": true, "messagesTree": '
    data = text.encode() + deep_json(tree) + b"}"
    chat = only(io.BytesIO(data))
    assert len(chat.messages) == length + 1
    assert chat.messages[-1].parent == "0"
    assert chat.messages[length - 1].parent == str(length - 2)


def deep_json(tree: list[Any]) -> bytes:
    """Encode a tree without recursion."""
    parts: list[str] = []
    stack: list[Any] = [tree]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            parts.append(value)
        elif isinstance(value, list):
            stack.append("]")
            for index, child in reversed(list(enumerate(value))):
                stack.append(child)
                if index:
                    stack.append(",")
            parts.append("[")
        else:
            fields = json.dumps({name: v for name, v in value.items() if name != "children"})
            stack += ["}", value.get("children", [])]
            parts.append(fields[:-1] + ', "children": ')
    return "".join(parts).encode()


def test_one_branch_is_read_in_order() -> None:
    messages = [
        libre_message("q", "not exported", "one", by_user=True),
        libre_message("r", "q", "two", by_user=False),
        libre_message("s", "lost", "three", by_user=True),
    ]
    chat = only(json_file(libre_chat(messages, branches=False)))
    assert outline(chat) == [("q", None, "one"), ("r", "q", "two"), ("s", "r", "three")]
    assert chat.active_leaf == "s"


def test_parts_are_preferred_to_the_text() -> None:
    content = [
        {"type": "think", "think": "Hm."},
        {"type": "text", "text": {"value": "I look."}},
        {
            "type": "tool_call",
            "tool_call": {"id": "c", "name": "look", "args": {"x": 1}, "output": "seen"},
        },
        {
            "type": "tool_call",
            "tool_call": {
                "type": "function",
                "id": "d",
                "function": {"name": "old", "arguments": "{}", "output": "done"},
            },
        },
        {"type": "agent_update", "agent_update": {}},
        {"type": "text", "text": "White."},
        {"type": "image_file", "image_file": {"file_id": "f", "filepath": "/images/u/snow.png"}},
        None,
    ]
    reply = read_reply("ignored", content=content)
    assert (reply.reasoning, reply.content) == ("Hm.", "I look.\n\nWhite.")
    assert [(run.id, run.name, run.arguments, run.result) for run in reply.tool_runs] == [
        ("c", "look", '{"x": 1}', "seen"),
        ("d", "old", "{}", "done"),
    ]
    [image] = reply.files
    assert (image.name, image.missing) == (
        "snow.png",
        "LibreChat's export does not contain files.",
    )


def test_reasoning_in_the_text_of_older_versions() -> None:
    reply = read_reply(":::thinking\nHm.\n:::\n\nWhite.")
    assert (reply.reasoning, reply.content) == ("Hm.", "White.")


@pytest.mark.parametrize(
    ("others", "ending", "error"),
    [
        ({"unfinished": True}, Ending.STOPPED, ""),
        ({"finish_reason": "incomplete"}, Ending.STOPPED, ""),
        ({"finish_reason": "length"}, Ending.LENGTH, ""),
        ({"error": True}, Ending.FAILED, "said"),
        ({"content": [{"type": "error", "error": "Bad key"}]}, Ending.FAILED, "Bad key"),
    ],
)
def test_endings(others: dict[str, Any], ending: Ending, error: str) -> None:
    reply = read_reply("said", **others)
    assert (reply.ending, reply.error) == (ending, error)


def test_feedback() -> None:
    reply = read_reply("x", feedback={"rating": "thumbsUp", "tag": {}, "text": "yes"})
    assert reply.feedback == SourceFeedback("up", "yes")


def test_several_conversations_in_a_zip_or_a_list() -> None:
    chats = [libre_turn(conversationId=str(number)) for number in range(3)]
    chats_read, _ = read_all(json_file(chats))
    assert [chat.source_id for chat in chats_read] == ["0", "1", "2"]
    members = {f"chats/{chat['conversationId']}.json": chat for chat in chats}
    chats_read, report = read_all(build_zip({**members, "package.json": {"name": "x"}}))
    assert [chat.source_id for chat in chats_read] == ["0", "1", "2"]
    assert report.entry_count == 3
