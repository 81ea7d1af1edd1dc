"""`make upgrade` collects exactly this version's static files, whatever their times say."""

import json
import os
from pathlib import Path

import pytest

from tests.support.live import Site, run

pytestmark = pytest.mark.thorough

APP = "css/app.css"
COLLECT = ("manage.py", "collectstatic", "--noinput")


@pytest.fixture
def environment(site: Site) -> dict[str, str]:
    """An installation whose files were collected."""
    environment = site.nothing()
    run(environment, *COLLECT)
    return environment


def collected(environment: dict[str, str]) -> Path:
    return Path(environment["DATA_DIR"]) / "static"


def served(environment: dict[str, str]) -> str:
    """What a page's link to app.css leads to."""
    folder = collected(environment)
    paths: dict[str, str] = json.loads((folder / "staticfiles.json").read_text())["paths"]
    return (folder / paths[APP]).read_text()


def test_a_source_that_is_older_than_an_old_copy_is_collected(
    environment: dict[str, str],
) -> None:
    new = served(environment)
    copy = collected(environment) / APP
    copy.write_text("/* of the version before */")
    os.utime(copy, (2_000_000_000, 2_000_000_000))
    run(environment, *COLLECT)
    assert copy.read_text() != "/* of the version before */"
    assert served(environment) == new


def test_of_the_same_length_is_not_the_same(environment: dict[str, str]) -> None:
    copy = collected(environment) / APP
    right = copy.read_text()
    copy.write_text("x" + right[1:])
    run(environment, *COLLECT)
    assert copy.read_text() == right


def test_what_is_the_same_stays_as_it_is(environment: dict[str, str]) -> None:
    copies = [path for path in collected(environment).rglob("*.css") if path.stem.count(".") == 0]
    before = {path: path.stat().st_ino for path in copies}
    told = run(environment, *COLLECT).stdout
    assert told.lstrip().startswith("0 static files copied")
    assert {path: path.stat().st_ino for path in copies} == before
