"""Parts of ChatGPT's chats that are written in several places, or are missing."""

from typing import Any

import pytest

from chatapp.transfer.formats.parts import ALL_DAMAGED, DAMAGED_MESSAGE
from tests.transfer.samples import (
    build_zip,
    gpt_chat,
    gpt_message,
    gpt_turn,
    json_file,
    only,
    read_all,
    read_skipped,
)

PICTURE = {
    "content_type": "image_asset_pointer",
    "asset_pointer": "sediment://file_gone",
    "size_bytes": 9,
}


@pytest.mark.parametrize(
    "chunks", [["12", "+", "30"], [{"text": "12+"}, {"content": "30"}], "12+30"]
)
def test_thoughts_are_read_from_their_chunks(chunks: object) -> None:
    thoughts = {
        "content_type": "thoughts",
        "thoughts": [
            {"summary": "Read", "content": "Three lines."},
            {"summary": "Add", "content": "", "chunks": chunks},
        ],
    }
    nodes = [
        ("u", None, gpt_message("user", "Sum?")),
        ("t", "u", gpt_message("assistant", thoughts)),
        ("a", "t", gpt_message("assistant", "42")),
    ]
    reply = only(json_file([gpt_chat(nodes)])).messages[1]
    assert reply.reasoning == "**Read**\n\nThree lines.\n\n**Add**\n\n12+30"


def test_thoughts_without_a_list_are_read_from_their_chunks() -> None:
    thoughts = {"content_type": "thoughts", "chunks": ["Hm", "m."]}
    nodes = [
        ("u", None, gpt_message("user", "Sum?")),
        ("t", "u", gpt_message("assistant", thoughts)),
    ]
    assert only(json_file([gpt_chat(nodes)])).messages[1].reasoning == "Hmm."


def test_a_missing_picture_is_one_file_wherever_it_is_named() -> None:
    attached = {"attachments": [{"id": "file_gone", "name": "receipt.png", "size": 9}]}
    look = {"content_type": "multimodal_text", "parts": [PICTURE, "Look"]}
    again = {"content_type": "multimodal_text", "parts": [PICTURE]}
    nodes = [
        ("u", None, gpt_message("user", look, metadata=attached)),
        ("a", "u", gpt_message("assistant", again)),
        ("b", "a", gpt_message("assistant", again)),
    ]
    prompt, reply = only(json_file([gpt_chat(nodes)])).messages
    assert [file.name for file in prompt.files] == ["receipt.png"]
    assert reply.files == prompt.files
    assert reply.files[0] is prompt.files[0]


def test_a_missing_picture_without_a_name_is_one_file_too() -> None:
    look = {"content_type": "multimodal_text", "parts": [PICTURE]}
    nodes = [
        ("u", None, gpt_message("user", look)),
        ("a", "u", gpt_message("assistant", look)),
    ]
    prompt, reply = only(json_file([gpt_chat(nodes)])).messages
    assert reply.files[0] is prompt.files[0]


def test_attachments_without_ids_stay_apart() -> None:
    attached = {"attachments": [{"name": "a.txt"}, {"name": "b.txt"}]}
    nodes = [("u", None, gpt_message("user", "Look", metadata=attached))]
    files = only(json_file([gpt_chat(nodes)])).messages[0].files
    assert [file.name for file in files] == ["a.txt", "b.txt"]


def test_the_prompt_of_a_generated_picture_is_kept() -> None:
    part = {**PICTURE, "metadata": {"dalle": {"prompt": "a cat, watercolour"}}}
    painted = {"content_type": "multimodal_text", "parts": [part, "Here."]}
    nodes = [
        ("u", None, gpt_message("user", "Paint")),
        ("a", "u", gpt_message("assistant", painted)),
    ]
    reply = only(json_file([gpt_chat(nodes)])).messages[1]
    assert reply.content == "Image prompt: a cat, watercolour\n\nHere."
    assert [file.name for file in reply.files] == ["file_gone"]


@pytest.mark.parametrize(
    "members",
    [
        {"projects.json": [{"id": "g-p-1", "name": "Taxes"}]},
        {"user_settings.json": {"a": [{"b": {"gizmo_id": "g-p-1", "gizmo_name": "Taxes"}}]}},
        {"gizmos.json": {"items": [{"id": "g-p-1", "display": {"name": "Taxes"}}]}},
        {"names.json": {"g-p-1": "Taxes"}},
    ],
)
def test_projects_get_their_names_wherever_the_export_has_them(members: dict[str, Any]) -> None:
    chats = {"conversations.json": [gpt_turn(conversation_template_id="g-p-1")]}
    chats_read, report = read_all(build_zip(chats | members))
    assert (chats_read[0].folder_id, chats_read[0].folder, report.notes) == ("g-p-1", "Taxes", [])


def test_the_name_of_a_file_in_a_project_is_not_its_name() -> None:
    members = {
        "conversations.json": [gpt_turn(conversation_template_id="g-p-1")],
        "library_files.json": [{"id": "file-1", "project_id": "g-p-1", "name": "a.pdf"}],
    }
    assert only(build_zip(members)).folder == ""


def test_a_chat_may_name_its_project() -> None:
    chat = gpt_turn(gizmo_id="g-p-1", project={"name": "Taxes"})
    assert only(json_file([chat])).folder == "Taxes"


def test_only_the_root_may_have_no_message() -> None:
    chat = gpt_turn()
    chat["mapping"]["lost"] = {"id": "lost", "parent": "a1", "children": []}
    chat["mapping"]["bare"] = {"parent": "a1", "message": gpt_message("user", None)}
    source_chat = only(json_file([chat]))
    assert [(damage.reason, damage.place) for damage in source_chat.damaged] == [
        (DAMAGED_MESSAGE, "message lost"),
        (DAMAGED_MESSAGE, "message bare"),
    ]


def test_a_chat_with_damaged_messages_only_says_so() -> None:
    chat = gpt_chat([("u", None, None)], title="Lost")
    chat["mapping"]["u"] = 5
    assert read_skipped(json_file([gpt_turn(), chat])).reason == ALL_DAMAGED
