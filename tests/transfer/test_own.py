"""Our own export, and personal archives."""

import json
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from django.test import AsyncClient, Client

from chatapp.models import ChatSettings, Conversation, Feedback, Project, User
from chatapp.models.conversations.extras import Extras
from chatapp.models.conversations.rounds import Round, RunState, ToolRun
from chatapp.transfer import Format, SourceToolRun, open_file
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.sources import Source
from tests.transfer.samples import (
    json_file,
    only,
    outline,
    own_chat,
    own_turn,
    read_all,
    skipped,
    zipped,
)

AT = datetime(2025, 10, 9, 12, tzinfo=UTC)


def test_lines_are_read() -> None:
    lines = "".join(json.dumps(own_turn(id=str(number))) + "\n" for number in range(3))
    chats, _ = read_all(BytesIO(lines.encode()))
    assert [one.source_id for one in chats] == ["0", "1", "2"]
    assert outline(chats[0]) == [("p", None, "How far is Vega?"), ("r", "p", "25 light-years.")]
    assert chats[0].messages[1].ending is Ending.COMPLETE


def test_what_only_our_own_export_has_is_passed_on() -> None:
    settings = {"id": "s", "preset": {"name": "P", "version": 2}, "instructions": "Be exact."}
    reply = {
        "id": "r",
        "parent": "p",
        "role": "assistant",
        "content": "25.",
        "ending": "complete",
        "finish_reason": "stop",
        "choice": 1,
        "moderation": {"flagged": False},
        "failed_models": [{"model": "x"}],
        "request_settings": "s",
        "time_to_first_token": 0.5,
        "upstream": "Local",
    }
    chat = own_chat(
        [{"id": "p", "role": "user", "content": "Far?"}, reply],
        preset={"name": "P", "version": 2},
        left_out=[{"through": "p", "summary": "Short."}],
        request_settings=[settings],
    )
    found = only(json_file(chat))
    assert found.own == {"preset": chat["preset"], "left_out": chat["left_out"]}
    assert found.messages[1].own == {
        **{name: reply[name] for name in ("finish_reason", "choice", "moderation")},
        **{name: reply[name] for name in ("failed_models", "time_to_first_token", "upstream")},
        "request_settings": settings,
    }


def test_deleted_messages_and_chats_in_the_trash_are_left_out() -> None:
    chat = own_turn()
    chat["messages"].append({"id": "d", "role": "user", "parent": "r", "deleted_at": "2025-01-01"})
    found = only(json_file(chat))
    assert len(found.messages) == 2
    assert found.left_out == {"deleted message": 1}
    assert skipped(json_file([own_turn(trashed_at="2025-01-01")])).reason == "It was in the trash."


def test_the_personal_archive_has_the_files() -> None:
    chat = own_turn()
    chat["messages"][0]["files"] = [
        {"id": "f", "name": "sky.txt", "type": "text/plain", "size": 4, "alt": "A list"},
        {"id": "g", "name": "old.png", "is_expired": True},
    ]
    line = json.dumps(chat).encode() + b"\n"
    index = [{"id": "f", "name": "sky.txt", "path": "files/f-sky.txt"}, None]
    members = {"conversations.jsonl": line, "files.json": index, "files/f-sky.txt": b"Vega"}
    file, expired = only(zipped(members)).messages[0].files
    assert (file.name, file.media_type, file.alt) == ("sky.txt", "text/plain", "A list")
    assert open_file(file).read() == b"Vega"
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
    settings = ChatSettings.of(stored)
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
