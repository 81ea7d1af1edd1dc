"""Starting exports, and downloading them: by their owner alone, small ones at once."""

import io
from typing import Any
from uuid import UUID, uuid4
from zipfile import ZipFile

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from django.test import AsyncClient, Client

from chatapp.exports import streaming, writing
from chatapp.models import AuditEvent, ChatExport, Conversation, Upstream, User
from chatapp.models.conversations.turns.exports import MAX_EXPORTS, ExportFormat
from chatapp.models.platform.jobs import JobState
from chatapp.sessions.validity import NotSignedIn
from tests.exports.written import create_stars

pytestmark = pytest.mark.django_db


@pytest.fixture
def stars(alice: User, saved_upstream: Upstream) -> Conversation:
    return create_stars(alice, saved_upstream)


@pytest.fixture
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every export a large one."""
    monkeypatch.setattr(writing, "MOST_CHATS", 0)


async def post_export(client: Client, **fields: Any) -> Any:
    browser = AsyncClient(headers={"host": "localhost"})
    browser.cookies = client.cookies
    return await browser.post("/conversations/export/", fields)


async def read_content(answer: Any) -> bytes:
    return b"".join([part async for part in answer.streaming_content])


@pytest.mark.parametrize(
    ("format", "name"),
    [
        ("markdown", "_b_Stars__b_.zip"),
        ("html", "_b_Stars__b_.zip"),
        ("json", "conversations-"),
        ("csv", "usage-"),
    ],
)
async def test_one_chat_is_downloaded_at_once(
    alices: Client, stars: Conversation, format: str, name: str
) -> None:
    answer = await post_export(alices, ids=str(stars.pk), format=format, with_files="on")
    assert f'attachment; filename="{name}' in answer["Content-Disposition"]
    assert len(await read_content(answer)) > 100
    events = AuditEvent.objects.filter(action="conversations.exported")
    event = await events.select_related("detail").aget()
    assert event.detail.values == {"conversations": 1, "format": format, "scope": "chats"}


async def test_a_chat_without_files_is_one_file(alices: Client, stars: Conversation) -> None:
    answer = await post_export(alices, ids=str(stars.pk), format="markdown")
    assert answer["Content-Disposition"] == 'attachment; filename="_b_Stars__b_.md"'
    assert (await read_content(answer)).startswith(b"# ")


async def test_chats_of_one_title_have_files_of_their_own(
    alices: Client, alice: User, stars: Conversation
) -> None:
    others = [await alice.conversations.acreate(title="../Stars") for _ in range(2)]
    ids = [str(chat.pk) for chat in (stars, *others)]
    answer = await post_export(alices, ids=ids, format="html", with_files="on")
    names = ZipFile(io.BytesIO(await read_content(answer))).namelist()
    assert sorted(names) == ["_Stars (2).html", "_Stars.html", "_b_Stars__b_.html"]


async def test_a_slow_archive_is_sent_whole(
    alices: Client, stars: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "SECONDS_A_PIECE", -1)  # each step takes too long
    answer = await post_export(alices, ids=str(stars.pk), format="json", with_files="on")
    archive = ZipFile(io.BytesIO(await read_content(answer)))
    assert archive.testzip() is None
    assert "conversations.jsonl" in archive.namelist()


async def test_only_the_chats_of_a_project_are_exported(
    alices: Client, alice: User, stars: Conversation
) -> None:
    await alice.conversations.acreate(title="Elsewhere")
    answer = await post_export(alices, project=str(stars.project_id))
    assert (await read_content(answer)).count(b"\n") == 1
    everything = await post_export(alices, everything="on")
    assert (await read_content(everything)).count(b"\n") == 2


async def test_nobody_exports_what_is_not_theirs(bobs: Client, stars: Conversation) -> None:
    assert (await post_export(bobs, ids=str(stars.pk))).status_code == 404
    answer = await post_export(bobs, project=str(stars.project_id))
    assert (answer.status_code, answer.content) == (422, b"This project no longer exists.")
    assert not await AuditEvent.objects.filter(action="conversations.exported").aexists()


async def test_a_session_that_ends_midway_truncates_the_download(
    alices: Client, stars: Conversation
) -> None:
    answer = await post_export(alices, ids=str(stars.pk))
    await Session.objects.all().adelete()
    with pytest.raises(NotSignedIn):
        await read_content(answer)


@pytest.mark.usefixtures("no_job")
def test_a_large_export_is_made_in_the_background(alices: Client, stars: Conversation) -> None:
    fields = {"ids": str(stars.pk), "format": "html", "with_files": "on"}
    assert alices.post("/conversations/export/", fields).headers["location"] == "/exports/"
    export = ChatExport.objects.get()
    assert (export.format, export.chats, export.with_files) == ("html", [str(stars.pk)], True)
    page = alices.get("/exports/").text
    assert "Your export is being prepared" in page
    assert alices.get(f"/exports/{export.pk}/progress/").json()["state"] == "waiting"
    assert alices.get(f"/exports/{export.pk}/download/").status_code == 404


@pytest.mark.usefixtures("no_job")
def test_a_person_keeps_only_a_few_exports(alices: Client, stars: Conversation) -> None:
    fields = {"ids": str(stars.pk)}
    headers = {"HX-Request": "true"}
    for _ in range(MAX_EXPORTS):
        assert alices.post("/conversations/export/", fields, headers=headers).status_code == 201
    answer = alices.post("/conversations/export/", fields, headers=headers)
    assert answer.status_code == 422
    assert answer.text == "You keep 3 exports already. Delete one of them first."
    ChatExport.objects.update(state=JobState.FAILED)
    assert alices.post("/conversations/export/", fields, headers=headers).status_code == 201


def test_the_dialog_learns_that_a_small_export_can_be_downloaded(
    alices: Client, stars: Conversation
) -> None:
    fields = {"ids": str(stars.pk)}
    answer = alices.post("/conversations/export/", fields, headers={"HX-Request": "true"})
    assert answer.status_code == 204
    assert not AuditEvent.objects.filter(action="conversations.exported").exists()


def test_an_export_is_cancelled_and_deleted_by_its_person_alone(
    alices: Client, alice: User, bobs: Client
) -> None:
    export = ChatExport.objects.create(user=alice, format=ExportFormat.JSON, scope="everything")
    for act in ("cancel", "delete"):
        assert bobs.post(f"/exports/{export.pk}/{act}/").status_code == 404
    for page in ("download", "progress"):
        assert bobs.get(f"/exports/{export.pk}/{page}/").status_code == 404
    alices.post(f"/exports/{export.pk}/delete/")  # it has not ended
    alices.post(f"/exports/{export.pk}/cancel/")
    export.refresh_from_db()
    assert export.state == JobState.CANCELLED
    alices.post(f"/exports/{export.pk}/delete/")
    assert not ChatExport.objects.exists()
    assert "None yet." in alices.get("/exports/").text


async def test_a_chat_is_copied_as_markdown_and_printed(
    alices: Client, bobs: Client, stars: Conversation
) -> None:
    for page, begins in (("markdown", b"# \\<b"), ("print", b"<!doctype html>")):
        browser = AsyncClient(headers={"host": "localhost"})
        browser.cookies = alices.cookies
        answer: Any = await browser.get(f"/c/{stars.pk}/{page}/")
        assert (await read_content(answer)).startswith(begins)
        path = f"/c/{stars.pk}/{page}/"
        assert (await sync_to_async(bobs.get)(path)).status_code == 404
    assert "style-src 'sha256-" in answer["Content-Security-Policy"]


@pytest.mark.parametrize("ids", [["no id"], [""], [str(uuid4())] * 501])
def test_a_malformed_request_gets_a_sentence(alices: Client, ids: list[str | UUID]) -> None:
    answer = alices.post("/conversations/export/", {"ids": ids})
    assert answer.status_code == 422
    assert answer.text.endswith(".")
