"""Claude.ai's data export."""

from datetime import UTC, datetime
from typing import Any

import pytest

from chatapp.transfer import read_chunks
from chatapp.transfer.formats.claude_projects import IS_MEMORY, IS_PROJECT
from chatapp.transfer.formats.parts import DAMAGED_MESSAGE, NO_ROLE
from chatapp.transfer.tree import NO_PARENT
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.sources import Source
from tests.transfer.samples import (
    build_zip,
    claude_chat,
    claude_turn,
    json_file,
    only,
    outline,
    read_all,
)


def build_message(uuid: str, sender: str, *content: object, **others: Any) -> dict[str, Any]:
    blocks = [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in content
    ]
    return {"uuid": uuid, "sender": sender, "text": "", "content": blocks, **others}


def test_a_chat_with_its_fields() -> None:
    chat = only(json_file([claude_turn(is_starred=True, project={"uuid": "p", "name": "Air"})]))
    assert outline(chat) == [
        ("h1", None, "Why do kites fly?"),
        ("r1", "h1", "The wind lifts them."),
    ]
    assert (chat.source, chat.source_id, chat.title) == ("claude", "c-1", "Kites")
    assert chat.created_at == datetime(2025, 10, 9, 8, 53, 20, 123456, UTC)
    assert (chat.is_pinned, chat.folder_id, chat.folder) == (True, "p", "Air")
    assert chat.messages[1].ending is Ending.COMPLETE


def test_messages_with_the_same_time_keep_the_order_of_the_array() -> None:
    messages = [build_message(str(n), "assistant" if n % 2 else "human", f"{n}") for n in range(6)]
    chat = only(json_file([claude_chat(messages)]))
    assert [message.content for message in chat.messages] == list("012345")
    assert chat.active_leaf == "5"


def test_parents_make_branches() -> None:
    top = "00000000-0000-4000-8000-000000000000"
    messages = [
        build_message("h1", "human", "one", parent_message_uuid=top),
        build_message("r1", "assistant", "first", parent_message_uuid="h1"),
        build_message("h2", "human", "two", parent_message_uuid="r1"),
        build_message("r2", "assistant", "second", parent_message_uuid="h1"),
        build_message("h3", "human", "edited", parent_message_uuid=top),
    ]
    chat = only(json_file([claude_chat(messages, current_leaf_message_uuid="h2")]))
    assert [(message.source_id, message.parent) for message in chat.messages] == [
        ("h1", None),
        ("r1", "h1"),
        ("h2", "r1"),
        ("r2", "h1"),
        ("h3", None),
    ]
    assert chat.active_leaf == "h2"


def test_thinking_tools_and_citations() -> None:
    cited = {"type": "text", "text": "Lift.", "citations": [{"url": "https://a.example/"}, {}]}
    page = {"type": "knowledge", "url": "https://b.example/", "title": "B", "text": "Wind."}
    hidden = {"type": "thinking", "thinking": "", "summaries": [{"summary": "Thought of air."}]}
    message = build_message(
        "r",
        "assistant",
        {"type": "thinking", "thinking": "Hm."},
        hidden,
        {"type": "token_budget"},
        {"type": "tool_use", "id": "t1", "name": "web_search", "input": {"q": "kites"}},
        {"type": "tool_result", "tool_use_id": "t1", "name": "web_search", "content": [page]},
        {"type": "tool_use", "id": "t2", "name": "run", "input": "ls"},
        {"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": True},
        cited,
        stop_reason="max_tokens",
    )
    reply = only(json_file([claude_chat([build_message("h", "human", "Why?"), message])])).messages[
        1
    ]
    assert reply.rounds[0].reasoning == "Hm.\n\nThought of air."
    assert [(run.name, run.arguments, run.result, run.state) for run in reply.tool_runs] == [
        ("web_search", '{"q": "kites"}', "Wind.", "done"),
        ("run", "ls", "no", "failed"),
    ]
    assert (reply.content, reply.ending) == ("Lift.", Ending.LENGTH)
    assert reply.sources == (Source("https://b.example/", "B"), Source("https://a.example/"))


def test_extracted_text_is_a_file_and_others_are_missing() -> None:
    attached = {"file_name": "a.pdf", "file_size": 9, "file_type": "pdf", "extracted_content": "é"}
    message = {
        **build_message("h", "human", "Read"),
        "attachments": [attached, {"file_name": "b.zip"}],
        "files": [{"file_name": "c.png"}],
    }
    text, empty, image = only(json_file([claude_chat([message])])).messages[0].files
    assert (text.name, text.media_type, b"".join(read_chunks(text))) == (
        "a.pdf",
        "text/plain",
        b"\xc3\xa9",
    )
    assert (empty.name, image.name) == ("b.zip", "c.png")
    assert image.missing == empty.missing == "Claude's export does not contain this file."


def test_projects_have_their_names_from_the_zip() -> None:
    members = {
        "conversations.json": [claude_turn(project_uuid="p-1")],
        "projects.json": [{"uuid": "p-1", "name": "Toys"}, None],
        "users.json": [{"uuid": "someone"}],
    }
    assert only(build_zip(members)).folder == "Toys"


def test_a_message_whose_parent_is_missing_is_kept_and_named() -> None:
    messages = [
        build_message("h1", "human", "one", parent_message_uuid="the start"),
        build_message("r1", "assistant", "first", parent_message_uuid="h1"),
        build_message("h2", "human", "edited", parent_message_uuid="the start"),
        build_message("h3", "human", "orphan", parent_message_uuid="gone"),
    ]
    chat = only(json_file([claude_chat(messages)]))
    assert outline(chat)[2:] == [("h2", None, "edited"), ("h3", None, "orphan")]
    assert [(damage.reason, damage.place) for damage in chat.damaged] == [(NO_PARENT, "message h3")]


def test_placeholders_of_blocks_are_never_shown() -> None:
    placeholder = "```\nThis block is not supported on your current device yet.\n```"
    run = {"type": "tool_use", "id": "t", "name": "artifacts", "input": {"content": "<p>"}}
    messages = [
        build_message("h", "human", "Write"),
        {**build_message("r", "assistant", run), "text": f"{placeholder}\n\n"},
        build_message("h2", "human", "Again"),
        {**build_message("r2", "assistant"), "text": f"Here.\n\n{placeholder}\n\nDone."},
    ]
    chat = only(json_file([claude_chat(messages)]))
    assert [message.content for message in chat.messages] == [
        "Write",
        "",
        "Again",
        "Here.\n\nDone.",
    ]
    assert chat.messages[1].tool_runs[0].arguments == '{"content": "<p>"}'
    assert chat.left_out == {"part that Claude's export does not contain": 1}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "voice_note", "text": "Spoken."},
        {"type": "voice_note", "transcript": [{"text": "Spoken."}]},
        {"type": "audio_message", "transcription": "Spoken."},
    ],
)
def test_what_was_spoken_is_read(block: dict[str, Any]) -> None:
    chat = only(json_file([claude_chat([build_message("h", "human", block)])]))
    assert (chat.messages[0].content, chat.left_out) == ("Spoken.", {})


def test_spoken_parts_without_a_transcript_are_named() -> None:
    block = {"type": "voice_note", "duration": 3}
    chat = only(json_file([claude_chat([build_message("h", "human", block)])]))
    assert chat.left_out == {"unknown part (voice_note)": 1}


PROJECT = {
    "uuid": "p-1",
    "name": "Toys",
    "prompt_template": "Be brief.",
    "docs": [{"filename": "a.md", "content": "A"}, {"filename": "b.md", "content": "B"}],
}
MEMORY = {"conversations_memory": "Likes kites.", "project_memories": {"p-1": "Toys."}}


@pytest.mark.parametrize(
    "members",
    [
        {"projects.json": [PROJECT], "memories.json": [MEMORY]},
        {"projects/p-1.json": PROJECT, "memories/someone.json": MEMORY},
    ],
)
def test_projects_and_memories_are_named_with_how_many_there_are(members: dict[str, Any]) -> None:
    chats = {"conversations.json": [claude_turn()], "users.json": []}
    assert read_all(build_zip(chats | members))[1].notes == [
        "Documents of Claude's projects are not imported: 2 in “Toys”.",
        "Instructions of Claude's projects are not imported: “Toys”.",
        "What Claude remembers is not imported: text about your chats (1), text about a project"
        " (1).",
        "Files in the ZIP that are not imported: users.json.",
    ]


def test_projects_and_memories_may_be_in_another_zip() -> None:
    chats = build_zip({"conversations.json": [claude_turn(project_uuid="p-1")]})
    chats_read, report = read_all(chats, build_zip({"projects/p-1.json": PROJECT}))
    assert chats_read[0].folder == "Toys"
    assert len(report.notes) == 2


def test_projects_and_memories_alone_are_named() -> None:
    report = read_all(json_file([claude_turn()]), json_file([PROJECT]), json_file([MEMORY]))[1]
    assert [skipped_entry.reason for skipped_entry in report.skipped] == [IS_PROJECT, IS_MEMORY]


@pytest.mark.parametrize("content", [None, "text", [None, 5, "x"], {"text": "x"}])
def test_odd_content_is_survived(content: object) -> None:
    messages = [
        {"uuid": "h", "sender": "human", "text": "Hi", "content": content},
        {"sender": "robot"},
        None,
    ]
    chat = only(json_file([{**claude_chat([]), "chat_messages": messages}]))
    assert len(chat.messages) == 1
    assert chat.messages[0].content
    assert [(damage.reason, damage.place) for damage in chat.damaged] == [
        (NO_ROLE, "message 2"),
        (DAMAGED_MESSAGE, "message 3"),
    ]
