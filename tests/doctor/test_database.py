"""A database that is unreachable, read-only, not migrated, or in good order."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db.backends.base.base import BaseDatabaseWrapper

from chatapp import environment
from chatapp.checks.results import Status
from chatapp.db.connections import unpooled_connection
from chatapp.doctor.database import database, is_usable
from tests.doctor import statuses
from tests.support.live import Site, free_port

POSTGRES = os.environ.get("CI_DATABASE_URL", "postgres://postgres@127.0.0.1:5432/postgres")


# Each test has its own database, but Django looks up applied migrations by the alias.
pytestmark = pytest.mark.django_db


def sqlite(path: Path | str) -> BaseDatabaseWrapper:
    return unpooled_connection({"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": path}})


def postgres(monkeypatch: pytest.MonkeyPatch, url: str, options: Any = None) -> BaseDatabaseWrapper:
    monkeypatch.setenv("OTHER_URL", url)
    parsed = environment.database("OTHER_URL")
    return unpooled_connection({"default": parsed | {"OPTIONS": {"pool": True} | (options or {})}})


@pytest.fixture
def migrated_file(site: Site, tmp_path: Path) -> Path:
    file = site.server().data_dir / "chatapp.sqlite3"
    if not file.exists():
        pytest.skip("the site is on PostgreSQL")
    copy = tmp_path / "copy.sqlite3"
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # so that the database is one file
    return copy


def test_a_good_database_passes(migrated_file: Path) -> None:
    before = migrated_file.read_bytes()
    assert set(statuses(database(sqlite(migrated_file))).values()) == {Status.OK}
    assert is_usable(sqlite(migrated_file))
    assert migrated_file.read_bytes() == before  # the attempted write was rolled back


def test_a_database_without_tables_is_not_migrated(tmp_path: Path) -> None:
    file = tmp_path / "empty.sqlite3"
    file.touch()
    *_, result = database(sqlite(file))
    assert (result.what, result.status) == ("Migrated", Status.FAILED)
    assert "contenttypes.0001_initial" in result.finding
    assert "make upgrade" in result.remedy
    assert not is_usable(sqlite(file))


def test_a_read_only_database_is_not_writable(migrated_file: Path) -> None:
    results = {result.what: result for result in database(sqlite(f"file:{migrated_file}?mode=ro"))}
    assert results["Writable"].status is Status.FAILED
    assert "readonly" in results["Writable"].finding
    assert results["Migrated"].status is Status.OK


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    file = tmp_path / "none.sqlite3"
    assert statuses(database(sqlite(file))) == {
        "Reachable": Status.FAILED,
        "Writable": Status.SKIPPED,
        "Migrated": Status.SKIPPED,
    }
    assert not is_usable(sqlite(file))
    assert not file.exists()


def test_an_unreachable_server_is_reported_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = f"postgres://alice:hunter22@127.0.0.1:{free_port()}/chat"
    results = list(database(postgres(monkeypatch, url)))
    assert [result.status for result in results] == [Status.FAILED, Status.SKIPPED, Status.SKIPPED]
    assert "/chat" in results[0].finding
    assert "hunter22" not in results[0].finding


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> str:
    try:
        psycopg.connect(POSTGRES, connect_timeout=2).close()
    except psycopg.OperationalError:
        pytest.skip("there is no PostgreSQL server")
    return POSTGRES


def test_a_postgresql_servers_version_and_clock_are_reported(
    monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    results = {result.what: result for result in database(postgres(monkeypatch, server))}
    assert results["Reachable"].finding.startswith("PostgreSQL ")
    assert results["Writable"].status is Status.OK
    assert results["Clock"].status is Status.OK


def test_a_postgresql_replica_is_not_writable(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    read_only = {"options": "-c default_transaction_read_only=on"}
    results = {result.what: result for result in database(postgres(monkeypatch, server, read_only))}
    assert results["Writable"].status is Status.FAILED
    assert "read-only" in results["Writable"].finding
