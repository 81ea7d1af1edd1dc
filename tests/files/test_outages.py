"""Uploads while the disk is full, the person is signed out or deactivated, or too much is sent."""

from collections.abc import Callable
from uuid import UUID

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings

from chatapp.files import reading
from chatapp.models import Attachment, User
from chatapp.models.files import storage
from chatapp.reading.contents import NOT_STORED
from tests.support.attaching import send_part, upload

pytestmark = pytest.mark.django_db


def begin_upload(client: Client, size: int = 10) -> str:
    return str(client.post("/files/", {"name": "a.txt", "size": size}).json()["id"])


def raiser(error: Exception) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "write", raiser(OSError(28, "No space left on device")))


def test_a_file_that_could_not_be_stored_can_be_read_again(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pk = begin_upload(alices)
    with pytest.MonkeyPatch.context() as patch:
        read = reading.read_attachment
        patch.setattr(reading, "read_attachment", lambda _: None)
        send_part(alices, pk, b"0123456789", 0)
        fill_disk(patch)
        read(Attachment.objects.get().pk)
    failed = Attachment.objects.get()
    assert (failed.state, failed.problem) == (Attachment.State.FAILED, NOT_STORED)
    assert alices.post(f"/files/{pk}/retry/").status_code == 204
    assert Attachment.objects.get().state == Attachment.State.READY


def test_the_parts_are_deleted_once_the_file_is_read(alices: Client) -> None:
    attachment = upload(alices, "a.txt", b"text")
    assert not list(storage.names_in("uploads"))
    assert attachment.file
    assert attachment.file.read() == b"text"


def test_a_file_is_read_again_after_the_database_was_away(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pk = begin_upload(alices)
    with pytest.MonkeyPatch.context() as patch:
        read = reading.read_attachment
        patch.setattr(reading, "read_attachment", lambda _: None)
        send_part(alices, pk, b"0123456789", 0)
    with monkeypatch.context() as patch:
        patch.setattr(Attachment, "make_ready", raiser(OperationalError("no database")))
        with pytest.raises(OperationalError):
            read(UUID(pk))
    assert Attachment.objects.get().state == Attachment.State.READING
    read(UUID(pk))
    assert Attachment.objects.get().state == Attachment.State.READY


def test_a_file_is_ready_even_if_its_parts_stay(
    alices: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Attachment, "delete_parts", raiser(OSError("no route to host")))
    assert upload(alices, "a.txt", b"text").state == Attachment.State.READY
    assert "no route to host" in caplog.text


def test_an_upload_ends_with_the_session(alices: Client) -> None:
    pk = begin_upload(alices)
    alices.logout()
    assert send_part(alices, pk, b"0123456789", 0).status_code == 302
    assert alices.post("/files/", {"name": "b.txt", "size": 10}).status_code == 302
    assert Attachment.objects.get().received == 0


def test_a_deactivated_person_uploads_nothing(alices: Client, alice: User) -> None:
    pk = begin_upload(alices)
    alice.is_active = False
    alice.save()
    assert send_part(alices, pk, b"0123456789", 0).status_code == 302
    assert Attachment.objects.get().received == 0


def test_a_draft_holds_only_so_many_files(alices: Client, settings: Settings) -> None:
    settings.CHATAPP_FILES_PER_MESSAGE = 3
    for _ in range(3):
        begin_upload(alices)
    refused = alices.post("/files/", {"name": "b.txt", "size": 10})
    assert refused.status_code == 422
    assert "3 files" in refused.content.decode()


def test_a_persons_files_have_a_limit_together(alices: Client, settings: Settings) -> None:
    settings.CHATAPP_FILE_BYTES_PER_PERSON = 10_000
    begin_upload(alices, 9_000)
    refused = alices.post("/files/", {"name": "b.txt", "size": 2_000})
    assert refused.status_code == 422
    assert "9.8" in refused.content.decode()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\secret\\plan.txt", "plan.txt"),
        ("a\nb\r.txt", "ab.txt"),
        ("\u202egnp.exe", "gnp.exe"),
        ("\u202e\u200b", "Unnamed file"),
        ("", "Unnamed file"),
        ("x" * 10_000 + ".pdf", "x" * 115 + "….pdf"),
        ("تقرير.pdf", "تقرير.pdf"),
    ],
)
def test_a_name_is_only_shown(alices: Client, name: str, expected: str) -> None:
    alices.post("/files/", {"name": name, "size": 10})
    assert Attachment.objects.get().name == expected


def test_an_empty_file_is_refused(alices: Client) -> None:
    assert alices.post("/files/", {"name": "a", "size": 0}).content == b"This file is empty."
