"""Stored files in an S3-compatible bucket, on a server in a process of its own."""

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import boto3
import pytest
from django.core.files.storage import storages
from django.utils import timezone

from chatapp import environment
from chatapp.models import StoredFile, User
from chatapp.models.files import storage
from chatapp.models.files.abandoned import delete_abandoned
from tests.support.live import free_port
from tests.support.program import Program

pytestmark = pytest.mark.django_db

KEYS = {
    "AWS_ACCESS_KEY_ID": "id",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
}


class S3Server(Program):
    ready = r"Running on"

    def __init__(self) -> None:
        super().__init__()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    server = S3Server().start()
    yield server
    if server.is_running:
        server.kill()


@pytest.fixture(autouse=True)
def bucket(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store files in an empty bucket."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    made = storages.create_storage(environment.files(tmp_path, "files", server.url))
    monkeypatch.setattr(storage, "backend", lambda: made)
    client = boto3.client("s3", endpoint_url=server.url)
    client.create_bucket(Bucket="files")


def test_content_is_stored_once_read_and_deleted(
    alice: User,
    django_capture_on_commit_callbacks: "pytest.FixtureRequest",
) -> None:
    file = StoredFile.store(b"one", alice.pk)
    assert StoredFile.store(b"one", alice.pk) == file
    assert file.read() == b"one"
    assert [storage.names_in(folder) for folder in storage.folders()] == [[file.name]]
    delete_abandoned()
    assert file.read() == b"one"
    StoredFile.objects.update(used_at=timezone.now() - timedelta(hours=1))
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        assert StoredFile.objects.delete_unused()
    assert storage.folders() == []
    with pytest.raises(FileNotFoundError):
        file.read()


def test_a_bucket_that_cannot_be_reached_fails_as_a_disk_does(
    server: S3Server, alice: User
) -> None:
    file = StoredFile.store(b"one", alice.pk)
    server.kill()
    with pytest.raises(OSError, match="the storage of files failed"):
        StoredFile.store(b"two", alice.pk)
    with pytest.raises(OSError, match="the storage of files failed"):
        file.read()
    assert list(StoredFile.objects.all()) == [file]
