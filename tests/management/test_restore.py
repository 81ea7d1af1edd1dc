"""`manage.py restore`, with the database that the tests use: round trips and refusals."""

import stat
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.management import Printed
from tests.management.archives import (
    KEY,
    REPORT,
    Json,
    alter_archive,
    connect_database,
    refusal,
    restore,
    tables,
)
from tests.support.live import Server, Site, run
from tests.support.page import Page

RESTORE = """
from django.core.management import CommandError, call_command
try:
    call_command("restore", {!r})
except CommandError as error:
    print(error)
"""
SHOW = """
import django
django.setup()
from chatapp.models import Message, Upstream
print(Upstream.objects.get(name="Kept").api_key, *Message.objects.values_list("ending", flat=True))
"""


def test_a_restored_installation_equals_the_original(
    site: Site, installation: Server, conversation: str, archive: Path, empty: dict[str, str]
) -> None:
    done = restore(empty, archive)
    assert done.returncode == 0, done.stderr
    assert "are now interrupted: 1" in done.stdout
    assert set(run(empty, "-c", SHOW).stdout.split()) == {KEY, "interrupted"}
    assert Path(empty["DATA_DIR"], "recordings", "one.jsonl").read_text() == "{}\n"
    secret = Path(empty["DATA_DIR"], "secret_key")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert secret.read_text() == (installation.data_dir / "secret_key").read_text()
    Path(empty["DATA_DIR"], "static").symlink_to(installation.data_dir / "static")
    # It would refuse to start if migrations were missing.
    with Server(empty) as server, server.visit(site.olive) as client:
        page = Page(client.get(conversation).text)
        assert page.reply().attributes["data-ending"] == "interrupted"
        assert page.region("answer").strip() == "Half of"
        assert client.get(f"/files/{REPORT}/").content == b"Sales fell"


@pytest.mark.thorough
def test_an_unused_migrated_installation_counts_as_empty(site: Site, archive: Path) -> None:
    fresh = site.empty_server().environment
    done = restore(fresh, archive)
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_an_older_schema_is_migrated(site: Site, tmp_path: Path, empty: dict[str, str]) -> None:
    older = site.server().environment
    run(older, "manage.py", "migrate", "mfa", "0002")
    run(older, "manage.py", "backup", str(tmp_path / "older.zip"))
    done = restore(empty, tmp_path / "older.zip")
    applied = "Its schema was older. Applied mfa.0003_authenticator_type_uniq."
    assert applied in done.stdout, done.stderr


def test_a_damaged_archive_changes_nothing(
    archive: Path, tmp_path: Path, settings: Settings
) -> None:
    """A test without a database fails if it uses one."""
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(archive.read_bytes()[:-100])
    assert "is damaged or isn't a backup" in Printed("restore", str(damaged)).problem
    assert list(settings.DATA_DIR.iterdir()) == []


@pytest.mark.thorough
def test_a_failed_restore_leaves_nothing_behind(
    archive: Path, empty: dict[str, str], tmp_path: Path
) -> None:
    """The checksums are right, but the database is truncated."""

    def truncate(manifest: Json, members: dict[str, bytes]) -> None:
        members["database"] = data = members["database"][: len(members["database"]) * 9 // 10]
        manifest["members"]["database"] = {"size": len(data), "sha256": sha256(data).hexdigest()}

    refusal(empty, alter_archive(archive, tmp_path / "bad.zip", truncate))


def test_an_installation_with_data_is_refused(installation: Server, archive: Path) -> None:
    before = tables(installation.environment)
    error = installation.run(RESTORE.format(str(archive)))
    assert tables(installation.environment) == before
    assert "This installation is not empty (rows: " in error
    assert "in chatapp_user" in error


@pytest.mark.thorough
def test_an_installation_with_files_is_refused(archive: Path, empty: dict[str, str]) -> None:
    folder = Path(empty["DATA_DIR"], "recordings")
    folder.mkdir()
    (folder / "mine.jsonl").touch()
    assert "has recordings/mine.jsonl" in refusal(empty, archive)


@pytest.mark.thorough
def test_a_database_in_use_is_refused(site: Site, archive: Path) -> None:
    environment = site.empty_server().environment
    with closing(connect_database(environment)) as connection:
        connection.execute("SELECT count(*) FROM chatapp_user").fetchone()
        connection.rollback()
        assert "The database is in use" in refusal(environment, archive)
