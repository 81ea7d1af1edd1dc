"""Large exports: made in the background, stored, and deleted in time."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import AsyncClient, Client
from django.utils import timezone

from chatapp.erasure.people import erase
from chatapp.exports import jobs
from chatapp.models import ChatExport, Conversation, Process, Upstream, User
from chatapp.models.conversations.turns.exports import LIFETIME, delete_lost_exports
from chatapp.models.files import storage
from chatapp.models.platform.jobs import JobFailed, JobState, claim
from chatapp.realtime.worker.jobs import Jobs
from tests.exports.written import create_stars
from tests.transfer.samples import only

pytestmark = pytest.mark.django_db


@pytest.fixture
def stars(alice: User, saved_upstream: Upstream) -> Conversation:
    return create_stars(alice, saved_upstream)


@pytest.fixture
def export(stars: Conversation) -> ChatExport:
    return ChatExport.objects.create(
        user=stars.user, format="json", scope="everything", with_files=True
    )


def run_here() -> None:
    process = Process.current(is_alone=False)
    process.record_heartbeat()
    Jobs(process.pk).run_all()


def claim_export() -> ChatExport:
    export_job = claim(ChatExport, uuid4())
    assert export_job
    return export_job


def test_an_export_is_made_and_can_be_downloaded_for_a_week(
    alices: Client, stars: Conversation, export: ChatExport
) -> None:
    run_here()
    export.refresh_from_db()
    assert (export.state, export.done, export.total, export.suffix) == ("done", 1, 1, "zip")
    assert export.size == storage.size(export.stored_name)
    assert export.expires_at
    assert timezone.now() + LIFETIME > export.expires_at > timezone.now() + timedelta(days=6)
    with storage.open_file(export.stored_name) as file:
        assert only(file).source_id == str(stars.pk)
    page = alices.get("/exports/").text
    assert f"/exports/{export.pk}/download/" in page


@pytest.mark.django_db(transaction=True)
def test_the_download_is_the_file(alices: Client, export: ChatExport) -> None:
    run_here()
    browser = AsyncClient(headers={"host": "localhost"})
    browser.cookies = alices.cookies

    async def download_export() -> bytes:
        answer: Any = await browser.get(f"/exports/{export.pk}/download/")
        assert answer.headers["Content-Length"] == str(storage.size(export.stored_name))
        return b"".join([part async for part in answer.streaming_content])

    assert asyncio.run(download_export()) == storage.read(export.stored_name)


def test_an_export_that_is_taken_up_again_begins_again(export: ChatExport) -> None:
    steps: Iterator[None] = jobs.run_export(claim_export())
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert not storage.exists(export.stored_name)
    ChatExport.objects.update(state=JobState.WAITING, run_by=None)
    run_here()
    export.refresh_from_db()
    assert (export.state, export.done) == ("done", 1)


def test_an_export_ends_when_its_person_is_deactivated(alice: User, export: ChatExport) -> None:
    running = claim_export()
    User.objects.filter(pk=alice.pk).update(is_active=False)
    with pytest.raises(JobFailed):
        list(jobs.run_export(running))
    assert not storage.exists(export.stored_name)


def test_a_cancelled_export_keeps_no_file(
    export: ChatExport, django_capture_on_commit_callbacks: Any
) -> None:
    running = claim_export()
    assert list(jobs.run_export(running)) is not None
    assert storage.exists(export.stored_name)
    export.ask_to_cancel()
    with django_capture_on_commit_callbacks(execute=True):
        running.end()
    export.refresh_from_db()
    assert export.state == JobState.CANCELLED
    assert not storage.exists(export.stored_name)


@pytest.mark.parametrize("why", ["expired", "deactivated"])
def test_the_file_is_deleted_when_its_time_is_over(
    alice: User, export: ChatExport, why: str
) -> None:
    run_here()
    assert not ChatExport.objects.delete_expired()
    if why == "expired":
        ChatExport.objects.update(expires_at=timezone.now())
    else:
        User.objects.filter(pk=alice.pk).update(is_active=False)
    assert ChatExport.objects.delete_expired()
    assert not ChatExport.objects.exists()
    assert not storage.exists(export.stored_name)


@pytest.mark.django_db(transaction=True)
def test_the_file_is_erased_with_its_person(alice: User, olive: User, export: ChatExport) -> None:
    run_here()
    erase([alice])
    assert not storage.exists(export.stored_name)


def test_a_file_whose_row_is_gone_is_deleted(export: ChatExport) -> None:
    run_here()
    other = ChatExport.objects.create(user=export.user, format="csv", scope="everything")
    storage.replace(other.stored_name, b"kept")
    export.delete()
    delete_lost_exports()
    assert not storage.exists(export.stored_name)
    assert storage.exists(other.stored_name)


def test_an_export_of_nothing_fails_with_a_sentence(
    stars: Conversation, export: ChatExport
) -> None:
    stars.delete()
    run_here()
    export.refresh_from_db()
    assert (export.state, export.problem) == ("failed", jobs.EMPTY)


def test_a_storage_that_fails_is_reported(
    export: ChatExport, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(name: str, file: object) -> None:
        raise OSError("full")

    monkeypatch.setattr(storage, "replace_file", fail)
    run_here()
    export.refresh_from_db()
    assert (export.state, export.problem) == ("failed", jobs.STORAGE_FAILED)
    assert "An export can't be stored: full" in caplog.messages
