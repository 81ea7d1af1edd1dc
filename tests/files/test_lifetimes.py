"""The remains of a file that is removed, at whatever moment."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from chatapp import documents
from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.documents import Document, Limits
from chatapp.documents.results import Result
from chatapp.management.backups.data_dir import is_kept
from chatapp.models import (
    Attachment,
    Conversation,
    FileContent,
    ImportFile,
    StoredFile,
    User,
)
from chatapp.models.files.abandoned import delete_abandoned
from chatapp.models.files.contents import store_text
from chatapp.models.library.file_sets import TOO_FAST
from chatapp.models.refusals import Refused
from chatapp.realtime.worker import worker
from tests.support.attaching import attach_file, send_part, stored_names, upload
from tests.support.pictures import png

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("disk")]

OnCommit = Callable[..., AbstractContextManager[Any]]


def long_unused() -> None:
    StoredFile.objects.update(used_at=timezone.now() - timedelta(hours=1))


def test_an_image_that_is_its_own_thumbnail_is_deleted_when_unused(
    alices: Client, django_capture_on_commit_callbacks: OnCommit
) -> None:
    image = upload(alices, "dot.png", png(8, 8))
    assert alices.get(f"/files/{image.pk}/thumbnail/").status_code == 200
    alices.post(f"/files/{image.pk}/remove/")
    long_unused()
    with django_capture_on_commit_callbacks(execute=True):
        while StoredFile.objects.delete_unused():
            pass
    assert not stored_names()


def test_nothing_is_kept_of_a_file_that_is_removed_while_it_is_read(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_after_delete(*_: object) -> Document:
        Attachment.objects.all().delete()
        return Document("text/plain", "Text", "", ("Sales fell",))

    monkeypatch.setattr(documents, "read", read_after_delete)
    begun = alices.post("/files/", {"name": "notes.txt", "size": 5}).json()
    send_part(alices, begun["id"], b"12345", 0)
    assert not FileContent.objects.exists()
    assert not stored_names()


def test_content_that_is_attached_again_is_not_deleted_at_that_moment(alices: Client) -> None:
    first = upload(alices, "notes.txt", b"Sales fell")
    long_unused()
    Attachment.objects.filter(pk=first.pk).delete()
    second = upload(alices, "copy.txt", b"Sales fell")
    assert second.file_id == first.file_id
    Attachment.objects.all().delete()
    assert not StoredFile.objects.delete_unused()


def test_a_copy_of_an_imported_database_is_deleted_with_its_upload(
    alice: User, tmp_path: Path, settings: Settings
) -> None:
    """A process that is killed while it reads the database leaves a copy in DATA_DIR."""
    settings.DATA_DIR = tmp_path
    file = ImportFile.objects.create(
        user=alice, batch=uuid4(), position=0, name="webui.db", size=1, part_bytes=1
    )
    for pk in (file.pk, uuid4()):
        (tmp_path / f"import-{pk}.db").touch()
    delete_abandoned()
    [left] = tmp_path.iterdir()
    assert left.name == f"import-{file.pk}.db"
    assert not is_kept(PurePath(left.name))


def test_a_file_that_failed_can_be_read_again_as_long_as_its_parts_are_kept(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(file: BytesIO) -> StoredFile:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(StoredFile, "store_file", fail)
        failed = upload(alices, "notes.txt", b"Sales fell")
    assert failed.state == Attachment.State.FAILED
    delete_abandoned()
    alices.post(f"/files/{failed.pk}/retry/")
    failed.refresh_from_db()
    assert (failed.state, failed.content and failed.content.text) == ("ready", "Sales fell")
    assert len(stored_names()) == 1


@pytest.mark.django_db(transaction=True)
def test_content_that_is_erased_just_before_it_is_attached_can_be_read_again(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was another person's only, who is erased at this moment."""
    make_ready = Attachment.make_ready

    def too_late(attachment: Attachment, content: FileContent) -> None:
        StoredFile.objects.erase([content.file.pk])
        make_ready(attachment, content)

    with monkeypatch.context() as at_this_moment:
        at_this_moment.setattr(Attachment, "make_ready", too_late)
        failed = upload(alices, "notes.txt", b"Sales fell")
    assert failed.state == Attachment.State.FAILED
    alices.post(f"/files/{failed.pk}/retry/")
    failed.refresh_from_db()
    assert failed.state == Attachment.State.READY


def test_a_replaced_text_is_erased_at_once(alices: Client) -> None:
    notes = upload(alices, "notes.txt", b"Sales fell")
    for text in ("Sales rose", "Sales rose again"):
        assert alices.post(f"/files/{notes.pk}/text/", {"text": text}).status_code == 204
        [file] = StoredFile.objects.all()
        assert file.read() == text.encode()
        assert stored_names() == {file.name}


def test_of_two_texts_that_replace_one_at_once_the_later_is_kept(
    alices: Client, alice: User
) -> None:
    upload(alices, "notes.txt", b"Sales fell")
    first, second = Attachment.objects.get(), Attachment.objects.get()
    first.replace_content(store_text("Sales rose", alice.pk))
    second.replace_content(store_text("Sales doubled", alice.pk))
    [file] = StoredFile.objects.all()
    assert file.read() == b"Sales doubled"
    assert stored_names() == {file.name}


def test_a_text_that_was_sent_meanwhile_is_neither_replaced_nor_removed(
    alices: Client, alice: User
) -> None:
    notes = upload(alices, "notes.txt", b"Sales fell")
    prompt = Conversation.objects.create(user=alice).messages.create(role="user", content="See")
    Attachment.objects.update(message=prompt)
    with pytest.raises(Refused):
        notes.replace_content(store_text("Sales rose", alice.pk))
    notes.remove()
    [file] = StoredFile.objects.all()
    assert file.read() == b"Sales fell"
    assert Attachment.objects.get().file == file


def test_a_removed_file_is_erased_at_once_unless_another_message_has_it(alices: Client) -> None:
    first, again = (upload(alices, "notes.txt", b"Sales fell") for _ in range(2))
    assert first.file == again.file
    alices.post(f"/files/{first.pk}/remove/")
    assert stored_names()
    alices.post(f"/files/{again.pk}/remove/")
    assert not stored_names()
    assert not FileContent.objects.exists()


def test_nobody_can_tell_from_a_file_that_somebody_else_has_it(
    alices: Client, bobs: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there at once, with the format that the other's name says."""
    read_here, read = documents.read, list[str]()

    def count_reads(path: Path, limits: Limits, name: str) -> Result:
        read.append(name)
        return read_here(path, limits, name)

    monkeypatch.setattr(documents, "read", count_reads)
    theirs = upload(alices, "secret.py", b"print(1)")
    mine = upload(bobs, "notes.txt", b"print(1)")
    assert read == ["secret.py", "notes.txt"]
    assert theirs.content
    assert mine.content
    assert (theirs.content.label, mine.content.label) == ("Python", "Text")
    assert len(stored_names()) == 2


@pytest.mark.django_db(transaction=True)
def test_content_that_is_erased_just_before_it_is_attached_is_stored_again(
    alices: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_ready, erased = Attachment.make_ready, list[int]()

    def too_late_once(attachment: Attachment, content: FileContent) -> None:
        if not erased:
            erased.append(content.file.pk)
            StoredFile.objects.erase(erased)
        make_ready(attachment, content)

    monkeypatch.setattr(Attachment, "make_ready", too_late_once)
    assert upload(alices, "notes.txt", b"Sales fell").state == Attachment.State.READY
    assert erased


def test_a_chat_that_is_deleted_for_good_takes_its_files_along(
    alices: Client, alice: User, django_capture_on_commit_callbacks: OnCommit
) -> None:
    conversation = Conversation.objects.create(user=alice, title="Sales")
    attach_file(conversation.messages.create(role="user", content="See"), "plot.png", png(8, 8))
    upload(alices, "draft.txt", b"Sales fell", conversation.pk)
    Conversation.objects.all().trash()
    Conversation.objects.all().discard()
    with django_capture_on_commit_callbacks(execute=True):
        while Conversation.objects.purge():
            pass
    assert not stored_names()


def test_how_much_a_person_stores_in_an_hour_is_bounded(
    alices: Client, monkeypatch: pytest.MonkeyPatch, alice: User
) -> None:
    monkeypatch.setitem(worker().file_bytes, alice.pk, TokenBucket(0, 25))
    notes = upload(alices, "notes.txt", b"Sales fell")
    path = f"/files/{notes.pk}/text/"
    assert alices.post(path, {"text": "Sales rose"}).status_code == 204
    refusal = alices.post(path, {"text": "Sales rise"})
    assert (refusal.status_code, refusal.text) == (422, TOO_FAST)
    alices.post(f"/files/{notes.pk}/remove/")
    refusal = alices.post("/files/", {"name": "notes.txt", "size": 10})
    assert (refusal.status_code, refusal.text) == (422, TOO_FAST)
