"""What browsers are served of our scripts and styles: all that they do, and no comments."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.live import ROOT, Site

HASHED = re.compile(r"[\w-]+\.[0-9a-f]{12}\.(js|css)")
STATIC = ROOT / "static"


@pytest.fixture
def collected(site: Site) -> Path:
    return Path(site.copy()["DATA_DIR"]) / "static"


def served(collected: Path) -> Iterator[Path]:
    for folder in ("js", "css"):
        yield from (path for path in (collected / folder).iterdir() if HASHED.fullmatch(path.name))


def bundle(collected: Path, kind: str) -> str:
    """What the chat page gets of it."""
    (found,) = (path for path in served(collected) if path.match(f"chat.*.{kind}"))
    return found.read_text()


def test_no_comment_of_ours_is_served(collected: Path) -> None:
    files = list(served(collected))
    assert len(files) > 30
    for file in files:
        text = file.read_text()
        assert not re.search(r"^\s*//", text, re.M), file.name
        assert "/*" not in text or file.suffix == ".js", file.name


def code_of(text: str) -> str:
    """What is no comment and no white space, without what hashes and bundling change."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*//.*$| +// .*$", "", text, flags=re.M)
    imported = r'(?:^|(?<=[;}]))(?:import\b[^;]*";|const ?\{[^;]*\} ?= ?\$\.\w+;|export )'
    text = re.sub(imported, "", text, flags=re.M)
    return re.sub(r"""(?:url|import)\(["'][^"']+["']|\s""", "", text)


@pytest.mark.parametrize("script", sorted((STATIC / "js").glob("*.js")), ids=lambda path: path.stem)
def test_no_expression_stands_where_the_minifier_takes_it_for_a_division(script: Path) -> None:
    """It took a space out of one behind an arrow."""
    assert not re.search(r"=>\s*/[^/*]", script.read_text())


def test_all_else_is_served_as_it_was_written(collected: Path) -> None:
    for file in served(collected):
        name = f"{file.name.split('.')[0]}{file.suffix}"
        source = STATIC / file.suffix[1:] / name
        if name not in ("chat.js", "chat.css"):
            assert code_of(source.read_text()) in code_of(file.read_text()), name


@pytest.mark.parametrize("kind", ["js", "css"])
def test_the_chat_page_gets_whole_files_as_one(collected: Path, kind: str) -> None:
    whole = code_of(bundle(collected, kind))
    files = re.findall(r'import "(?:\./)?(.*)"', (STATIC / kind / f"chat.{kind}").read_text())
    assert len(files) > 15
    for file in files:
        assert whole.count(code_of((STATIC / kind / file).read_text())) == 1, file


def test_nothing_else_is_waited_for(collected: Path) -> None:
    assert not re.search(r"^\s*import\b|\bfrom\s*[\"']", bundle(collected, "js"), re.M)
    assert "@import" not in bundle(collected, "css")


def test_a_script_for_later_is_asked_for_by_the_name_that_it_is_served_under(
    collected: Path,
) -> None:
    asked = re.findall(r'import\("\./([^"]+)"\)', bundle(collected, "js"))
    assert asked
    assert {collected / "js" / name for name in asked} <= set(served(collected))


@pytest.mark.parametrize("kind", ["js", "css"])
def test_no_file_is_forgotten(kind: str) -> None:
    """Each is imported by the chat page's entry or another file, or named by a template."""
    named = {"chat"}
    for source in [*(STATIC / kind).glob(f"*.{kind}"), *(ROOT / "templates").rglob("*.html")]:
        named |= set(re.findall(r'[/"]([\w-]+)(?:\.(?:js|css))?"', source.read_text()))
    assert {file.stem for file in (STATIC / kind).glob(f"*.{kind}")} - named == set()


def test_scripts_take_their_icons_from_the_sprite() -> None:
    for script in (STATIC / "js").glob("*.js"):
        assert script.stem == "icons" or "#icon-" not in script.read_text(), script.name


def test_others_files_keep_their_licences(collected: Path) -> None:
    for jquery in (collected / "admin" / "js" / "vendor" / "jquery").glob("jquery*.js"):
        assert "license" in jquery.read_text()[:2000].lower(), jquery.name
