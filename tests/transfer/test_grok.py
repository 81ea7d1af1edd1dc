"""Grok's data export."""

from datetime import UTC, datetime

from chatapp.transfer import read_chunks
from chatapp.transfer.formats.parts import NO_ROLE
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.sources import Source
from tests.transfer.samples import (
    NOON,
    build_zip,
    grok_chat,
    grok_message,
    grok_turn,
    json_file,
    only,
    outline,
    read_all,
)

FOLDER = "ttl/30d/export_data/someone"


def test_a_chat_with_its_fields() -> None:
    members = {
        f"{FOLDER}/prod-grok-backend.json": {"conversations": [grok_turn(starred=True)]},
        f"{FOLDER}/prod-mc-billing.json": {"balance": 1},
    }
    chats, report = read_all(build_zip(members))
    chat = chats[0]
    assert outline(chat) == [("g1", None, "Do all boats float?"), ("g2", "g1", "Most do.")]
    assert (chat.source, chat.source_id, chat.title, chat.is_pinned) == (
        "grok",
        "g-1",
        "Boats",
        True,
    )
    assert chat.created_at == datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)
    assert chat.updated_at == datetime(2025, 10, 9, 9, 0, tzinfo=UTC)
    assert chat.messages[0].created_at == datetime.fromtimestamp(NOON, UTC)
    assert chat.messages[1].model == "grok-4"
    assert report.notes == [
        f"Files in the ZIP that are not imported: {FOLDER}/prod-mc-billing.json."
    ]


def test_senders_and_dates_are_written_in_several_ways() -> None:
    chat = grok_chat(
        [
            grok_message("1", None, "HUMAN", "a", create_time={"$date": "2025-10-09T08:53:20Z"}),
            grok_message("2", "1", "assistant", "b", create_time={"$date": NOON * 1000}),
            grok_message("3", "1", "grok-3", "c", create_time="2025-10-09T08:53:20Z"),
            grok_message("4", "1", "", "d"),
        ]
    )
    source_chat = only(json_file(chat))
    assert outline(source_chat) == [("1", None, "a"), ("2", "1", "b"), ("3", "1", "c")]
    assert {message.created_at for message in source_chat.messages} == {
        datetime.fromtimestamp(NOON, UTC)
    }
    assert source_chat.messages[2].model == "grok-3"
    assert [(damage.reason, damage.place) for damage in source_chat.damaged] == [
        (NO_ROLE, "message 4")
    ]


def test_without_parents_the_order_of_the_list_counts() -> None:
    senders = [("1", "human"), ("2", "assistant"), ("3", "human"), ("4", "assistant")]
    source_chat = only(
        json_file(grok_chat([grok_message(id, None, who, id) for id, who in senders]))
    )
    assert [message.parent for message in source_chat.messages] == [None, "1", "2", "3"]


def test_reasoning_sources_and_errors() -> None:
    reply = grok_message(
        "2",
        "1",
        "ASSISTANT",
        "Most do.",
        thinking_trace="Wood floats.",
        agent_thinking_traces=[{"agent_id": 1, "thinking_trace": "So does cork."}],
        thinking_start_time={"$date": {"$numberLong": str(NOON * 1000)}},
        thinking_end_time={"$date": {"$numberLong": str(NOON * 1000 + 2500)}},
        web_search_results=[{"title": "A", "url": "https://a.example/"}],
        webpage_urls=["https://b.example/"],
        xpost_ids=["17"],
        steps=[{"tagged_text": {}}],
        error="Failed to respond.",
    )
    chat = only(json_file(grok_chat([grok_message("1", None, "human", "?"), reply])))
    grok_reply = chat.messages[1]
    assert grok_reply.reasoning == "Wood floats.\n\nSo does cork."
    assert grok_reply.reasoning_seconds == 2.5
    assert grok_reply.sources == (
        Source("https://a.example/", "A"),
        Source("https://b.example/"),
        Source("https://x.com/i/status/17", "X"),
    )
    assert (grok_reply.ending, grok_reply.error) == (Ending.FAILED, "Failed to respond.")
    assert chat.left_out == {"step of a tool": 1}


def test_artifacts_become_markdown_and_marks_disappear() -> None:
    marked_text = (
        'So.<grok:render card_id="1" type="render_inline_citation">\n<argument>0</argument>\n'
        '</grok:render> <grok:render type="render_chart">x</grok:render>\n'
        '<xaiArtifact artifact_id="x" title="List" contentType="text/markdown">\n- Dinghy\n'
        '</xaiArtifact>\n<xaiArtifact contentType="text/x-python">\nprint(1)\n</xaiArtifact>'
    )
    messages = [
        grok_message("1", None, "human", "?"),
        grok_message("2", "1", "ASSISTANT", marked_text),
    ]
    chat = only(json_file(grok_chat(messages)))
    assert chat.messages[1].content == ("So. \n**List**\n\n- Dinghy\n```python\nprint(1)\n```")
    assert chat.left_out == {"card": 1}


def test_uploaded_files_are_found_by_their_ids() -> None:
    prompt = grok_message("1", None, "human", "Read", file_attachments=["f-1", "f-2"])
    reply = grok_message(
        "2", "1", "ASSISTANT", "", generated_image_urls=["users/x/generated/cat.jpg"]
    )
    members = {
        f"{FOLDER}/prod-grok-backend.json": {"conversations": [grok_chat([prompt, reply])]},
        f"{FOLDER}/prod-mc-asset-server/f-1/content": b"wood",
    }
    chats, report = read_all(build_zip(members))
    first, second = chats[0].messages[0].files
    assert b"".join(read_chunks(first)) == b"wood"
    assert (second.name, second.missing) == ("f-2", "Grok's export does not contain this file.")
    assert [file.name for file in chats[0].messages[1].files] == ["cat.jpg"]
    assert report.notes == []


def test_projects_and_tasks_are_named() -> None:
    value = {"conversations": [grok_turn()], "projects": [{"name": "P"}], "tasks": []}
    assert read_all(json_file(value))[1].notes == [
        "The file also has this, which is not imported: projects (1)."
    ]
