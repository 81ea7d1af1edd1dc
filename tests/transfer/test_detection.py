"""Recognising exports by their content, and the bounds of archives."""

import io
import struct
import zipfile
from typing import Any, BinaryIO

import pytest

from chatapp.transfer import (
    Damaged,
    Format,
    Unreadable,
    archive,
    detect,
    read_chunks,
)
from chatapp.transfer.reading import NOT_A_CHAT
from tests.transfer.samples import (
    TURNS,
    build_zip,
    claude_turn,
    gpt_turn,
    json_file,
    only,
    read_all,
    read_entries,
)

CHATS = {format: turn() for format, turn in TURNS.items()}


@pytest.mark.parametrize("format", Format)
def test_each_format_is_recognised_by_its_content(format: Format) -> None:
    chat = CHATS[format]
    assert detect([json_file([None, chat])]) is format
    for file in (
        json_file(chat),
        build_zip({"some/folder/conversations.json": [chat]}),
        build_zip({"a.txt": b"PK", "0.json": {"x": 1}, "1.json": chat}),
    ):
        assert only(file).source is format


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"[]",
        b"{}",
        b"[1, 2",
        b'{"messages": [], "title": "x"}',
        b"\xff\xfe[\0{\0",
        b'[{"mapping": []}]',
    ],
)
def test_other_files_are_refused_with_what_can_be_imported(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"ChatGPT and Claude .* Open WebUI .* LibreChat"):
        detect([io.BytesIO(data)])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"# Chat\n\n**USER**\n\nHi\n\n**ASSISTANT**\n\nHello\n", "Chatbox .* backup as JSON"),
        (b"# Chat\n\nHi\n", "This is text"),
        (b"<!DOCTYPE html><title>My Activity</title>", "Gemini's activity as a web page"),
        (b"<html><head><title>ChatGPT Data Export", "the ZIP as you got it"),
    ],
)
def test_texts_of_known_apps_are_refused_with_what_to_do_instead(
    data: bytes, sentence: str
) -> None:
    with pytest.raises(Unreadable, match=sentence):
        detect([io.BytesIO(data)])


def deep_seek() -> dict[str, Any]:
    fragments = [{"type": "REQUEST", "content": "Hi"}]
    return {"title": "Hi", "mapping": {"1": {"message": {"fragments": fragments}}}}


def test_what_claude_remembers_is_refused_by_its_name() -> None:
    memory = json_file([{"conversations_memory": "Likes kites."}])
    with pytest.raises(Unreadable, match=r"what Claude remembers, not a chat\. Chats can be"):
        detect([memory])


@pytest.mark.parametrize(
    ("value", "app"),
    [
        ([deep_seek()], "DeepSeek"),
        ({"name": "A", "messages": [{"versions": [], "currentlySelected": 0}]}, "LM Studio"),
        ({"runSettings": {}, "chunkedPrompt": {"chunks": []}}, "Google AI Studio"),
        ([{"prompt": "Hi", "response": "Hello", "sent_at": 1}], "AnythingLLM"),
        ([{"chatId": "1", "contentChunks": [], "role": "user"}], "Mistral's Le Chat"),
    ],
)
def test_json_of_other_known_apps_is_refused_by_its_name(value: object, app: str) -> None:
    for file in (json_file(value), build_zip({"conversations.json": value})):
        with pytest.raises(Unreadable, match=f"export of {app}, which can't be imported. Chats"):
            detect([file])


def test_a_takeout_with_web_pages_is_refused_with_what_to_do_instead() -> None:
    with pytest.raises(Unreadable, match="Choose JSON"):
        detect([build_zip({"Takeout/My Activity/Gemini Apps/MyActivity.html": b"<html>"})])


def test_other_archives_are_refused() -> None:
    with pytest.raises(Unreadable, match="isn't an export"):
        detect([build_zip({"readme.txt": b"x", "a.json": [1]})])


def test_exports_of_different_apps_are_not_mixed() -> None:
    with pytest.raises(Unreadable, match="different apps"):
        detect([json_file(gpt_turn()), json_file(claude_turn())])


def test_a_part_with_files_only_is_read_with_the_others() -> None:
    report = read_all(
        build_zip({"file-A.png": b"x"}), build_zip({"conversations.json": [gpt_turn()]})
    )[1]
    assert report.readable == 1


def test_a_file_that_ends_too_early_keeps_the_chats_before() -> None:
    data = json_file([claude_turn(uuid="1"), claude_turn(uuid="2"), claude_turn(uuid="3")]).read()
    chats, report = read_all(io.BytesIO(data[: len(data) * 5 // 6]))
    assert [chat.source_id for chat in chats] == ["1", "2"]
    assert [skipped_chat.reason for skipped_chat in report.skipped] == [
        "The file ends in the middle of it."
    ]
    assert report.notes == ["The file ends too early. The chats before that are read."]


def test_each_part_that_cannot_be_read_is_named_with_its_file() -> None:
    broken = b'[{"title": "Broken", "mapping": {,}}, 7, {"title": "Empty", "id": "e"}, '
    cut_off = json_file([gpt_turn(), gpt_turn(title="Cut")]).read()[:-20]
    members = {
        "conversations-000.json": [gpt_turn()],
        "conversations-001.json": broken + b'{"id": 1}, {"mapping": []}] and more',
        "conversations-002.json": cut_off,
        "conversations-003.json": b"",
    }
    chats, report = read_all(build_zip(members))
    assert len(chats) == 2
    assert [(skipped_chat.label, skipped_chat.reason) for skipped_chat in report.skipped] == [
        ("entry 1 of “conversations-001.json”", "Its JSON is damaged."),
        ("entry 2 of “conversations-001.json”", "It is a single value, not a chat."),
        ("Empty (entry 3 of “conversations-001.json”)", "It has no messages."),
        ("entry 4 of “conversations-001.json”", "It has no messages."),
        ("entry 5 of “conversations-001.json”", NOT_A_CHAT),
        ("entry 2 of “conversations-002.json”", "The file ends in the middle of it."),
    ]
    assert report.notes == [
        "“conversations-001.json” has something after its last chat that can't be read.",
        "“conversations-002.json” ends too early. The chats before that are read.",
        "“conversations-003.json” is empty.",
    ]


def test_uploaded_files_are_named_in_the_report() -> None:
    files = [json_file([gpt_turn()]), io.BytesIO(b"[5]")]
    report = read_entries(files, names=["a.json", "b.json"])[1]
    assert [skipped_chat.place for skipped_chat in report.skipped] == ["entry 1 of “b.json”"]


def test_other_files_in_a_zip_are_named() -> None:
    many = {f"{number}.txt": b"x" for number in range(20)}
    report = read_all(build_zip({"conversations.json": [gpt_turn()], **many}))[1]
    assert len(report.notes) == 1
    assert report.notes[0].startswith("Files in the ZIP that are not imported: 0.txt, 1.txt, ")
    assert report.notes[0].endswith(" and 10 more.")


def test_other_lists_beside_the_chats_are_named_wherever_they_are() -> None:
    chats = [gpt_turn()]
    for value in (
        {"conversations": chats, "tasks": [1, 2], "version": 2},
        {"tasks": [1, 2], "empty": [], "conversations": chats},
    ):
        chats_read, report = read_all(json_file(value))
        assert len(chats_read) == 1
        assert report.notes == ["The file also has this, which is not imported: tasks (2)."]


def damage_member(file: BinaryIO, at: bytes) -> BinaryIO:
    """Return the file with other bytes in the data of a stored member."""
    return io.BytesIO(file.read().replace(at, at[::-1]))


def build_stored_zip(members: dict[str, bytes]) -> BinaryIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for name, content in members.items():
            target.writestr(name, content)
    file.seek(0)
    return file


def test_a_damaged_member_keeps_the_chats_before() -> None:
    chats = [gpt_turn(title=f"Chat {number} " + "x" * 1000) for number in range(500)]
    content = json_file([*chats, gpt_turn(title="Damaged title here")]).read()
    file = damage_member(build_stored_zip({"conversations.json": content}), b"Damaged title")
    read_before, report = read_entries([file], Format.CHATGPT)
    assert 100 < len(read_before) < 500
    assert report.notes == [
        "“conversations.json” is damaged in the ZIP. The chats before that are read."
    ]


def test_a_damaged_file_cannot_be_read() -> None:
    chat = gpt_turn()
    metadata = {"attachments": [{"id": "file-A", "name": "a.txt"}]}
    chat["mapping"]["u1"]["message"]["metadata"] = metadata
    members = {"conversations.json": json_file([chat]).read(), "file-A.txt": b"abc" * 9}
    file = damage_member(build_stored_zip(members), b"abcabc")
    source_file = only(file).messages[0].files[0]
    with pytest.raises(Damaged):
        list(read_chunks(source_file))


def test_archives_that_unpack_to_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MIN_SUSPICIOUS_BYTES", 2**20)
    file = build_zip({"conversations.json": b" " * 2**21})
    with pytest.raises(Unreadable, match="too large when unpacked"):
        detect([file])


@pytest.mark.parametrize("comment", [b"", b"PK\x06\x06" + bytes(52)])
def test_archives_with_many_members_are_refused_before_they_are_listed(
    comment: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if a comment looks like another end of the archive, which has an empty list."""
    monkeypatch.setattr(archive, "MAX_DIRECTORY_BYTES", 1000)
    file = build_zip({f"{number}.json": b"{}" for number in range(100)})
    with zipfile.ZipFile(file, "a") as target:
        target.comment = comment
    with pytest.raises(Unreadable, match="too many files"):
        detect([file])


def test_encrypted_archives_are_refused() -> None:
    data = bytearray(build_stored_zip({"conversations.json": b"[]"}).read())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", data, data.index(mark) + offset, 1)
    with pytest.raises(Unreadable, match="encrypted"):
        detect([io.BytesIO(bytes(data))])


@pytest.mark.parametrize("size", [4, 50, 200])
def test_incomplete_archives_are_refused(size: int) -> None:
    data = build_zip({"conversations.json": [gpt_turn()]})
    data.seek(0)
    with pytest.raises(Unreadable, match="damaged or incomplete"):
        detect([io.BytesIO(data.read(size))])


@pytest.mark.parametrize("name", ["../conversations.json", "__MACOSX/conversations.json"])
def test_members_with_odd_names_are_passed_over(name: str) -> None:
    with pytest.raises(Unreadable, match="isn't an export"):
        detect([build_zip({name: [gpt_turn()]})])
