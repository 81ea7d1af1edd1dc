"""`manage.py restore`, on the database that the tests run on: there and back, and refusals."""

import json
import stat
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest

from tests.management.archives import (
    KEY,
    Manifest,
    connected,
    manifest_of,
    refusal,
    restore,
)
from tests.support.live import Server, Site, run
from tests.support.page import Page
from tests.support.profile import sampled

SHOW = """
import django
django.setup()
from chatapp.models import Message, Upstream
print(Upstream.objects.get(name="Kept").api_key, *Message.objects.values_list("ending", flat=True))
"""


def altered(
    file: Path,
    target: Path,
    change: Callable[[Manifest, dict[str, bytes]], None],
) -> Path:
    """A copy of the archive whose manifest and members were changed."""
    manifest = manifest_of(file)
    with ZipFile(file) as archive:
        members = {name: archive.read(name) for name in manifest["members"]}
    change(manifest, members)
    with ZipFile(target, "w", ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(manifest))
    return target


def test_a_restored_installation_is_the_one_that_was_backed_up(
    site: Site, installation: Server, conversation: str, archive: Path, empty: dict[str, str]
) -> None:
    done = restore(empty, archive)
    assert done.returncode == 0, done.stderr
    assert "now interrupted: 1" in done.stdout
    assert set(run(empty, "-c", SHOW).stdout.split()) == {KEY, "interrupted"}
    assert Path(empty["DATA_DIR"], "recordings", "one.jsonl").read_text() == "{}\n"
    secret = Path(empty["DATA_DIR"], "secret_key")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert secret.read_text() == (installation.data_dir / "secret_key").read_text()
    run(empty, "manage.py", "migrate", "--check")
    Path(empty["DATA_DIR"], "static").symlink_to(installation.data_dir / "static")
    with Server(empty) as server, server.visit(site.olive) as client:
        page = Page(client.get(conversation).text)
        assert page.reply().attributes["data-ending"] == "interrupted"
        assert page.region("answer").strip() == "Half of"


@pytest.mark.thorough
def test_a_migrated_installation_that_was_never_used_counts_as_empty(
    site: Site, archive: Path
) -> None:
    fresh = site.empty_server().environment
    done = restore(fresh, archive)
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_an_older_schema_is_migrated(site: Site, tmp_path: Path, empty: dict[str, str]) -> None:
    older = site.server().environment
    run(older, "manage.py", "migrate", "mfa", "0002")
    run(older, "manage.py", "backup", str(tmp_path / "older.zip"))
    done = restore(empty, tmp_path / "older.zip")
    applied = "Its schema was older: applied mfa.0003_authenticator_type_uniq."
    assert applied in done.stdout, done.stderr


def cut(file: Path, target: Path) -> Path:
    target.write_bytes(file.read_bytes()[:-100])
    return target


def one_byte_other(file: Path, target: Path) -> Path:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    target.write_bytes(data)
    return target


def another_recording(manifest: Manifest, members: dict[str, bytes]) -> None:
    members["files/recordings/one.jsonl"] = b"[]\n"


def a_member_too_many(manifest: Manifest, members: dict[str, bytes]) -> None:
    members["files/recordings/two.jsonl"] = b""


def a_member_too_few(manifest: Manifest, members: dict[str, bytes]) -> None:
    del members["files/secret_key"]


def moved(to: str) -> Callable[[Manifest, dict[str, bytes]], None]:
    def move(manifest: Manifest, members: dict[str, bytes]) -> None:
        for names in (manifest["members"], members):
            names[to] = names.pop("files/recordings/one.jsonl")

    return move


def no_version(manifest: Manifest, members: dict[str, bytes]) -> None:
    del manifest["version"]


@pytest.mark.parametrize("damage", sampled([cut, one_byte_other]))
def test_a_damaged_archive_changes_nothing(
    archive: Path, empty: dict[str, str], tmp_path: Path, damage: Callable[[Path, Path], Path]
) -> None:
    assert "is damaged or no backup" in refusal(empty, damage(archive, tmp_path / "bad.zip"))


@pytest.mark.parametrize(
    ("change", "said"),
    sampled(
        [
            (another_recording, "is not what the manifest says"),
            (a_member_too_many, "members and manifest differ"),
            (a_member_too_few, "members and manifest differ"),
            (moved("files/../evil"), "members and manifest differ"),
            (moved("files//evil"), "members and manifest differ"),
            (moved("evil"), "members and manifest differ"),
            (moved("files/static/evil.js"), "holds files that no backup holds"),
            (moved("files/chatapp.sqlite3"), "holds files that no backup holds"),
            (no_version, "is damaged or no backup"),
        ]
    ),
)
def test_an_altered_archive_changes_nothing(
    archive: Path,
    empty: dict[str, str],
    tmp_path: Path,
    change: Callable[[Manifest, dict[str, bytes]], None],
    said: str,
) -> None:
    assert said in refusal(empty, altered(archive, tmp_path / "bad.zip", change))
    assert not (tmp_path / "evil").exists()


@pytest.mark.thorough
def test_a_database_that_can_not_be_restored_leaves_nothing(
    archive: Path, empty: dict[str, str], tmp_path: Path
) -> None:
    """Its sums are right, but it holds less than its manifest says, or ends too early."""

    def lie(manifest: Manifest, members: dict[str, bytes]) -> None:
        members["database"] = data = members["database"][: len(members["database"]) * 9 // 10]
        manifest["members"]["database"] = {"size": len(data), "sha256": sha256(data).hexdigest()}

    refusal(empty, altered(archive, tmp_path / "bad.zip", lie))


@pytest.mark.thorough
def test_what_is_no_file_is_refused(empty: dict[str, str], tmp_path: Path) -> None:
    assert "can't be read: No such file" in refusal(empty, tmp_path / "none.zip")
    (tmp_path / "text.zip").write_text("hello")
    assert "is damaged or no backup" in refusal(empty, tmp_path / "text.zip")


def test_an_installation_that_holds_something_is_refused(site: Site, archive: Path) -> None:
    said = refusal(site.server().environment, archive)
    assert "This installation is not empty (rows: " in said
    assert "in chatapp_user" in said


@pytest.mark.thorough
def test_files_in_the_way_are_refused(archive: Path, empty: dict[str, str]) -> None:
    folder = Path(empty["DATA_DIR"], "recordings")
    folder.mkdir()
    (folder / "mine.jsonl").touch()
    assert "holds recordings/mine.jsonl" in refusal(empty, archive)


@pytest.mark.thorough
def test_a_database_in_use_is_refused(site: Site, archive: Path) -> None:
    environment = site.empty_server().environment
    with closing(connected(environment)) as connection:
        connection.execute("SELECT count(*) FROM chatapp_user").fetchone()
        connection.rollback()
        assert "The database is in use" in refusal(environment, archive)


@pytest.mark.thorough
def test_the_other_engine_is_refused(archive: Path, empty: dict[str, str], tmp_path: Path) -> None:
    def other(manifest: Manifest, members: dict[str, bytes]) -> None:
        engines = {"sqlite": "postgresql", "postgresql": "sqlite"}
        manifest["engine"] = engines[manifest["engine"]]

    said = refusal(empty, altered(archive, tmp_path / "other.zip", other))
    assert "and this installation uses" in said
    assert "DATABASE_URL" in said


def test_a_newer_schema_is_refused(archive: Path, empty: dict[str, str], tmp_path: Path) -> None:
    def newer(manifest: Manifest, members: dict[str, bytes]) -> None:
        manifest["migrations"].append("chatapp.9999_later")

    said = refusal(empty, altered(archive, tmp_path / "newer.zip", newer))
    assert "made by a newer version" in said
    assert "does not know chatapp.9999_later" in said


@pytest.mark.thorough
def test_another_secret_key_is_refused(archive: Path, empty: dict[str, str]) -> None:
    assert "with another SECRET_KEY" in refusal(empty | {"SECRET_KEY": "other"}, archive)
