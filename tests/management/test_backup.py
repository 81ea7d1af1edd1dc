"""`manage.py backup`, with the database that the tests use."""

import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.management import Printed
from tests.management.archives import connect_database, read_manifest, refusal, restore
from tests.support.live import Server, Site, run


def test_the_archive_is_private_and_its_manifest_lists_its_contents(
    installation: Server, archive: Path
) -> None:
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    manifest = read_manifest(archive)
    assert manifest["rows"]["chatapp_message"] == 2
    assert "chatapp.0001_initial" in manifest["migrations"]
    attached, *members = sorted(manifest["members"], key=lambda name: "files/files/" not in name)
    assert attached.startswith("files/files/")
    assert set(members) == {"database", "files/secret_key", "files/recordings/one.jsonl"}
    assert manifest["members"]["files/recordings/one.jsonl"]["size"] == 3
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]


@pytest.mark.thorough
def test_a_backup_during_writes_is_consistent(
    site: Site, tmp_path: Path, empty: dict[str, str]
) -> None:
    """Each transaction writes two rows, so that an inconsistent copy would have an odd number.

    The copy takes longer than the pauses between writes, so a copy that restarts after each write
    would never end.
    """
    busy = site.empty_server().environment
    with closing(connect_database(busy)) as connection:
        for number in range(6000):
            row = f"('p{number}', '{'x' * 5000}', '2030-01-01')"
            connection.execute(f"INSERT INTO django_session VALUES {row}")  # noqa: S608 - our own
        connection.commit()
    file = tmp_path / "busy.zip"
    with pairs_written(busy):
        run(busy, "manage.py", "backup", str(file))
    sessions = read_manifest(file)["rows"]["django_session"]
    assert sessions >= 6040
    assert sessions % 2 == 0
    assert restore(empty, file).returncode == 0


@contextmanager
def pairs_written(environment: dict[str, str]) -> Iterator[None]:
    """Insert two rows per transaction all the time, in another thread."""
    has_begun, stop = threading.Event(), threading.Event()
    insert = "INSERT INTO django_session VALUES "
    insert += "('a{0}', '{1}', '2030-01-01'), ('b{0}', '{1}', '2030-01-01')"

    def write() -> None:
        with closing(connect_database(environment)) as connection:
            for number in count():
                connection.execute(insert.format(number, "x" * 5000))
                connection.commit()
                if number == 20:
                    has_begun.set()
                if stop.wait(0.002):
                    return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert has_begun.wait(10)
        yield
    finally:
        stop.set()
        writer.join()


@pytest.mark.thorough
def test_a_secret_key_from_the_environment_is_not_in_the_archive(
    installation: Server, empty: dict[str, str], tmp_path: Path
) -> None:
    secret = (installation.data_dir / "secret_key").read_text()
    (installation.data_dir / "secret_key").rename(tmp_path / "secret_key")
    try:
        environment = installation.environment | {"SECRET_KEY": secret}
        done = run(environment, "manage.py", "backup", str(tmp_path / "without.zip"))
    finally:
        (tmp_path / "secret_key").rename(installation.data_dir / "secret_key")
    assert "It does not contain SECRET_KEY" in done.stdout
    assert "with another SECRET_KEY" in refusal(empty, tmp_path / "without.zip")
    done = restore(empty | {"SECRET_KEY": secret}, tmp_path / "without.zip")
    assert done.returncode == 0, done.stderr


def test_a_backup_overwrites_nothing_and_is_not_written_to_data_dir(
    settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    existing = tmp_path / "existing.zip"
    existing.write_bytes(b"another backup")
    assert "exists. Name another file" in Printed("backup", str(existing)).problem
    assert existing.read_bytes() == b"another backup"
    assert "is in DATA_DIR" in Printed("backup", str(settings.DATA_DIR / "b.zip")).problem
    assert (
        "is not a directory. Create it"
        in Printed("backup", str(tmp_path / "none" / "b.zip")).problem
    )


def test_before_the_first_start_there_is_nothing_to_back_up(
    empty: dict[str, str], tmp_path: Path
) -> None:
    done = run(empty, "manage.py", "backup", str(tmp_path / "a.zip"), check=False)
    assert "There is nothing to back up" in done.stderr
    assert not list(tmp_path.iterdir())
