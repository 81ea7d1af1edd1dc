"""What makes an archive unfit to be restored, found before anything is changed."""

from collections.abc import Callable
from pathlib import Path

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
    verified,
)
from chatapp.management.backups.progress import Progress
from chatapp.management.backups.refusals import refuse_unfit
from tests.management.archives import Change, Json, altered

SECRET = "the secret key of then"
RECORDING = "files/recordings/one.jsonl"


@pytest.fixture
def archive(tmp_path: Path, settings: Settings) -> Path:
    settings.STATIC_ROOT = settings.DATA_DIR / "static"  # is made anew, and in no backup
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
    """Raises `CommandError` if `manage.py restore` would refuse the archive."""
    with verified(file, Progress(print, "Checking")) as archive:
        refuse_unfit(archive)


def cut(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-100])


def flip_a_bit(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    archive.write_bytes(data)


def replace_by_text(archive: Path) -> None:
    archive.write_text("hello")


def another_recording(manifest: Json, members: dict[str, bytes]) -> None:
    members[RECORDING] = b"[]\n"


def one_member_more(manifest: Json, members: dict[str, bytes]) -> None:
    members["files/recordings/two.jsonl"] = b""


def one_member_less(manifest: Json, members: dict[str, bytes]) -> None:
    del members["files/secret_key"]


def moved(to: str) -> Change:
    def move(manifest: Json, members: dict[str, bytes]) -> None:
        for names in (manifest["members"], members):
            names[to] = names.pop(RECORDING)

    return move


def no_version(manifest: Json, members: dict[str, bytes]) -> None:
    del manifest["version"]


def the_other_engine(manifest: Json, members: dict[str, bytes]) -> None:
    engines = {"sqlite": "postgresql", "postgresql": "sqlite"}
    manifest["engine"] = engines[manifest["engine"]]


def a_later_migration(manifest: Json, members: dict[str, bytes]) -> None:
    manifest["migrations"].append("chatapp.9999_later")


def test_an_archive_as_it_was_written_is_fit(archive: Path) -> None:
    check(archive)


@pytest.mark.parametrize("damage", [cut, flip_a_bit, replace_by_text])
def test_a_damaged_file_is_refused(archive: Path, damage: Callable[[Path], None]) -> None:
    damage(archive)
    with pytest.raises(CommandError, match="is damaged or no backup"):
        check(archive)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="can't be read: No such file"):
        check(tmp_path / "none.zip")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (another_recording, "is not what the manifest says"),
        (one_member_more, "members and manifest differ"),
        (one_member_less, "members and manifest differ"),
        (moved("files/../evil"), "members and manifest differ"),
        (moved("files//evil"), "members and manifest differ"),
        (moved("evil"), "members and manifest differ"),
        (moved("files/static/evil.js"), "holds files that no backup holds"),
        (moved("files/chatapp.sqlite3"), "holds files that no backup holds"),
        (no_version, "is damaged or no backup"),
        (the_other_engine, "and this installation uses .*DATABASE_URL"),
        (a_later_migration, "made by a newer version.* does not know chatapp.9999_later"),
    ],
)
def test_an_altered_archive_is_refused(
    archive: Path, tmp_path: Path, change: Change, said: str
) -> None:
    with pytest.raises(CommandError, match=said):
        check(altered(archive, tmp_path / "altered.zip", change))


def test_another_secret_key_is_refused(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "other")
    with pytest.raises(CommandError, match="with another SECRET_KEY"):
        check(archive)
