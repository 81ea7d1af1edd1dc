"""Served scripts and style sheets contain all of our code and none of our comments."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatapp.models.library.presets import Icon
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
    """Return the bundle that the chat page loads."""
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
    """Return the text without comments, white space, and what hashes and bundling change."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*//.*$| +// .*$", "", text, flags=re.M)
    imported = r'(?:^|(?<=[;}]))(?:import\b[^;]*";|const ?\{[^;]*\} ?= ?\$\.\w+;|export )'
    text = re.sub(imported, "", text, flags=re.M)
    return re.sub(r"""(?:url|import)\(["'][^"']+["']|\s""", "", text)


@pytest.mark.parametrize("script", sorted((STATIC / "js").glob("*.js")), ids=lambda path: path.stem)
def test_no_regular_expression_follows_an_arrow(script: Path) -> None:
    """The minifier takes it for a division and removes spaces from it."""
    assert not re.search(r"=>\s*/[^/*]", script.read_text())


def test_all_code_is_served_as_it_was_written(collected: Path) -> None:
    for file in served(collected):
        name = f"{file.name.split('.')[0]}{file.suffix}"
        source = STATIC / file.suffix[1:] / name
        if name not in ("chat.js", "chat.css"):
            assert code_of(source.read_text()) in code_of(file.read_text()), name


@pytest.mark.parametrize("kind", ["js", "css"])
def test_the_chat_pages_bundle_contains_each_file_once(collected: Path, kind: str) -> None:
    whole = code_of(bundle(collected, kind))
    files = re.findall(r'import "(?:\./)?(.*)"', (STATIC / kind / f"chat.{kind}").read_text())
    assert len(files) > 15
    for file in files:
        assert whole.count(code_of((STATIC / kind / file).read_text())) == 1, file


def test_bundles_import_nothing(collected: Path) -> None:
    assert not re.search(r"^\s*import\b|\bfrom\s*[\"']", bundle(collected, "js"), re.M)
    assert "@import" not in bundle(collected, "css")


def test_lazy_imports_use_the_names_that_are_served(
    collected: Path,
) -> None:
    imported = re.findall(r'import\("\./([^"]+)"\)', bundle(collected, "js"))
    assert imported
    assert {collected / "js" / name for name in imported} <= set(served(collected))


@pytest.mark.parametrize("kind", ["js", "css"])
def test_every_file_is_used(kind: str) -> None:
    """Each is imported by the chat page's entry or another file, or named in a template."""
    named = {"chat"}
    for source in [*(STATIC / kind).glob(f"*.{kind}"), *(ROOT / "templates").rglob("*.html")]:
        named |= set(re.findall(r'[/"]([\w-]+)(?:\.(?:js|css))?"', source.read_text()))
    assert {file.stem for file in (STATIC / kind).glob(f"*.{kind}")} - named == set()


def test_scripts_take_their_icons_from_the_sprite() -> None:
    for script in (STATIC / "js").glob("*.js"):
        assert script.stem == "icons" or "#icon-" not in script.read_text(), script.name


def test_the_icons_of_templates_and_presets_are_in_their_sprites() -> None:
    templates = (path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    named = set(re.findall(r'\bicon\("([\w-]+)"\)', "".join(templates)))
    assert named <= symbols("icons")
    assert symbols("preset-icons") == set(Icon.values)


def symbols(sprite: str) -> set[str]:
    return set(re.findall(r'<symbol id="icon-([\w-]+)"', (STATIC / f"{sprite}.svg").read_text()))


def test_third_party_files_keep_their_licences(collected: Path) -> None:
    for jquery in (collected / "admin" / "js" / "vendor" / "jquery").glob("jquery*.js"):
        assert "license" in jquery.read_text()[:2000].lower(), jquery.name
