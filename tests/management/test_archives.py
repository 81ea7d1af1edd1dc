"""Archives that must not be restored are refused before anything is changed."""

from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.core.management.base import CommandError
from django.db import connection
from pytest_django import Settings

from chatapp.management.backups import data_dir
from chatapp.management.backups.archive import (
    DATABASE,
    FORMAT,
    Manifest,
    new_archive,
    open_verified,
)
from chatapp.management.backups.progress import Progress
from chatapp.management.backups.refusals import refuse_incompatible
from tests.management.archives import Change, Json, alter_archive

SECRET = "the former secret key"
RECORDING = "files/recordings/one.jsonl"


@pytest.fixture
def archive(tmp_path: Path, settings: Settings) -> Path:
    settings.STATIC_ROOT = settings.DATA_DIR / "static"  # is not backed up
    file = tmp_path / "chatapp.zip"
    with new_archive(file) as writer:
        writer.add(DATABASE, [b"every row"])
        writer.add("files/secret_key", [SECRET.encode()])
        writer.add(RECORDING, [b"{}\n"])
        writer.finish(
            Manifest(
                format=FORMAT,
                version="0.4.0",
                made_at="2026-01-01T00:00:00+00:00",
                engine=connection.vendor,
                migrations=["chatapp.0001_initial"],
                rows={},
                secret_fingerprint=data_dir.fingerprint(SECRET),
                members=writer.members,
            )
        )
    return file


def check(file: Path) -> None:
    """Raise `CommandError` if `manage.py restore` would refuse the archive."""
    with open_verified(file, Progress(print, "Checking")) as archive:
        refuse_incompatible(archive)


def truncate(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-100])


def flip_a_bit(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    archive.write_bytes(data)


def replace_with_text(archive: Path) -> None:
    archive.write_text("hello")


def change_a_recording(manifest: Json, members: dict[str, bytes]) -> None:
    members[RECORDING] = b"[]\n"


def add_a_member(manifest: Json, members: dict[str, bytes]) -> None:
    members["files/recordings/two.jsonl"] = b""


def remove_a_member(manifest: Json, members: dict[str, bytes]) -> None:
    del members["files/secret_key"]


def move_recording(to: str) -> Change:
    def move(manifest: Json, members: dict[str, bytes]) -> None:
        for names in (manifest["members"], members):
            names[to] = names.pop(RECORDING)

    return move


def remove_the_version(manifest: Json, members: dict[str, bytes]) -> None:
    del manifest["version"]


def change_the_engine(manifest: Json, members: dict[str, bytes]) -> None:
    engines = {"sqlite": "postgresql", "postgresql": "sqlite"}
    manifest["engine"] = engines[manifest["engine"]]


def add_a_later_migration(manifest: Json, members: dict[str, bytes]) -> None:
    manifest["migrations"].append("chatapp.9999_later")


def test_an_unchanged_archive_is_accepted(archive: Path) -> None:
    check(archive)


def test_unpacked_files_are_for_their_owner_only(archive: Path) -> None:
    with ZipFile(archive) as zip_file:
        assert {info.external_attr >> 16 for info in zip_file.infolist()} == {0o600}


@pytest.mark.parametrize("damage", [truncate, flip_a_bit, replace_with_text])
def test_a_damaged_file_is_refused(archive: Path, damage: Callable[[Path], None]) -> None:
    damage(archive)
    with pytest.raises(CommandError, match="is damaged or isn't a backup"):
        check(archive)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="can't be read: No such file"):
        check(tmp_path / "none.zip")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_a_recording, "differs from the manifest"),
        (add_a_member, "members and manifest differ"),
        (remove_a_member, "members and manifest differ"),
        (move_recording("files/../evil"), "members and manifest differ"),
        (move_recording("files//evil"), "members and manifest differ"),
        (move_recording("evil"), "members and manifest differ"),
        (move_recording("files/static/evil.js"), "contains files that don't belong in one"),
        (move_recording("files/chatapp.sqlite3"), "contains files that don't belong in one"),
        (remove_the_version, "is damaged or isn't a backup"),
        (change_the_engine, "but this installation uses .*DATABASE_URL"),
        (add_a_later_migration, "made by a newer version.* doesn't know chatapp.9999_later"),
    ],
)
def test_an_altered_archive_is_refused(
    archive: Path, tmp_path: Path, change: Change, message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        check(alter_archive(archive, tmp_path / "altered.zip", change))


def test_another_secret_key_is_refused(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "other")
    with pytest.raises(CommandError, match="with another SECRET_KEY"):
        check(archive)
