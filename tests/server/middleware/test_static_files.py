"""Served scripts and style sheets contain all of our code and none of our comments."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatapp.exports.formats.html import STYLES
from chatapp.models.library.presets import Icon
from chatapp.server.middleware.static_files import BUNDLES
from tests.support.live import ROOT, Site

HASHED = re.compile(r"[\w-]+\.[0-9a-f]{12}\.(js|css)")
STATIC = ROOT / "static"
SCRIPTS = sorted((STATIC / "js").rglob("*.js"))


@pytest.fixture
def static_dir(site: Site) -> Path:
    return Path(site.copy()["DATA_DIR"]) / "static"


def list_hashed_files(static_dir: Path) -> Iterator[Path]:
    for folder in ("js", "css"):
        files = (static_dir / folder).rglob(f"*.{folder}")
        yield from (path for path in files if HASHED.fullmatch(path.name))


def bundle(static_dir: Path, kind: str, entry: str = "chat") -> str:
    """Return a bundle that the chat page loads."""
    (bundle_path,) = (static_dir / kind).glob(f"{entry}.*.{kind}")
    return bundle_path.read_text()


def test_no_comment_of_ours_is_served(static_dir: Path) -> None:
    files = list(list_hashed_files(static_dir))
    assert len(files) > 30
    for file in files:
        text = file.read_text()
        assert not re.search(r"^\s*//", text, re.M), file.name
        assert "/*" not in text or file.suffix == ".js", file.name


def strip_code(text: str) -> str:
    """Return the text without comments, white space, and what hashes and bundling change."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*//.*$| +// .*$", "", text, flags=re.M)
    imported = r'(?:^|(?<=[;}]))(?:import\b[^;]*";|const ?\{[^;]*\} ?= ?\$\.\w+;|export )'
    text = re.sub(imported, "", text, flags=re.M)
    return re.sub(r"""(?:url|import)\(["'][^"']+["']|\s""", "", text)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_no_regular_expression_follows_an_arrow(script: Path) -> None:
    """The minifier takes it for a division and removes spaces from it."""
    assert not re.search(r"=>\s*/[^/*]", script.read_text())


def test_all_code_is_served_as_it_was_written(static_dir: Path) -> None:
    for file in list_hashed_files(static_dir):
        name = file.relative_to(static_dir).with_name(f"{file.name.split('.')[0]}{file.suffix}")
        if str(name) not in BUNDLES:
            assert strip_code((STATIC / name).read_text()) in strip_code(file.read_text()), name


@pytest.mark.parametrize(
    ("entry", "kind"),
    [("chat", "js"), ("messages", "js"), ("chat", "css"), ("messages", "css"), ("pages", "css")],
)
def test_bundles_contain_each_file_once(static_dir: Path, entry: str, kind: str) -> None:
    whole = strip_code(bundle(static_dir, kind, entry))
    files = re.findall(r'import "(?:\./)?(.*)"', (STATIC / kind / f"{entry}.{kind}").read_text())
    assert len(files) > 5
    for file in files:
        assert whole.count(strip_code((STATIC / kind / file).read_text())) == 1, file


def test_bundles_import_nothing(static_dir: Path) -> None:
    assert not re.search(r"^\s*import\b|\bfrom\s*[\"']", bundle(static_dir, "js"), re.M)
    assert "@import" not in bundle(static_dir, "css")


def test_lazy_imports_use_the_names_that_are_served(
    static_dir: Path,
) -> None:
    imported = re.findall(r'import\("([^"]+)"\)', bundle(static_dir, "js"))
    assert imported
    served = {path.resolve() for path in list_hashed_files(static_dir)}
    assert {(static_dir / "js" / name).resolve() for name in imported} <= served


@pytest.mark.parametrize("kind", ["js", "css"])
def test_every_file_is_used(kind: str) -> None:
    """Each is imported by another file, named in a template, or part of an exported page."""
    files = set((STATIC / kind).rglob(f"*.{kind}"))
    named = {STATIC / "css" / f"{name}.css" for name in STYLES}
    for file in files:
        imported = re.findall(r'"(\.{0,2}/?[\w/-]+\.(?:js|css))"', file.read_text())
        named |= {(file.parent / name).resolve() for name in imported}
    for template in (ROOT / "templates").rglob("*.html"):
        names = re.findall(
            r'"(?:/static/)?(?:(?:js|css)/)?([\w/-]+)(?:\.(?:js|css))?"', template.read_text()
        )
        named |= {STATIC / kind / f"{name}.{kind}" for name in names}
    assert files - named == set()


def test_scripts_take_their_icons_from_the_sprite() -> None:
    for script in SCRIPTS:
        assert script.stem == "icons" or "#icon-" not in script.read_text(), script.name


def test_the_icons_of_templates_and_presets_are_in_their_sprites() -> None:
    templates = (path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    named = set(re.findall(r'\bicon\("([\w-]+)"\)', "".join(templates)))
    assert named <= symbols("icons")
    assert symbols("preset-icons") == set(Icon.values)


def symbols(sprite: str) -> set[str]:
    return set(re.findall(r'<symbol id="icon-([\w-]+)"', (STATIC / f"{sprite}.svg").read_text()))
