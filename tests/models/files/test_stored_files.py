"""Stored files: each content once, and gone once nothing refers to it."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import Storage
from django.utils import timezone

from chatapp.models import Message, ReplyImage, StoredFile, Upstream, User
from chatapp.models.files import storage
from chatapp.models.files.abandoned import delete_abandoned
from chatapp.models.files.storage import DurableFileStorage
from tests.support.stored import begin_turn, new_conversation

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("disk")]

OnCommit = Callable[..., object]


@pytest.fixture
def reply(alice: User, saved_upstream: Upstream) -> Message:
    return begin_turn(new_conversation(alice), saved_upstream, "Draw")[1]


def age_files() -> None:
    StoredFile.objects.update(used_at=timezone.now() - timedelta(hours=1))


def names(disk: Storage) -> list[str]:
    return [name for folder in disk.listdir("")[0] for name in disk.listdir(folder)[1]]


def with_image(reply: Message, data: bytes, position: int = 0) -> ReplyImage:
    return ReplyImage.objects.create(
        message=reply, position=position, media_type="image/png", data=data
    )


def test_the_same_content_is_stored_once_for_each_person(
    disk: Storage, alice: User, bob: User
) -> None:
    first, same = (StoredFile.store(b"one", alice.pk) for _ in range(2))
    other, bobs = StoredFile.store(b"other", alice.pk), StoredFile.store(b"one", bob.pk)
    assert first == same
    assert len({first, other, bobs}) == len(names(disk)) == 3
    assert (first.read(), first.size, other.read(), bobs.read()) == (b"one", 3, b"other", b"one")


def test_a_file_stored_by_two_processes_at_once_is_kept_once(
    disk: Storage, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = disk.save

    def save_later(name: str, content: ContentFile) -> str:  # type: ignore[type-arg]
        monkeypatch.setattr(disk, "save", save)
        StoredFile.store(b"one", alice.pk)  # another process is faster
        return save(name, content)

    monkeypatch.setattr(disk, "save", save_later)
    file = StoredFile.store(b"one", alice.pk)
    assert file.read() == b"one"
    assert StoredFile.objects.count() == len(names(disk)) == 1


def test_an_unused_file_is_deleted_with_its_bytes(
    disk: Storage, alice: User, reply: Message, django_capture_on_commit_callbacks: OnCommit
) -> None:
    StoredFile.store(b"unused", alice.pk)
    image = with_image(reply, b"used")
    assert ReplyImage.objects.move_one_to_storage()
    assert not StoredFile.objects.delete_unused()  # it may be referred to soon
    age_files()
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        assert StoredFile.objects.delete_unused()
    assert not StoredFile.objects.delete_unused()
    assert [file.read() for file in StoredFile.objects.all()] == [b"used"]
    assert len(names(disk)) == 1
    image.delete()
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        assert StoredFile.objects.delete_unused()
    assert names(disk) == []


def test_storing_a_content_again_keeps_it(disk: Storage, alice: User) -> None:
    StoredFile.store(b"one", alice.pk)
    age_files()
    StoredFile.store(b"one", alice.pk)
    assert not StoredFile.objects.delete_unused()


def test_what_a_process_left_when_it_died_is_deleted_a_day_later(
    disk: Storage, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = StoredFile.store(b"kept", alice.pk)
    disk.save("ab/left", ContentFile(b"left"))
    delete_abandoned()
    assert "left" in names(disk)
    later = timezone.now() + timedelta(days=2)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    delete_abandoned()
    assert names(disk) == [file.name.partition("/")[2]]


def test_images_move_from_the_database_to_the_storage(disk: Storage, reply: Message) -> None:
    for position, data in enumerate((b"one", b"two", b"one")):
        with_image(reply, data, position)
    while ReplyImage.objects.move_one_to_storage():
        pass
    images = ReplyImage.objects.order_by("position")
    assert [image.read() for image in images] == [b"one", b"two", b"one"]
    assert [image.data for image in images] == [None] * 3
    assert len(names(disk)) == 2


def test_an_image_stays_in_the_database_while_the_storage_fails(
    disk: Storage, reply: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str, content: object) -> str:
        raise OSError(28, "No space left on device")

    image = with_image(reply, b"one")
    with monkeypatch.context() as broken:
        broken.setattr(disk, "save", fail)
        with pytest.raises(OSError, match="No space"):
            ReplyImage.objects.move_one_to_storage()
    image.refresh_from_db()
    assert (image.read(), image.file) == (b"one", None)
    assert ReplyImage.objects.move_one_to_storage()
    image.refresh_from_db()
    assert (image.read(), image.data) == (b"one", None)


def test_parts_that_two_requests_write_at_once_leave_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Raced(DurableFileStorage):
        """Another request writes a file between the deletion and the writing of it."""

        def delete(self, name: str) -> None:
            super().delete(name)
            if name == "uploads/part":
                self.save(name, ContentFile(b"theirs"))

    disk = Raced(tmp_path)
    monkeypatch.setattr(storage, "backend", lambda: disk)
    with pytest.raises(OSError, match="at the same moment"):
        storage.replace("uploads/part", b"ours")
    assert storage.names_in("uploads") == ["uploads/part"]
    assert storage.read("uploads/part") == b"theirs"


def test_files_on_the_disk_are_private(
    tmp_path: Path, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = DurableFileStorage(
        tmp_path / "files", file_permissions_mode=0o600, directory_permissions_mode=0o700
    )
    monkeypatch.setattr(storage, "backend", lambda: disk)
    delete_abandoned()
    file = StoredFile.store(b"one", alice.pk)
    path = Path(disk.path(file.name))
    assert path.read_bytes() == file.read() == b"one"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        file.read()
