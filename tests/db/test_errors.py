"""A disk or database that can't be used: every command says what is wrong and what to do."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from chatapp import environment
from tests.support.live import ROOT, Site, child_environment, free_port
from tests.support.profile import sample_params

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("DATABASE_URL")), reason="is of SQLite, in a data directory"
)

KEY = "a-key-of-the-environment-" * 3


@dataclass
class Installation:
    """A migrated installation, and what a test has broken in it."""

    data_dir: Path
    shell: str = ""  # run before the command, in a mount namespace of its own
    environment: dict[str, str] = field(default_factory=dict)
    undoing: ExitStack = field(default_factory=ExitStack)

    def run(self, command: str) -> str:
        words = [sys.executable, "manage.py", command]
        if self.shell:
            words = ["unshare", "--mount", "sh", "-c", f'{self.shell} && exec "$@"', "sh", *words]
        variables = {
            "DATA_DIR": str(self.data_dir),
            "PORT": "0",
            "REDIS_URL": "",
            **self.environment,
        }
        done = subprocess.run(
            words,
            cwd=ROOT,
            env=child_environment(variables),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        output = done.stdout + done.stderr
        assert done.returncode == 1, output
        assert "Traceback" not in output, output
        return remove_spaces(output.replace("→", ""))


def remove_spaces(text: str) -> str:
    """Remove spaces, since the doctor wraps its lines and long paths."""
    return "".join(text.split())


def read_only_directory(it: Installation) -> None:
    bound = f"mount --bind {it.data_dir} {it.data_dir}"
    it.shell = f"{bound} && mount -o remount,bind,ro {it.data_dir}"


def full_disk(it: Installation) -> None:
    disk = it.data_dir.parent / "disk"
    disk.mkdir()
    database = it.data_dir / "chatapp.sqlite3"
    room = database.stat().st_size // 1024 + 64
    it.shell = (
        f"mount -t tmpfs -o size={room}k none {disk} && cp {database} {disk}"
        f" && (cat /dev/zero > {disk}/full 2> /dev/null || true)"
    )
    it.data_dir = disk
    it.environment["SECRET_KEY"] = KEY


def full_disk_without_a_key(it: Installation) -> None:
    full_disk(it)
    del it.environment["SECRET_KEY"]


def read_only_database(it: Installation) -> None:
    file = it.data_dir / "chatapp.sqlite3"
    subprocess.run(["chattr", "+i", file], check=True, capture_output=True)
    it.undoing.callback(lambda: subprocess.run(["chattr", "-i", file], check=True))


def locked_database(it: Installation) -> None:
    other = sqlite3.connect(it.data_dir / "chatapp.sqlite3", isolation_level=None)
    it.undoing.enter_context(closing(other))
    other.execute("BEGIN IMMEDIATE")


def damaged_database(it: Installation) -> None:
    (it.data_dir / "chatapp.sqlite3").write_bytes(os.urandom(100_000))


def a_file_instead(it: Installation) -> None:
    shutil.rmtree(it.data_dir)
    it.data_dir.write_text("something else")


def a_file_instead_and_a_key(it: Installation) -> None:
    a_file_instead(it)
    it.environment["SECRET_KEY"] = KEY


def no_parent(it: Installation) -> None:
    it.data_dir = Path("/proc/nowhere/chatapp")


CASES: list[tuple[Callable[[Installation], None], str, str]] = [
    (read_only_directory, "is on a disk that is mounted read-only", "Mount it read-write"),
    (full_disk, "the disk of DIR is full", "Free some space"),
    (full_disk_without_a_key, "the disk of DIR is full", "Free some space"),
    (read_only_database, "DIR/chatapp.sqlite3 can't be written", "Make the app's user the owner"),
    (
        locked_database,
        "another program has locked DIR/chatapp.sqlite3",
        "Stop that program or wait",
    ),
    (damaged_database, "is damaged or not a SQLite database", "manage.py restore"),
    (a_file_instead, "DIR is a file, not a directory", "Set DATA_DIR to a directory"),
    (a_file_instead_and_a_key, "DIR is a file, not a directory", "Set DATA_DIR to a directory"),
    (no_parent, "does not exist and can't be created", "set DATA_DIR to another directory"),
]


# A locked database is retried for twenty seconds.
SLOW_OR_SIMILAR = (locked_database, full_disk_without_a_key, a_file_instead_and_a_key)


@pytest.mark.parametrize("command", sample_params(["serve", "migrate", "doctor"]))
@pytest.mark.parametrize(
    ("happen", "problem", "remedy"),
    [
        pytest.param(
            *case,
            id=case[0].__name__,
            marks=[pytest.mark.thorough] if case[0] in SLOW_OR_SIMILAR else [],
        )
        for case in CASES
    ],
)
def test_every_command_names_the_problem_and_its_remedy(
    site: Site,
    tmp_path: Path,
    happen: Callable[[Installation], None],
    problem: str,
    remedy: str,
    command: str,
) -> None:
    installation = Installation(tmp_path / "data")
    shutil.copytree(site.copy()["DATA_DIR"], installation.data_dir, symlinks=True)
    needs = {"unshare", "chattr"} if happen in (read_only_directory, read_only_database) else set()
    needs |= {"unshare"} if "full" in happen.__name__ else set()
    if needs and (os.geteuid() != 0 or not all(map(shutil.which, needs))):
        pytest.skip("needs root, to make a disk or a file read-only or full")
    with installation.undoing:
        happen(installation)
        output = installation.run(command)
    assert remove_spaces(problem.replace("DIR", str(installation.data_dir))) in output
    assert remove_spaces(remedy) in output


def test_a_partially_written_secret_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the next start would take the truncated file for the secret."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    open_file = os.open

    def on_a_full_disk(path: Path, *flags: int) -> int:
        os.close(open_file(path, *flags))
        return open_file(full, os.O_WRONLY)

    monkeypatch.setattr(os, "open", on_a_full_disk)
    with pytest.raises(ImproperlyConfigured, match="is full"):
        environment.generated_secret(tmp_path / "secret_key")
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
@pytest.mark.server
@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_an_unreachable_postgresql_is_reported(tmp_path: Path, command: str) -> None:
    away = f"postgres://alice:hunter22@127.0.0.1:{free_port()}/chat"
    output = Installation(tmp_path, environment={"DATABASE_URL": away}).run(command)
    assert remove_spaces("The database can't be used: it can't be reached") in output
    assert remove_spaces("Check that it is running and that DATABASE_URL points to it.") in output
    assert "hunter22" not in output
