"""`make upgrade` collects exactly this version's static files, whatever their times are."""

import json
import os
from pathlib import Path

import pytest

from tests.support.live import Site, run

pytestmark = pytest.mark.thorough

APP = "css/base/app.css"
COLLECT = ("manage.py", "collectstatic", "--noinput")


@pytest.fixture
def environment(site: Site) -> dict[str, str]:
    """An installation with collected static files."""
    environment = site.missing_installation()
    run(environment, *COLLECT)
    return environment


def get_static_folder(environment: dict[str, str]) -> Path:
    return Path(environment["DATA_DIR"]) / "static"


def read_served_css(environment: dict[str, str]) -> str:
    """Return the base/app.css that pages link to."""
    folder = get_static_folder(environment)
    paths: dict[str, str] = json.loads((folder / "staticfiles.json").read_text())["paths"]
    return (folder / paths[APP]).read_text()


def test_a_source_older_than_its_copy_is_collected(
    environment: dict[str, str],
) -> None:
    new = read_served_css(environment)
    copy = get_static_folder(environment) / APP
    copy.write_text("/* of the previous version */")
    os.utime(copy, (2_000_000_000, 2_000_000_000))
    run(environment, *COLLECT)
    assert copy.read_text() != "/* of the previous version */"
    assert read_served_css(environment) == new


def test_a_source_with_the_length_of_its_copy_is_collected(environment: dict[str, str]) -> None:
    copy = get_static_folder(environment) / APP
    right = copy.read_text()
    copy.write_text("x" + right[1:])
    run(environment, *COLLECT)
    assert copy.read_text() == right


def test_unchanged_files_are_not_copied(environment: dict[str, str]) -> None:
    copies = [
        path for path in get_static_folder(environment).rglob("*.css") if path.stem.count(".") == 0
    ]
    before = {path: path.stat().st_ino for path in copies}
    output = run(environment, *COLLECT).stdout
    assert output.lstrip().startswith("0 static files copied")
    assert {path: path.stat().st_ino for path in copies} == before
