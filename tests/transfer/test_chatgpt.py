"""ChatGPT's data export."""

from datetime import UTC, datetime
from typing import Any

import pytest

from chatapp.transfer import Damaged, SourceFeedback, read_chunks
from chatapp.transfer.formats.parts import DAMAGED_MESSAGE, NO_ROLE
from chatapp.transfer.tree import DANGLING
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.sources import Source
from tests.transfer.samples import (
    NOON,
    PNG,
    build_zip,
    by_id,
    gpt_chat,
    gpt_message,
    gpt_turn,
    json_file,
    only,
    outline,
    read_all,
    read_skipped,
)


def read_reply(*messages: dict[str, Any], **others: Any) -> Any:
    """Return the reply that these messages after a prompt become."""
    nodes: list[Any] = [("u", None, gpt_message("user", "Go"))]
    for number, message in enumerate(messages):
        nodes.append((f"n{number}", nodes[-1][0], message))
    chat = only(json_file([gpt_chat(nodes, **others)]))
    assert len(chat.messages) == 2
    return chat.messages[1]


def test_a_chat_with_its_fields() -> None:
    chat = only(
        json_file(
            [
                gpt_turn(
                    is_archived=True,
                    pinned_time=NOON,
                    conversation_template_id="g-p-42",
                    title=None,
                )
            ]
        )
    )
    assert outline(chat) == [
        ("u1", None, "How long does dough rest?"),
        ("a1", "u1", "About an hour."),
    ]
    assert (chat.source, chat.source_id, chat.active_leaf) == ("chatgpt", "chat-1", "a1")
    assert chat.created_at == datetime.fromtimestamp(NOON + 0.25, UTC)
    assert chat.updated_at == datetime.fromtimestamp(NOON + 60, UTC)
    assert (chat.is_archived, chat.is_pinned, chat.folder_id) == (True, True, "g-p-42")
    assert chat.title == "How long does dough rest?"
    reply = chat.messages[1]
    assert (reply.model, reply.ending) == ("gpt-5", Ending.COMPLETE)
    assert reply.created_at == datetime.fromtimestamp(NOON + 0.5, UTC)


def test_parts_and_paragraphs_are_never_joined_by_spaces() -> None:
    reply = read_reply(
        gpt_message("assistant", {"content_type": "text", "parts": ["- a", "- b\n"]})
    )
    assert reply.content == "- a\n\n- b\n"


def test_links_follow_parents_and_children_only_order_siblings() -> None:
    chat = gpt_chat(
        [
            ("u1", None, gpt_message("user", "one")),
            ("a1", "u1", gpt_message("assistant", "first")),
            ("a2", "u1", gpt_message("assistant", "second")),
            ("u2", "a1", gpt_message("user", "two")),
        ]
    )
    chat["mapping"]["u1"]["children"] = ["a2", "a1"]
    chat["mapping"]["a1"]["children"] = []
    assert [message.source_id for message in only(json_file([chat])).messages] == [
        "u1",
        "a2",
        "a1",
        "u2",
    ]


def test_hidden_messages_are_left_out_and_their_children_take_their_place() -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    chat = gpt_chat(
        [
            ("s", None, gpt_message("system", "Be nice.")),
            ("h", "s", gpt_message("user", "secret", metadata=hidden)),
            ("w", "h", gpt_message("assistant", "weightless", weight=0.0)),
            ("u", "w", gpt_message("user", "Hello")),
            ("m", "u", gpt_message("assistant", {"content_type": "model_editable_context"})),
            ("a", "m", gpt_message("assistant", "Hi")),
        ]
    )
    source_chat = only(json_file([chat]))
    assert outline(source_chat) == [("u", None, "Hello"), ("a", "u", "Hi")]
    assert source_chat.left_out == {"hidden message": 3}


def test_custom_instructions_become_the_system_prompt() -> None:
    content = {
        "content_type": "user_editable_context",
        "user_profile": "I bake.",
        "user_instructions": "Use grams.",
    }
    nodes = [("i", None, gpt_message("user", content)), ("u", "i", gpt_message("user", "Hi"))]
    chat = only(json_file([gpt_chat(nodes)]))
    assert chat.system_prompt == "I bake.\n\nUse grams."
    assert len(chat.messages) == 1


def test_custom_instructions_of_old_exports_are_read_too() -> None:
    about = {"about_user_message": "I bake.", "about_model_message": "Use grams."}
    metadata = {"is_user_system_message": True, "user_context_message_data": about}
    nodes = [("i", None, gpt_message("system", "x", metadata=metadata))]
    chat = only(json_file([gpt_chat([*nodes, ("u", "i", gpt_message("user", "Hi"))])]))
    assert chat.system_prompt == "I bake.\n\nUse grams."


def test_thoughts_tools_and_answer_become_one_reply() -> None:
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Plan", "content": "Add."}]}
    code = {"content_type": "code", "language": "python", "text": "print(1 + 1)"}
    output = {"content_type": "execution_output", "text": "2"}
    recap = {"content_type": "reasoning_recap", "content": "Thought for 1m 3s"}
    reply = read_reply(
        gpt_message("assistant", thoughts),
        gpt_message("assistant", "I'll calculate.", channel="commentary"),
        gpt_message("assistant", code, recipient="python"),
        gpt_message("tool", output, name="python"),
        gpt_message("assistant", recap),
        gpt_message("assistant", "It is 2.", channel="final"),
    )
    first, last = reply.rounds
    assert (first.reasoning, first.content) == ("**Plan**\n\nAdd.", "I'll calculate.")
    [run] = first.tool_runs
    assert (run.name, run.arguments, run.result) == ("python", "print(1 + 1)", "2")
    assert (last.content, reply.source_id) == ("It is 2.", "n5")
    assert reply.reasoning_seconds == 63


def test_code_for_the_reader_is_a_code_block() -> None:
    content = {"content_type": "code", "language": "python", "text": 'x = """```"""'}
    assert read_reply(gpt_message("assistant", content)).content == (
        '````python\nx = """```"""\n````'
    )


def test_a_page_that_was_read_is_a_result_and_a_source() -> None:
    page = {
        "content_type": "sonic_webpage",
        "url": "https://bread.example/rest",
        "title": "Resting",
        "text": "Let it rest.",
    }
    reply = read_reply(
        gpt_message("assistant", '{"q": "dough"}', recipient="web.run"),
        gpt_message("tool", page, name="web.run", weight=0),
        gpt_message("assistant", "Rest it."),
    )
    assert reply.tool_runs[0].result == "Resting\n\nLet it rest."
    assert reply.sources == (Source("https://bread.example/rest", "Resting"),)


def test_a_tool_that_failed_says_so() -> None:
    error = {"content_type": "system_error", "name": "Denied", "text": "robots.txt"}
    reply = read_reply(
        gpt_message("assistant", "{}", recipient="web.run"), gpt_message("tool", error, name="web")
    )
    assert (reply.tool_runs[0].state, reply.tool_runs[0].result) == (
        "failed",
        "Denied\n\nrobots.txt",
    )


def test_marks_become_links_or_names_or_nothing() -> None:
    cited = "\ue200cite\ue202turn0search3\ue201"
    reference = {
        "matched_text": cited,
        "type": "grouped_webpages",
        "items": [{"title": "Dough [2]", "url": "https://a.example/x_(y)"}],
    }
    unsafe = {"matched_text": "\ue200cite\ue202turn1\ue201", "url": "javascript:alert(1)"}
    marked_text = (
        f'\ue203Rest it.\ue204{cited} In \ue200entity\ue202["city","Lisbon","Portugal"]\ue201 too.'
        "\ue200cite\ue202turn1\ue201\ue200navlist\ue202x\ue201【4:0†source】 【not a mark】"
        ' Also entity["city","Porto","Portugal"].'
    )
    metadata = {"content_references": [reference, unsafe]}
    reply = read_reply(gpt_message("assistant", marked_text, metadata=metadata))
    assert reply.content == (
        "Rest it. ([Dough \\[2\\]](<https://a.example/x_(y)>)) In Lisbon too. 【not a mark】"
        " Also Porto."
    )
    assert [source.url for source in reply.sources] == ["https://a.example/x_(y)"]


def test_citations_of_old_exports_become_links() -> None:
    cited_text = "See 【1†source】 and 【2†source】."
    about = {"type": "webpage", "title": "One", "url": "https://one.example/"}
    citations = [{"start_ix": 4, "end_ix": 14, "metadata": about}, {"start_ix": "x"}, None]
    reply = read_reply(gpt_message("assistant", cited_text, metadata={"citations": citations}))
    assert reply.content == "See  ([One](https://one.example/)) and ."


@pytest.mark.parametrize(
    ("others", "ending"),
    [
        ({"status": "in_progress"}, Ending.INTERRUPTED),
        ({"status": "finished_partial_completion"}, Ending.STOPPED),
        ({"metadata": {"finish_details": {"type": "interrupted"}}}, Ending.STOPPED),
        ({"metadata": {"finish_details": {"type": "max_tokens"}}}, Ending.LENGTH),
        ({"metadata": None}, Ending.COMPLETE),
    ],
)
def test_endings(others: dict[str, Any], ending: Ending) -> None:
    assert read_reply(gpt_message("assistant", "So", **others)).ending is ending


def test_the_model_of_the_chat_counts_if_the_message_has_none() -> None:
    reply = read_reply(gpt_message("assistant", "So", metadata={}), default_model_slug="gpt-4o")
    assert reply.model == "gpt-4o"


def test_unknown_parts_are_kept_as_json_and_counted() -> None:
    widget = {"content_type": "super_widget", "widget": {"rows": [1]}}
    nodes = [("u", None, gpt_message("user", "Hi")), ("a", "u", gpt_message("assistant", widget))]
    chat = only(json_file([gpt_chat(nodes)]))
    assert '"rows"' in chat.messages[1].content
    assert chat.messages[1].content.startswith("```json\n")
    assert chat.left_out == {"unknown part (super_widget)": 1}


def images() -> dict[str, Any]:
    new = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_00ab"}
    old = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-OldOne"}
    gone = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_gone"}
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_s"}
    spoken = {"content_type": "audio_transcription", "text": "Look at these."}
    parts = [new, old, gone, sound, spoken]
    attached = [
        {"id": "file_00ab", "name": "cat.png", "mime_type": "image/png", "size": 28},
        {"id": "file-Notes", "name": "notes.txt", "mimeType": "text/plain"},
    ]
    content = {"content_type": "multimodal_text", "parts": parts}
    prompt = gpt_message("user", content, metadata={"attachments": attached})
    return gpt_chat([("u", None, prompt)])


def test_files_are_found_in_the_zip_by_their_ids() -> None:
    file = build_zip(
        {
            "export/conversations.json": [images()],
            "export/file_00ab.dat": PNG,
            "export/file-OldOne-my-dog.png": b"dog",
            "export/file-Notes-notes.txt": b"rest the dough",
            "export/conversation_asset_file_names.json": {"file_00ab.dat": "friendly.png"},
            "__MACOSX/export/._conversations.json": b"\0",
        }
    )
    chat = only(file)
    dog, gone, cat, notes = chat.messages[0].files
    assert (dog.name, cat.name, notes.name) == ("my-dog.png", "cat.png", "notes.txt")
    assert (cat.media_type, cat.size) == ("image/png", len(PNG))
    assert [b"".join(read_chunks(source_file)) for source_file in (dog, cat, notes)] == [
        b"dog",
        PNG,
        b"rest the dough",
    ]
    assert gone.missing == "The export does not contain this file."
    with pytest.raises(Damaged, match="does not contain"):
        next(read_chunks(gone))
    assert chat.messages[0].content == "Look at these."
    assert chat.left_out == {"sound": 1}


def test_a_file_may_be_in_another_part_of_the_export() -> None:
    first = build_zip({"conversations-000.json": [images()], "chat.html": b"<html>"})
    second = build_zip({"conversations-001.json": [gpt_turn()], "file_00ab.dat": PNG})
    chats, report = read_all(first, second)
    assert len(chats) == 2
    assert b"".join(read_chunks(chats[0].messages[0].files[2])) == PNG
    assert (report.entry_count, report.readable) == (2, 2)


def test_without_the_zip_files_are_missing() -> None:
    assert {file.content for file in only(json_file([images()])).messages[0].files} == {None}


def test_charts_of_python_belong_to_the_reply() -> None:
    output = {"content_type": "execution_output", "text": ""}
    result = {"messages": [{"message_type": "image", "image_url": "file-service://file-Plot"}]}
    chat = gpt_chat(
        [
            ("u", None, gpt_message("user", "Plot")),
            ("c", "u", gpt_message("assistant", "plot()", recipient="python")),
            ("t", "c", gpt_message("tool", output, metadata={"aggregate_result": result})),
        ]
    )
    source_chat = only(build_zip({"conversations.json": [chat], "file-Plot.png": PNG}))
    assert b"".join(read_chunks(source_chat.messages[1].files[0])) == PNG
    assert source_chat.messages[1].ending is Ending.COMPLETE


def test_thumbs_become_feedback() -> None:
    rating = {"message_id": "a1", "conversation_id": "chat-1", "rating": "thumbsDown"}
    members = {"conversations.json": [gpt_turn()], "message_feedback.json": [rating, None]}
    reply = by_id(only(build_zip(members)))["a1"]
    assert reply.feedback == SourceFeedback("down")


def test_parts_of_the_export_are_read_in_order() -> None:
    members = {
        f"conversations-00{number}.json": [gpt_turn(conversation_id=str(number))]
        for number in (1, 0, 2)
    }
    chats, _ = read_all(build_zip(members))
    assert [chat.source_id for chat in chats] == ["0", "1", "2"]


def test_a_wrapped_list_is_read() -> None:
    assert only(json_file({"conversations": [gpt_turn()]})).source_id == "chat-1"


def test_damaged_chats_are_skipped_with_a_reason_and_the_others_read() -> None:
    file = json_file([gpt_turn(), {"title": "Empty", "id": "x"}, None, gpt_chat([], title="None")])
    chats, report = read_all(file)
    assert len(chats) == 1
    assert [(skipped_chat.label, skipped_chat.reason) for skipped_chat in report.skipped] == [
        ("Empty (entry 2)", "It has no messages."),
        ("entry 3", "It is a single value, not a chat."),
        ("None (entry 4)", "It has no messages."),
    ]
    assert (report.entry_count, report.readable, report.skipped_count) == (4, 1, 3)


def test_wrong_types_and_dates_are_survived_and_counted() -> None:
    chat = gpt_turn(create_time=1e300, update_time="yesterday", current_node="gone", title=5)
    mapping = chat["mapping"]
    mapping["a1"]["message"]["create_time"] = -5
    mapping["a1"]["children"] = "none"
    mapping["bad"] = 7
    mapping["worse"] = {"parent": ["a1"], "message": "text"}
    mapping["odd"] = {"parent": "a1", "message": gpt_message("critic", "Hm")}
    source_chat = only(json_file([chat]))
    assert outline(source_chat)[1] == ("a1", "u1", "About an hour.")
    assert source_chat.left_out == {"date": 3}
    assert [(damage.reason, damage.place) for damage in source_chat.damaged] == [
        (DAMAGED_MESSAGE, "message bad"),
        (DAMAGED_MESSAGE, "message worse"),
        (NO_ROLE, "message odd"),
    ]
    assert source_chat.notes == (DANGLING,)
    assert source_chat.created_at == source_chat.messages[0].created_at


def test_texts_can_be_stored() -> None:
    chat = gpt_turn(title="A\0 \ud800b", id="i\0d", conversation_id=None)
    chat["mapping"]["a1"]["message"]["content"]["parts"] = ["nul\0 and \ud83d half"]
    source_chat = only(json_file([chat]))
    assert (source_chat.title, source_chat.source_id) == ("A �b", "id")
    assert source_chat.messages[1].content == "nul and � half"


def test_a_chat_without_an_id_gets_the_same_one_each_time() -> None:
    ids = {
        only(json_file([gpt_turn(id=None, conversation_id=None)])).source_id,
        only(json_file([gpt_turn(id="", conversation_id=0.5, update_time=NOON + 99)])).source_id,
    }
    assert len(ids) == 1
    assert (
        read_skipped(json_file([gpt_turn(), gpt_chat([], id="e", conversation_id=None)])).source_id
        == "e"
    )
