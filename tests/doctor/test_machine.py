"""The disk, and static files of this and of another version."""

import shutil
from pathlib import Path

import pytest
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage, StaticFilesStorage

from chatapp.checks.results import Verdict
from chatapp.doctor import machine
from tests.doctor import only
from tests.support.live import Site


def test_little_room_is_told(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    assert only(machine.disk(tmp_path, few=0, too_few=0)).verdict is Verdict.OK
    assert only(machine.disk(tmp_path, few=2 * free, too_few=0)).verdict is Verdict.WARNING
    assert only(machine.disk(tmp_path, 2 * free, 2 * free)).verdict is Verdict.FAILED
    assert only(machine.disk(tmp_path / "none")).verdict is Verdict.FAILED


@pytest.fixture
def collected(site: Site, tmp_path: Path) -> Path:
    """The static files of this version, to be spoilt."""
    root = tmp_path / "static"
    shutil.copytree(Path(site.server().data_dir) / "static", root)
    return root


def check(root: Path) -> tuple[Verdict, str]:
    found = only(machine.static_files(ManifestStaticFilesStorage(root), root))
    return found.verdict, found.found


def test_collected_files_of_this_version_are_right(collected: Path) -> None:
    verdict, found = check(collected)
    assert verdict is Verdict.OK, found


def test_collected_files_of_another_version_are_told(collected: Path) -> None:
    script = collected / "js" / "scrolling.js"
    script.write_text(script.read_text() + "// as it was before")
    verdict, found = check(collected)
    assert verdict is Verdict.FAILED
    assert found.startswith("1 of ")


def test_a_file_that_was_never_collected_is_told(collected: Path) -> None:
    (collected / "css" / "thread.css").unlink()
    assert check(collected)[0] is Verdict.FAILED


def test_nothing_collected_is_told(tmp_path: Path) -> None:
    assert check(tmp_path) == (Verdict.FAILED, f"none collected in {tmp_path}")


def test_while_debugging_nothing_needs_to_be_collected() -> None:
    assert only(machine.static_files(StaticFilesStorage(), None)).verdict is Verdict.SKIPPED
