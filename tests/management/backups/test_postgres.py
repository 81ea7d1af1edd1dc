"""PostgreSQL's client programs: missing, too old, and how they get the password."""

import subprocess
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.support.live import Server, run


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: dict[str, str]) -> Path:
    """The only folder on the PATH."""
    if "DATABASE_URL" not in empty:
        pytest.skip("DATABASE_URL is not set")
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(file: Path, script: str) -> None:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_a_missing_or_old_pg_dump_is_reported(
    installation: Server, tools: Path, tmp_path: Path
) -> None:
    def error() -> str:
        target = str(tmp_path / "a.zip")
        done = run(installation.environment, "manage.py", "backup", target, check=False)
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "pg_dump can't be run" in error()
    program(tools / "pg_dump", "echo 'pg_dump (PostgreSQL) 9.6.24'")
    assert "pg_dump is too old for PostgreSQL" in error()
    program(tools / "pg_dump", 'test "$1" = --version && echo 99 && exit; echo broken >&2; exit 1')
    assert "pg_dump failed and left nothing behind: broken" in error()
    assert [path.name for path in tmp_path.iterdir()] == ["tools"]


def test_the_password_is_not_on_a_command_line(
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
