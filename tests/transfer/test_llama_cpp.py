"""Exports of the web page of llama.cpp's server."""

import io
import json
from datetime import UTC, datetime

from chatapp.transfer import read_chunks
from chatapp.upstream.wire.reply import Ending
from tests.transfer.samples import (
    NOON,
    PNG,
    PNG_URL,
    json_file,
    llama_chat,
    llama_message,
    llama_turn,
    only,
    outline,
    read_all,
)


def test_a_chat_with_its_fields() -> None:
    chat = only(json_file(llama_turn()))
    assert outline(chat) == [("1", None, "Are you there?"), ("2", "1", "Yes.")]
    assert (chat.source, chat.source_id, chat.title) == ("llama_cpp", "ll-1", "Local")
    assert chat.updated_at == datetime.fromtimestamp(NOON + 0.5, UTC)
    assert chat.messages[1].model == "qwen"
    assert (chat.left_out, chat.damaged) == ({}, ())


def test_a_chat_of_2024_has_one_branch() -> None:
    messages = [
        {"id": number, "role": role, "content": f"{number}"}
        for number, role in enumerate(("user", "assistant", "user"))
    ]
    chat = only(json_file({"id": "conv-17", "lastModified": NOON * 1000, "messages": messages}))
    assert outline(chat) == [("0", None, "0"), ("1", "0", "1"), ("2", "1", "2")]
    assert (chat.source_id, chat.active_leaf) == ("conv-17", "2")


def test_json_lines_have_a_chat_in_each_line() -> None:
    chats = [llama_turn(id="one"), llama_turn(id="two")]
    data = "\n".join(json.dumps(chat) for chat in chats)
    assert [chat.source_id for chat in read_all(io.BytesIO(data.encode()))[0]] == ["one", "two"]


def test_without_a_current_message_the_newest_branch_is_shown() -> None:
    messages = [
        llama_message("1", "0", "user", "Hi"),
        llama_message("3", "1", "assistant", "Later"),
        llama_message("2", "1", "assistant", "Earlier"),
    ]
    chat = only(json_file(llama_chat(messages)))
    assert [(message.source_id, message.parent) for message in chat.messages] == [
        ("1", None),
        ("3", "1"),
        ("2", "1"),
    ]
    assert (chat.active_leaf, chat.notes) == ("3", ())
    assert only(json_file(llama_chat(messages, currNode="2"))).active_leaf == "2"


def test_reasoning_tools_and_instructions() -> None:
    call = [{"id": "t", "function": {"name": "add", "arguments": '{"a": 1}'}}]
    messages = [
        llama_message("1", "0", "system", "Be exact."),
        llama_message("2", "1", "user", "Sum?"),
        llama_message(
            "3", "2", "assistant", "", reasoningContent="Hm.", toolCalls=json.dumps(call)
        ),
        llama_message("4", "3", "tool", "2", toolCallId="t"),
        llama_message("5", "4", "assistant", "<think>\nTwo.\n</think>\n\nIt is 2."),
        llama_message("6", "5", "user", "More"),
        llama_message("7", "6", "assistant", "Out of memory", type="error"),
    ]
    chat = only(json_file(llama_chat(messages)))
    reply = chat.messages[1]
    assert chat.system_prompt == "Be exact."
    assert (reply.reasoning, reply.content) == ("Hm.\n\nTwo.", "It is 2.")
    assert [(run.name, run.arguments, run.result) for run in reply.tool_runs] == [
        ("add", '{"a": 1}', "2")
    ]
    failed = chat.messages[3]
    assert (failed.ending, failed.error, failed.content) == (Ending.FAILED, "Out of memory", "")


def test_files_come_along() -> None:
    extra = [
        {"type": "textFile", "name": "a.txt", "content": "wood"},
        {"type": "imageFile", "name": "b.png", "base64Url": PNG_URL},
        {"type": "audioFile", "name": "c.wav", "base64Data": "AAAA"},
        {"type": "pdfFile", "name": "d.pdf"},
        {"type": "new"},
    ]
    chat = only(json_file(llama_chat([llama_message("1", "0", "user", "Look", extra=extra)])))
    text, image, gone = chat.messages[0].files
    assert b"".join(read_chunks(text)) == b"wood"
    assert b"".join(read_chunks(image)) == PNG
    assert (gone.name, bool(gone.missing)) == ("d.pdf", True)
    assert chat.left_out == {"sound": 1, "unknown part (new)": 1}
