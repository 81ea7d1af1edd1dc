"""The images of replies, wherever their bytes are."""

import pytest
from django.core.files.storage import InMemoryStorage
from django.test import Client

from chatapp.models import Message, ReplyImage, Upstream, User
from chatapp.models.files import storage
from tests.support.stored import begin_turn, new_conversation

pytestmark = pytest.mark.django_db

GIF = b"GIF89a" + bytes(range(64))


@pytest.fixture(autouse=True)
def disk(monkeypatch: pytest.MonkeyPatch) -> InMemoryStorage:
    disk = InMemoryStorage()
    monkeypatch.setattr(storage, "backend", lambda: disk)
    return disk


@pytest.fixture
def reply(alice: User, saved_upstream: Upstream) -> Message:
    _, reply = begin_turn(new_conversation(alice), saved_upstream, "Draw")
    ReplyImage.objects.create(message=reply, position=0, media_type="image/gif", data=GIF)
    return reply


def test_an_image_is_the_same_before_and_after_it_moves(
    alices: Client, bobs: Client, reply: Message
) -> None:
    path = f"/replies/{reply.pk}/images/0/"
    before = alices.get(path)
    assert ReplyImage.objects.move_one_to_storage()
    after = alices.get(path)
    assert before.content == after.content == GIF
    assert before.headers == after.headers
    assert bobs.get(path).status_code == 404


def test_a_lost_file_is_not_found_and_logged(
    alices: Client, reply: Message, disk: InMemoryStorage, caplog: pytest.LogCaptureFixture
) -> None:
    ReplyImage.objects.move_one_to_storage()
    disk.delete(reply.images.get().file.name)  # type: ignore[union-attr]
    assert alices.get(f"/replies/{reply.pk}/images/0/").status_code == 404
    assert f"Image 1 of reply {reply.pk} is lost" in caplog.text


def test_a_storage_that_fails_is_a_matter_of_the_moment(
    alices: Client, reply: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> bytes:
        raise OSError("no route to host")

    ReplyImage.objects.move_one_to_storage()
    monkeypatch.setattr(storage, "read", fail)
    assert alices.get(f"/replies/{reply.pk}/images/0/").status_code == 503
