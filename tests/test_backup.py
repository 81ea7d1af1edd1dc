"""`manage.py backup` and `manage.py restore`, on the database that the tests run on."""

import json
import sqlite3
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from zipfile import ZIP_STORED, ZipFile

import psycopg
import pytest
from django.core.management.base import CommandError

from chatapp.management.backups import progress
from chatapp.management.backups.progress import Progress
from chatapp.management.commands.restore import _refuse_lack_of_space
from tests.live import Server, Site, run
from tests.page import Page

KEY = "sk-very-secret"
MAKE_CONVERSATION = f"""
import django, uuid
django.setup()
from chatapp.models import Conversation, Message, Upstream, User
upstream = Upstream.objects.create(name="Kept", base_url="http://127.0.0.1:9/v1", api_key="{KEY}")
chat = Conversation(user=User.objects.get(username="olive"), title="Kept")
prompt, reply = chat.ask(uuid.uuid4(), "Hello", None, upstream, "m", uuid.uuid4())
Message.objects.filter(pk=reply.pk).update(content="Half of")
print(chat.get_absolute_url())
"""
SHOW = """
import django
django.setup()
from chatapp.models import Message, Upstream
print(Upstream.objects.get(name="Kept").api_key, *Message.objects.values_list("ending", flat=True))
"""


@pytest.fixture(scope="module")
def installation(site: Site) -> Server:
    """It holds a recording."""
    server = site.server()
    recording = server.data_dir / "recordings" / "one.jsonl"
    recording.parent.mkdir()
    recording.write_text("{}\n")
    return server


@pytest.fixture(scope="module")
def conversation(installation: Server) -> str:
    """The address of one of Olive's, whose reply streams."""
    return run(installation.environment, "-c", MAKE_CONVERSATION).stdout.strip()


@pytest.fixture(scope="module")
def archive(
    installation: Server, conversation: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    file = tmp_path_factory.mktemp("backups") / "chatapp.zip"
    run(installation.environment, "manage.py", "backup", str(file))
    return file


@pytest.fixture
def empty(site: Site) -> dict[str, str]:
    return site.nothing()


def restore(environment: dict[str, str], file: Path) -> "subprocess.CompletedProcess[str]":
    return run(environment, "manage.py", "restore", str(file), check=False)


def refusal(environment: dict[str, str], file: Path) -> str:
    """What a restore says that changed nothing."""
    before = tables(environment)
    done = restore(environment, file)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert tables(environment) == before
    left = {path.name for path in Path(environment["DATA_DIR"]).iterdir()}
    assert left <= {"secret_key", "static", "recordings"} | {n for n in left if ".sqlite3" in n}
    return done.stderr


def tables(environment: dict[str, str]) -> set[str]:
    if url := environment.get("DATABASE_URL"):
        with psycopg.connect(url) as connection:
            query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            return {name for [name] in connection.execute(query)}
    file = Path(environment["DATA_DIR"], "chatapp.sqlite3")
    if not file.exists():
        return set()
    with closing(sqlite3.connect(file)) as connection:
        return {name for [name] in connection.execute("SELECT name FROM sqlite_master")}


def manifest_of(file: Path) -> dict[str, Any]:
    with ZipFile(file) as archive:
        manifest: dict[str, Any] = json.loads(archive.read("manifest.json"))
    return manifest


def altered(
    file: Path,
    target: Path,
    change: Callable[[dict[str, Any], dict[str, bytes]], None],
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


# There and back


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


def test_the_archive_is_its_owners_and_its_manifest_says_what_is_in_it(
    installation: Server, archive: Path
) -> None:
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    manifest = manifest_of(archive)
    assert manifest["rows"]["chatapp_message"] == 2
    assert "chatapp.0001_initial" in manifest["migrations"]
    assert set(manifest["members"]) == {
        "database",
        "files/secret_key",
        "files/recordings/one.jsonl",
    }
    assert manifest["members"]["files/recordings/one.jsonl"]["size"] == 3
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]


def test_a_migrated_installation_that_was_never_used_counts_as_empty(
    site: Site, archive: Path
) -> None:
    fresh = site.server(people=False).environment
    done = restore(fresh, archive)
    assert done.returncode == 0, done.stderr


def test_an_older_schema_is_migrated(site: Site, tmp_path: Path, empty: dict[str, str]) -> None:
    older = site.server().environment
    run(older, "manage.py", "migrate", "sessions", "zero")
    run(older, "manage.py", "backup", str(tmp_path / "older.zip"))
    done = restore(empty, tmp_path / "older.zip")
    assert "Its schema was older: applied sessions.0001_initial." in done.stdout, done.stderr
    assert "django_session" in tables(empty)


# While others write


def test_a_backup_while_others_write_is_of_one_moment(
    site: Site, tmp_path: Path, empty: dict[str, str]
) -> None:
    """Each transaction writes two rows, so that a torn copy would hold an odd number.

    The copy takes longer than the pauses in between, so one that starts again for each would
    never end.
    """
    busy = site.server(people=False).environment
    with closing(connected(busy)) as connection:
        for number in range(6000):
            row = f"('p{number}', '{'x' * 5000}', '2030-01-01')"
            connection.execute(f"INSERT INTO django_session VALUES {row}")  # noqa: S608 - our own
        connection.commit()
    file = tmp_path / "busy.zip"
    with pairs_written(busy):
        run(busy, "manage.py", "backup", str(file))
    sessions = manifest_of(file)["rows"]["django_session"]
    assert sessions >= 6040
    assert sessions % 2 == 0
    assert restore(empty, file).returncode == 0


@contextmanager
def pairs_written(environment: dict[str, str]) -> Iterator[None]:
    """Somebody writes all the time, two rows at once."""
    began, over = threading.Event(), threading.Event()
    insert = "INSERT INTO django_session VALUES "
    insert += "('a{0}', '{1}', '2030-01-01'), ('b{0}', '{1}', '2030-01-01')"

    def write() -> None:
        with closing(connected(environment)) as connection:
            for number in count():
                connection.execute(insert.format(number, "x" * 5000))
                connection.commit()
                if number == 20:
                    began.set()
                if over.wait(0.002):
                    return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert began.wait(10)
        yield
    finally:
        over.set()
        writer.join()


def connected(environment: dict[str, str]) -> Any:
    if url := environment.get("DATABASE_URL"):
        return psycopg.connect(url)
    return sqlite3.connect(Path(environment["DATA_DIR"], "chatapp.sqlite3"), timeout=20)


# What is refused


def cut(file: Path, target: Path) -> Path:
    target.write_bytes(file.read_bytes()[:-100])
    return target


def one_byte_other(file: Path, target: Path) -> Path:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    target.write_bytes(data)
    return target


def another_recording(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    members["files/recordings/one.jsonl"] = b"[]\n"


def a_member_too_many(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    members["files/recordings/two.jsonl"] = b""


def a_member_too_few(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    del members["files/secret_key"]


def moved(to: str) -> Callable[[dict[str, Any], dict[str, bytes]], None]:
    def move(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
        for names in (manifest["members"], members):
            names[to] = names.pop("files/recordings/one.jsonl")

    return move


def no_version(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
    del manifest["version"]


@pytest.mark.parametrize("damage", [cut, one_byte_other])
def test_a_damaged_archive_changes_nothing(
    archive: Path, empty: dict[str, str], tmp_path: Path, damage: Callable[[Path, Path], Path]
) -> None:
    assert "is damaged or no backup" in refusal(empty, damage(archive, tmp_path / "bad.zip"))


@pytest.mark.parametrize(
    ("change", "said"),
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
    ],
)
def test_an_altered_archive_changes_nothing(
    archive: Path,
    empty: dict[str, str],
    tmp_path: Path,
    change: Callable[[dict[str, Any], dict[str, bytes]], None],
    said: str,
) -> None:
    assert said in refusal(empty, altered(archive, tmp_path / "bad.zip", change))
    assert not (tmp_path / "evil").exists()


def test_a_database_that_can_not_be_restored_leaves_nothing(
    archive: Path, empty: dict[str, str], tmp_path: Path
) -> None:
    """Its sums are right, but it holds less than its manifest says, or ends too early."""

    def lie(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
        members["database"] = data = members["database"][: len(members["database"]) * 9 // 10]
        manifest["members"]["database"] = {"size": len(data), "sha256": sha256(data).hexdigest()}

    refusal(empty, altered(archive, tmp_path / "bad.zip", lie))


def test_what_is_no_file_is_refused(empty: dict[str, str], tmp_path: Path) -> None:
    assert "can't be read: No such file" in refusal(empty, tmp_path / "none.zip")
    (tmp_path / "text.zip").write_text("hello")
    assert "is damaged or no backup" in refusal(empty, tmp_path / "text.zip")


def test_an_installation_that_holds_something_is_refused(site: Site, archive: Path) -> None:
    said = refusal(site.server().environment, archive)
    assert "This installation is not empty (rows: " in said
    assert "in chatapp_user" in said


def test_files_in_the_way_are_refused(archive: Path, empty: dict[str, str]) -> None:
    folder = Path(empty["DATA_DIR"], "recordings")
    folder.mkdir()
    (folder / "mine.jsonl").touch()
    assert "holds recordings/mine.jsonl" in refusal(empty, archive)


def test_a_database_in_use_is_refused(site: Site, archive: Path) -> None:
    environment = site.server(people=False).environment
    with closing(connected(environment)) as connection:
        connection.execute("SELECT count(*) FROM chatapp_user").fetchone()
        connection.rollback()
        assert "The database is in use" in refusal(environment, archive)


def test_the_other_engine_is_refused(archive: Path, empty: dict[str, str], tmp_path: Path) -> None:
    def other(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
        engines = {"sqlite": "postgresql", "postgresql": "sqlite"}
        manifest["engine"] = engines[manifest["engine"]]

    said = refusal(empty, altered(archive, tmp_path / "other.zip", other))
    assert "and this installation uses" in said
    assert "DATABASE_URL" in said


def test_a_newer_schema_is_refused(archive: Path, empty: dict[str, str], tmp_path: Path) -> None:
    def newer(manifest: dict[str, Any], members: dict[str, bytes]) -> None:
        manifest["migrations"].append("chatapp.9999_later")

    said = refusal(empty, altered(archive, tmp_path / "newer.zip", newer))
    assert "made by a newer version" in said
    assert "does not know chatapp.9999_later" in said


def test_another_secret_key_is_refused(archive: Path, empty: dict[str, str]) -> None:
    assert "with another SECRET_KEY" in refusal(empty | {"SECRET_KEY": "other"}, archive)


def test_a_secret_key_of_the_environment_stays_out_of_the_archive(
    installation: Server, empty: dict[str, str], tmp_path: Path
) -> None:
    secret = (installation.data_dir / "secret_key").read_text()
    (installation.data_dir / "secret_key").rename(tmp_path / "secret_key")
    try:
        environment = installation.environment | {"SECRET_KEY": secret}
        done = run(environment, "manage.py", "backup", str(tmp_path / "without.zip"))
    finally:
        (tmp_path / "secret_key").rename(installation.data_dir / "secret_key")
    assert "It does not hold SECRET_KEY" in done.stdout
    assert "with another SECRET_KEY" in refusal(empty, tmp_path / "without.zip")
    done = restore(empty | {"SECRET_KEY": secret}, tmp_path / "without.zip")
    assert done.returncode == 0, done.stderr


def test_a_backup_overwrites_nothing_and_stays_out_of_what_it_copies(
    installation: Server, archive: Path, tmp_path: Path
) -> None:
    def said(file: Path) -> str:
        done = run(installation.environment, "manage.py", "backup", str(file), check=False)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        return done.stderr

    before = archive.read_bytes()
    assert "exists. Name another file" in said(archive)
    assert archive.read_bytes() == before
    assert "is in DATA_DIR" in said(installation.data_dir / "backup.zip")
    assert "is no directory. Make it" in said(tmp_path / "none" / "backup.zip")


def test_there_is_nothing_to_back_up_before_the_first_start(
    empty: dict[str, str], tmp_path: Path
) -> None:
    done = run(empty, "manage.py", "backup", str(tmp_path / "a.zip"), check=False)
    assert "There is nothing to back up" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_backup_that_the_disk_can_not_hold_is_refused() -> None:
    with pytest.raises(CommandError, match=r"bytes free and the backup takes 1,000,0.* Make room"):
        _refuse_lack_of_space(10**18)


def test_long_work_tells_how_far_it_is_and_quick_work_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    chunks = [bytes(1 << 20)] * 2
    assert list(Progress(told.append, "Writing", 2 << 20).counted(chunks)) == chunks
    assert told == []
    monkeypatch.setattr(progress, "EVERY_SECONDS", -1)
    list(Progress(told.append, "Writing", 2 << 20).counted(chunks))
    assert told == ["Writing: 1 of 2 MB", "Writing: 2 of 2 MB"]


# PostgreSQL's tools


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: dict[str, str]) -> Iterator[Path]:
    """A folder of programs that are found first."""
    if "DATABASE_URL" not in empty:
        pytest.skip("DATABASE_URL is not set")
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(file: Path, script: str) -> None:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_a_missing_or_old_pg_dump_is_told(
    installation: Server, tools: Path, tmp_path: Path
) -> None:
    def said() -> str:
        target = str(tmp_path / "a.zip")
        done = run(installation.environment, "manage.py", "backup", target, check=False)
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "pg_dump can't be run" in said()
    program(tools / "pg_dump", "echo 'pg_dump (PostgreSQL) 9.6.24'")
    assert "pg_dump is too old for PostgreSQL" in said()
    program(tools / "pg_dump", 'test "$1" = --version && echo 99 && exit; echo broken >&2; exit 1')
    assert "pg_dump failed and left nothing: broken" in said()
    assert [path.name for path in tmp_path.iterdir()] == ["tools"]


def test_the_password_is_on_no_command_line(
    installation: Server, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # the real PATH
    seen = tmp_path / "seen"
    real = subprocess.run(["which", "pg_dump"], capture_output=True, text=True, check=True)
    program(
        tools / "pg_dump", f'echo "$@ env $PGPASSWORD" >> {seen}\nexec {real.stdout.strip()} "$@"'
    )
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    parts = urlsplit(installation.environment["DATABASE_URL"])
    netloc = f"{parts.username}:hush-hush@{parts.hostname}:{parts.port}"
    url = urlunsplit(parts._replace(netloc=netloc))
    environment = installation.environment | {"DATABASE_URL": url}
    done = run(environment, "manage.py", "backup", str(tmp_path / "a.zip"))
    arguments, in_environment = seen.read_text().splitlines()[-1].split(" env ")
    assert "--format=custom" in arguments
    assert "hush-hush" not in arguments + done.stdout + done.stderr
    assert in_environment == "hush-hush"
