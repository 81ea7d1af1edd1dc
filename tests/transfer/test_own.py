"""Our own export, and personal archives."""

import json
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import msgspec
import pytest
from django.conf import settings
from django.test import AsyncClient, Client

from chatapp.models import ChatSettings, Conversation, Feedback, Project, User
from chatapp.models.conversations.messages.extras import Extras
from chatapp.models.conversations.messages.rounds import Round, RunState, ToolRun
from chatapp.transfer import Format, SourceRound, SourceToolRun, read_chunks
from chatapp.transfer.export_format import (
    NO_CHAT,
    ChatRecord,
    MessageRecord,
    ModelSettingsRecord,
)
from chatapp.transfer.record_reading import Record
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.sources import Source
from tests.transfer.samples import (
    build_zip,
    json_file,
    only,
    outline,
    own_detailed,
    own_turn,
    read_all,
    read_skipped,
)

AT = datetime(2025, 10, 9, 12, tzinfo=UTC)


def test_lines_are_read() -> None:
    lines = "".join(json.dumps(own_turn(id=str(number))) + "\n" for number in range(3))
    chats, _ = read_all(BytesIO(lines.encode()))
    assert [chat.source_id for chat in chats] == ["0", "1", "2"]
    assert outline(chats[0]) == [("p", None, "How far is Vega?"), ("r", "p", "25 light-years.")]
    assert chats[0].messages[1].ending is Ending.COMPLETE


def test_what_only_our_own_export_has_is_passed_on() -> None:
    source_chat = only(json_file(own_detailed()))
    assert (source_chat.system_prompt, source_chat.parameters) == ("Rhyme.", {"seed": 1})
    [request], [cut] = source_chat.own.requests.values(), source_chat.own.left_out
    assert (request.id, request.instructions, request.parameters) == ("s", "Be exact.", {"seed": 1})
    assert source_chat.own.model_settings == [
        ModelSettingsRecord("U", "m", parameters={"seed": None})
    ]
    assert (cut.through, cut.summary, cut.upstream, cut.model) == ("r", "Short.", "U", "m")
    assert (cut.is_edited, cut.is_lifted, cut.created_at) == (False, False, "")
    prompt, reply = source_chat.messages
    assert prompt.files[0].pages == (2, 3)
    assert [source_round.content for source_round in reply.rounds] == ["Hm.", "25."]
    result = {
        **{"flagged": True, "categories": ["c"], "scores": {"c": 1.0}},
        **{"applied_input_types": {}, "model": ""},
    }
    own = reply.own
    assert own.request_settings == "s"
    assert own.error
    assert own.error.kind == "rate_limited"
    assert own.failed_models == [
        {"upstream": 0, "model": "x", "name": "X", "kind": "rate_limited", "status": 429},
    ]
    assert own.moderation == {
        "input": {"model": "g", "results": [result]},
        "output": {"code": "busy", "message": ""},
    }
    assert own.extras == {
        **{"sources": [], "source_count": 2, "expired_images": 1, "has_sound": False},
        **{"left_out": {"video": 1}, "imported_usage": {}},
    }
    assert own.imported_usage == {"provenance": "reported", "prompt_tokens": 3, "total_tokens": 7}


@pytest.mark.parametrize(
    "change",
    [
        {
            "choice": 10**30,
            "failed_models": [{"upstream": 7}] * 1000,
            "usage": {"total_tokens": -1},
        },
        {"moderation": {"input": {"results": [{"categories": ["c" * 500] * 200}] * 100}}},
        {"extras": {"left_out": {str(number): 10**30 for number in range(1000)}}},
        {"request_settings": "of another chat", "finish_reason": "x" * 10**6, "duration": -1},
    ],
)
def test_the_details_of_a_reply_are_short(change: dict[str, Any]) -> None:
    chat = own_turn(version=1)
    chat["messages"][1] |= change
    reply = only(json_file(chat)).messages[1]
    assert len(msgspec.json.encode(reply.own)) < 1_000_000
    assert all(failed_model["upstream"] == 0 for failed_model in reply.own.failed_models)
    assert (reply.own.duration, reply.own.imported_usage) == (None, {})


def test_settings_with_invalid_parameters_are_left_out() -> None:
    chat = own_turn(
        version=1,
        parameters={"top_logprobs": 3, "logprobs": True},
        model_settings=[
            {"upstream": "U", "model": "m", "parameters": {"logprobs": None}},
            {"upstream": "U", "model": "n", "parameters": {"extra": {"api_key": "x"}}},
            {"upstream": "U", "model": "o", "parameters": {"seed": 1, "unknown": None}},
            {"upstream": "", "model": "p", "system_prompt": ""},
        ],
        request_settings=[
            {"id": "withheld", "preset": {"name": "P", "version": 1}, "is_withheld": True},
            {"id": "bad", "parameters": {"temperature": 9}},
        ],
    )
    source_chat = only(json_file(chat))
    assert source_chat.own.requests == {}
    assert source_chat.own.model_settings == [ModelSettingsRecord("U", "o", parameters={"seed": 1})]
    assert source_chat.left_out == {"parameter": 3}


def test_the_tool_calls_of_a_stopped_reply_stay_after_its_text() -> None:
    call = {"id": "c", "name": "n", "arguments": "{}", "state": "cancelled", "result": "Too late"}
    chat = own_turn(version=1)
    chat["messages"][1] |= {"content": "I look.", "ending": "stopped", "tool_calls": [call]}
    run = SourceToolRun("c", "n", "{}", "Too late", "cancelled")
    assert only(json_file(chat)).messages[1].rounds == (SourceRound("", "I look.", (run,)),)


def test_an_empty_last_round_stays_one() -> None:
    call = {"id": "c", "name": "n", "arguments": "{}", "state": "done", "result": "1"}
    chat = own_turn(version=1)
    chat["messages"][1] |= {"ending": "failed", "rounds": [{"tool_calls": [call]}, {}]}
    *_, last = only(json_file(chat)).messages[1].rounds
    assert last == SourceRound()


def test_a_newer_version_is_named() -> None:
    assert "newer version" in read_skipped(json_file([own_turn(version=2)])).reason


def test_images_are_found_in_archives_that_do_not_list_them() -> None:
    chat = own_turn(version=1)
    chat["messages"][1]["images"] = [{"id": "r-0", "type": "image/png"}]
    line = json.dumps(chat).encode() + b"\n"
    members = {"conversations.jsonl": line, "files.json": [], "images/r-0.png": b"picture"}
    [picture] = only(build_zip(members)).messages[1].files
    assert b"".join(read_chunks(picture)) == b"picture"


def test_deleted_messages_and_chats_in_the_trash_are_left_out() -> None:
    chat = own_turn()
    chat["messages"].append({"id": "d", "role": "user", "parent": "r", "deleted_at": "2025-01-01"})
    source_chat = only(json_file(chat))
    assert len(source_chat.messages) == 2
    assert source_chat.left_out == {"deleted message": 1}
    assert (
        read_skipped(json_file([own_turn(trashed_at="2025-01-01")])).reason
        == "It was in the trash."
    )


def test_the_personal_archive_has_the_files() -> None:
    chat = own_turn()
    chat["messages"][0]["files"] = [
        {"id": "f", "name": "sky.txt", "type": "text/plain", "size": 4, "alt": "A list"},
        {"id": "g", "name": "old.png", "is_expired": True},
    ]
    line = json.dumps(chat).encode() + b"\n"
    index = [{"id": "f", "name": "sky.txt", "path": "files/f-sky.txt"}, None]
    members = {"conversations.jsonl": line, "files.json": index, "files/f-sky.txt": b"Vega"}
    file, expired = only(build_zip(members)).messages[0].files
    assert (file.name, file.media_type, file.alt) == ("sky.txt", "text/plain", "A list")
    assert b"".join(read_chunks(file)) == b"Vega"
    assert expired.missing == "The file had been deleted by the retention period."
    alone = only(BytesIO(line)).messages[0].files[0]
    assert "personal archive" in alone.missing


@pytest.fixture
def stars(alice: User) -> Conversation:
    """A chat with a value in each field that an importer can take over."""
    project = Project.objects.create(user=alice, name="Sky")
    stored = Conversation.objects.create(
        user=alice, title="Stars", project=project, is_pinned=True, archived_at=AT
    )
    settings = ChatSettings.for_conversation(stored)
    settings.set_own("Be exact.", {"temperature": 0.5, "extra": {"top_k": 2}})
    settings.store()
    prompt = stored.messages.create(role="user", content="Far?", created_at=AT)
    run = ToolRun("call_1", "look", '{"x": 1}', RunState.FAILED, "nothing")
    reply = stored.messages.create(
        parent=prompt,
        role="assistant",
        content="25.",
        created_at=AT + timedelta(seconds=1),
        earlier_rounds=[Round("Hm.", "", tool_runs=[run]).as_record()],
        extras_record=Extras((Source("https://vega.example/", "Vega"),)).as_record(),
        model="m",
        ending=Ending.STOPPED,
        reasoning_duration=2.5,
    )
    Feedback.give(reply, Feedback.Rating.DOWN, "no")
    return stored


@pytest.mark.django_db
async def test_what_is_exported_is_read_back(alices: Client, stars: Conversation) -> None:
    browser = AsyncClient(headers={"host": "localhost"})
    browser.cookies = alices.cookies
    answer: Any = await browser.post("/conversations/export/", {"ids": [str(stars.pk)]})
    chat = only(BytesIO(b"".join([part async for part in answer.streaming_content])))
    assert (chat.source, chat.source_id, chat.title) == (Format.OWN, str(stars.pk), "Stars")
    assert (chat.is_pinned, chat.is_archived, chat.folder) == (True, True, "Sky")
    assert (chat.created_at, chat.system_prompt) == (stars.created_at, "Be exact.")
    assert chat.parameters == {"temperature": 0.5, "extra": {"top_k": 2}}
    prompt, reply = chat.messages
    assert (prompt.role, prompt.content, prompt.created_at) == ("user", "Far?", AT)
    assert (reply.parent, reply.created_at) == (prompt.source_id, AT + timedelta(seconds=1))
    assert (reply.reasoning, reply.content) == ("Hm.", "25.")
    assert reply.tool_runs == (SourceToolRun("call_1", "look", '{"x": 1}', "nothing", "failed"),)
    assert reply.sources == (Source("https://vega.example/", "Vega"),)
    assert (reply.model, reply.ending, reply.reasoning_seconds) == ("m", Ending.STOPPED, 2.5)
    assert reply.feedback is not None
    assert (reply.feedback.rating, reply.feedback.note) == ("down", "no")
    assert chat.left_out == {}


def test_empty_fields_are_left_out_of_messages_but_not_of_chats() -> None:
    message = MessageRecord(id="m", role="user", created_at="2025-10-09T12:00:00+00:00")
    assert set(msgspec.to_builtins(message)) == {"id", "role", "created_at"}
    required = {field.name for field in msgspec.structs.fields(ChatRecord) if field.required}
    chat = msgspec.to_builtins(NO_CHAT)
    assert set(chat) == required
    assert (chat["is_pinned"], chat["project"], chat["model_settings"]) == (False, None, [])


def list_records(kind: type[Record]) -> list[type[Record]]:
    return [kind, *(record for child in kind.__subclasses__() for record in list_records(child))]


@pytest.mark.parametrize("record", list_records(Record)[1:], ids=lambda record: record.__name__)
def test_the_documentation_has_every_field(record: type[Record]) -> None:
    docs = [settings.BASE_DIR / "docs" / name for name in ("export-format.md", "presets.md")]
    text = "".join(path.read_text() for path in docs)
    assert [name for name in record.__struct_fields__ if f"`{name}`" not in text] == []
