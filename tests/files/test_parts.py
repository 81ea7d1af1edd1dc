"""Parts of uploads, whether a file is attached to a draft or chats are imported from it."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import Settings

from chatapp.models import Attachment, ImportFile, User
from chatapp.models.files import storage
from chatapp.models.files.uploads import Upload
from tests.support.attaching import send_part, stored_names

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("disk")]

DATA = b"0123456789"


@pytest.fixture(params=["files", "imports/files"])
def path(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def upload(path: str, alice: User, settings: Settings) -> Upload:
    """A file of two parts. None of them has arrived."""
    settings.CHATAPP_MAX_BODY_BYTES = 6
    fields: dict[str, Any] = {"user": alice, "name": "a.txt", "size": len(DATA)}
    if path == "files":
        return Attachment.objects.create(**fields)
    return ImportFile.objects.create(**fields, batch=uuid4(), position=0, part_bytes=6)


def test_a_file_is_whole_when_its_last_part_has_arrived(
    alices: Client, path: str, upload: Upload, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.files.uploads.start_reading", lambda _: None)
    assert send_part(alices, upload.pk, DATA[:6], 0, path).json() == {"received": 6}
    upload.refresh_from_db()
    assert not upload.is_whole
    assert send_part(alices, upload.pk, DATA[6:], 6, path).json() == {"received": 10}
    upload.refresh_from_db()
    assert upload.is_whole
    with upload.open() as file:
        assert file.read() == DATA


@pytest.mark.parametrize("offset", ["", "-1", "1", "0x0", "9" * 5000])
def test_a_part_at_a_wrong_offset_is_told_where_to_go_on(
    alices: Client, path: str, upload: Upload, offset: str
) -> None:
    answer = send_part(alices, upload.pk, DATA[:6], offset, path)
    assert (answer.status_code, answer.json()) == (409, {"received": 0})
    assert not stored_names()


@pytest.mark.parametrize("size", [0, 1, 5, 7, 2**20])
def test_a_part_of_a_wrong_length_is_refused(
    alices: Client, path: str, upload: Upload, size: int
) -> None:
    answer = send_part(alices, upload.pk, b"x" * size, 0, path)
    assert (answer.status_code, "incomplete" in answer.text) == (422, True)
    assert not stored_names()


def test_an_upload_goes_on_once_the_disk_has_room(
    alices: Client, path: str, upload: Upload
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "write", fail)
        answer = send_part(alices, upload.pk, DATA[:6], 0, path)
    assert answer.status_code == 507
    assert "No space" not in answer.text
    assert send_part(alices, upload.pk, DATA[:6], 0, path).json() == {"received": 6}


def test_a_part_that_another_tab_sent_meanwhile_is_not_counted_twice(
    alices: Client, path: str, upload: Upload, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = storage.replace

    def replace_late(name: str, data: bytes) -> None:
        type(upload)._default_manager.update(received=6)
        replace(name, data)

    monkeypatch.setattr(storage, "replace", replace_late)
    answer = send_part(alices, upload.pk, DATA[:6], 0, path)
    assert (answer.status_code, answer.json()) == (409, {"received": 6})


def test_a_part_that_arrives_after_its_file_was_removed_is_not_kept(
    alices: Client, path: str, upload: Upload, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = storage.replace

    def replace_late(name: str, data: bytes) -> None:
        type(upload)._default_manager.all().delete()
        replace(name, data)

    monkeypatch.setattr(storage, "replace", replace_late)
    assert send_part(alices, upload.pk, DATA[:6], 0, path).status_code == 404
    assert not stored_names()


def test_an_upload_that_goes_on_is_not_abandoned(alices: Client, path: str, upload: Upload) -> None:
    before = upload.changed_at
    send_part(alices, upload.pk, DATA[:6], 0, path)
    upload.refresh_from_db()
    assert upload.changed_at > before


def test_a_file_that_was_removed_leaves_no_part_that_was_not_counted(upload: Upload) -> None:
    storage.replace(upload.part_name(0), b"lost")
    upload.delete_parts()
    assert not stored_names()
