"""Backups of Chatbox."""

from chatapp.upstream.wire.reply import Ending
from tests.transfer.samples import (
    chatbox_message,
    chatbox_turn,
    json_file,
    only,
    outline,
    read_all,
)


def test_a_chat_with_its_fields() -> None:
    chats, report = read_all(json_file(chatbox_turn()))
    chat = chats[0]
    assert outline(chat) == [("b1", None, "Is it raining?"), ("b2", "b1", "I can't see that.")]
    assert (chat.source, chat.source_id, chat.title, chat.is_pinned) == (
        "chatbox",
        "b-1",
        "Rain",
        True,
    )
    assert report.notes == ["The file also has this, which is not imported: settings (1)."]


def test_sessions_of_older_backups_are_read() -> None:
    old = {"id": "o", "name": "Old", "messages": [{"id": "1", "role": "user", "content": "Hi"}]}
    assert only(json_file({"chat-sessions": [old], "settings": {}})).title == "Old"


def test_threads_are_chats_and_forks_are_branches() -> None:
    thread = {"id": "t", "name": "Before", "messages": [chatbox_message("t1", "user", "Hello")]}
    other = [chatbox_message("b3", "assistant", "No.")]
    forks = {"b1": {"position": 0, "lists": [{"messages": []}, {"messages": other}]}}
    chats, _ = read_all(json_file(chatbox_turn(threads=[thread], messageForksHash=forks)))
    assert [chat.title for chat in chats] == ["Rain", "Before"]
    assert [(message.source_id, message.parent) for message in chats[0].messages] == [
        ("b1", None),
        ("b2", "b1"),
        ("b3", "b1"),
    ]
    assert chats[0].active_leaf == "b2"


def test_parts_of_a_reply() -> None:
    parts = [
        {"type": "reasoning", "text": "Look."},
        {"type": "tool-call", "toolCallId": "c", "toolName": "sky", "args": {}, "result": "wet"},
        {"type": "text", "text": "Yes."},
        {"type": "image", "storageKey": "picture:1"},
        {"type": "new"},
    ]
    messages = [
        chatbox_message("s", "system", "Be brief."),
        chatbox_message("p", "user", "Rain?"),
        {**chatbox_message("r", "assistant", ""), "contentParts": parts, "error": "Cut off"},
    ]
    chat = only(json_file(chatbox_turn(messages=messages)))
    reply = chat.messages[1]
    assert chat.system_prompt == "Be brief."
    assert reply.reasoning == "Look."
    assert [(run.name, run.arguments, run.result) for run in reply.tool_runs] == [
        ("sky", "{}", "wet")
    ]
    assert reply.content.startswith("Yes.\n\n```json")
    assert (reply.ending, reply.error) == (Ending.FAILED, "Cut off")
    assert [file.name for file in reply.files] == ["image"]
    assert chat.left_out == {"unknown part (new)": 1}
