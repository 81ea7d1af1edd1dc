"""The check of the storage of files."""

from pathlib import Path

import pytest
from django.core.files.storage import FileSystemStorage

from chatapp import documents
from chatapp.checks.results import Status
from chatapp.doctor import files
from chatapp.doctor.files import sandbox, stored_files
from chatapp.documents import Unreadable
from chatapp.models import Attachment, StoredFile, User
from chatapp.models.files import storage

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileSystemStorage:
    disk = FileSystemStorage(tmp_path / "files")
    monkeypatch.setattr(storage, "backend", lambda: disk)
    return disk


def test_a_storage_that_works_is_left_as_it_was(tmp_path: Path, alice: User) -> None:
    StoredFile.store(b"one", alice.pk)
    [result] = stored_files()
    assert result.status is Status.OK
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_files_that_another_host_stored_elsewhere_are_missed(
    disk: FileSystemStorage, alice: User
) -> None:
    StoredFile.store(b"one", alice.pk)
    disk.delete(StoredFile.store(b"other", alice.pk).name)
    [result] = stored_files()
    assert result.status is Status.FAILED
    assert result.finding == "1 of the 2 newest files are missing here"
    assert "CHATAPP_FILES_BUCKET" in result.remedy


def test_attached_files_are_looked_for_behind_newer_ones(
    disk: FileSystemStorage, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "NEWEST", 1)
    attached = StoredFile.store(b"attached", alice.pk)
    Attachment.objects.create(user=alice, name="a.txt", size=8, state="ready", file=attached)
    disk.delete(attached.name)
    StoredFile.store(b"newer", alice.pk)
    [result] = stored_files()
    assert result.status is Status.FAILED
    assert result.finding == "1 of the 1 newest attached files are missing here"


def test_a_storage_that_refuses_is_reported(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("not a directory")
    [result] = stored_files()
    assert result.status is Status.FAILED
    assert "can't be stored" in result.finding


def test_a_file_is_read_in_the_sandbox() -> None:
    [result] = sandbox()
    assert result.status is Status.OK


def test_a_kernel_that_refuses_the_sandbox_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise Unreadable("This file could not be read.")

    monkeypatch.setattr(documents, "read", refuse)
    [result] = sandbox()
    assert result.status is Status.FAILED
    assert "seccomp" in result.remedy
