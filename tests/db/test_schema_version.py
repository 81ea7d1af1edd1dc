"""The version whose schema a database has."""

import re

import pytest
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from chatapp.db.schema_version import RELEASES, describe_version, find_unapplied, read_applied


def test_each_release_of_the_changelog_is_known() -> None:
    changelog = (settings.BASE_DIR / "CHANGELOG.md").read_text()
    released = re.findall(r"^## \[(\d[\d.]*)\]", changelog, re.M)
    assert set(released) == set(RELEASES)


def test_the_last_migration_of_each_release_exists() -> None:
    folder = settings.BASE_DIR / "chatapp" / "migrations"
    assert all((folder / f"{name}.py").exists() for name in RELEASES.values())


def test_a_schema_is_described_by_its_release() -> None:
    applied = ["0001_initial", "0002_processes", "0007_usage_and_clock"]
    assert describe_version(applied) == "version 0.3.0"
    assert describe_version([*applied, "0010_keeping"]) == "a version after 0.3.0 (0010_keeping)"
    assert describe_version(["0000_draft"]) == "a version before 0.1.0"


@pytest.mark.django_db
def test_missing_migrations_are_found() -> None:
    assert find_unapplied(connection) == []
    last = read_applied(connection)[-1]
    MigrationRecorder(connection).record_unapplied("chatapp", last)
    assert find_unapplied(connection) == [f"chatapp.{last}"]
