"""What browsers are served of our scripts and styles: all that they do, and no comments."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live import ROOT, Site

HASHED = re.compile(r"[\w-]+\.[0-9a-f]{12}\.(js|css)")


@pytest.fixture
def collected(site: Site) -> Path:
    return Path(site.copy()["DATA_DIR"]) / "static"


def served(collected: Path) -> Iterator[Path]:
    for folder in ("js", "css"):
        yield from (path for path in (collected / folder).iterdir() if HASHED.fullmatch(path.name))


def test_no_comment_of_ours_is_served(collected: Path) -> None:
    files = list(served(collected))
    assert len(files) > 30
    for file in files:
        text = file.read_text()
        assert not re.search(r"^\s*//", text, re.M), file.name
        assert "/*" not in text or file.suffix == ".js", file.name


def code_of(text: str) -> list[str]:
    """The lines that are no comments, with what the hashes changed left out."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"""(import\b[^;]*?|url\()["'][^"']+["']""", "", text)
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("//")]


def test_all_else_is_served_as_it_was_written(collected: Path) -> None:
    for file in served(collected):
        name = f"{file.name.split('.')[0]}{file.suffix}"
        source = ROOT / "static" / file.suffix[1:] / name
        assert code_of(file.read_text()) == code_of(source.read_text()), name


def test_others_files_keep_their_licences(collected: Path) -> None:
    for jquery in (collected / "admin" / "js" / "vendor" / "jquery").glob("jquery*.js"):
        assert "license" in jquery.read_text()[:2000].lower(), jquery.name
