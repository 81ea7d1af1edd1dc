"""Disk space, and static files of this version and of another."""

import shutil
from pathlib import Path

import pytest
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage, StaticFilesStorage

from chatapp.checks.results import Status
from chatapp.doctor import machine
from tests.doctor import only
from tests.support.live import Site


def test_little_free_space_is_reported(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    assert only(machine.disk(tmp_path, few=0, too_few=0)).status is Status.OK
    assert only(machine.disk(tmp_path, few=2 * free, too_few=0)).status is Status.WARNING
    assert only(machine.disk(tmp_path, 2 * free, 2 * free)).status is Status.FAILED
    assert only(machine.disk(tmp_path / "none")).status is Status.FAILED


@pytest.fixture
def static_root(site: Site, tmp_path: Path) -> Path:
    """A copy of this version's static files that a test may change."""
    root = tmp_path / "static"
    shutil.copytree(Path(site.server().data_dir) / "static", root)
    return root


def check(root: Path) -> tuple[Status, str]:
    result = only(machine.static_files(ManifestStaticFilesStorage(root), root))
    return result.status, result.finding


def test_collected_files_of_this_version_pass(static_root: Path) -> None:
    status, finding = check(static_root)
    assert status is Status.OK, finding


def test_collected_files_of_another_version_fail(static_root: Path) -> None:
    script = static_root / "js" / "chat.js"
    script.write_text(script.read_text() + "// as it was before")
    status, finding = check(static_root)
    assert status is Status.FAILED
    assert finding.startswith("1 of ")


def test_a_missing_file_fails(static_root: Path) -> None:
    (static_root / "css" / "thread" / "thread.css").unlink()
    assert check(static_root)[0] is Status.FAILED


def test_an_empty_directory_fails(tmp_path: Path) -> None:
    assert check(tmp_path) == (Status.FAILED, f"none collected in {tmp_path}")


def test_with_debug_on_nothing_needs_to_be_collected() -> None:
    assert only(machine.static_files(StaticFilesStorage(), None)).status is Status.SKIPPED
