"""The page's scripts: how they are loaded, and what they may know."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from posixpath import dirname, join, normpath

import pytest
from django.test import Client

from chatapp.close_codes import CloseCode
from tests.support.live import ROOT, Site
from tests.support.page import parse

SCRIPTS = sorted((ROOT / "static" / "js").rglob("*.js"))
MOST_LINES = 250
IMPORTED = re.compile(r'^import\b[^;]*?"([^"]+)";', re.M)
IMPORTED_LATER = re.compile(r'\bimport\("([^"]+)"\)')
HASHED = re.compile(r"\.\.?/([\w/-]+)\.[0-9a-f]{12}\.js")
# Undocumented names from the code of htmx and hx-ws.
INTERNAL = re.compile(r"_htmx|\.(queue|socket|cancelled|swapSpec)\b|\btasks\b")


def name_script(script: Path) -> str:
    return str(script.relative_to(ROOT / "static" / "js"))


def loaded_scripts(alices: Client, **attributes: str) -> list[str]:
    """Return the names of our scripts on the page, in order."""
    scripts = parse(alices.get("/").text).find_all("script", **attributes)
    paths = [Path(script.attributes["src"]) for script in scripts]
    return [path.name.partition(".")[0] for path in paths if "js" in path.parts]


def test_the_page_loads_one_module_that_disarms_foreign_text_first(alices: Client) -> None:
    assert loaded_scripts(alices, type="module") == ["chat"]
    imported = IMPORTED.findall((ROOT / "static/js/chat.js").read_text())
    assert imported[0] == "./page/untrusted-html.js"


def test_the_script_that_sets_the_appearance_loads_before_the_page_is_drawn(alices: Client) -> None:
    assert loaded_scripts(alices)[0] == "preload"
    assert parse(alices.get("/").text).find_all("script")[0].attributes.keys() == {"src"}


def test_imports_name_existing_files_by_their_hash(site: Site) -> None:
    collected = Path(site.copy()["DATA_DIR"]) / "static" / "js"
    imported = [
        (script, name)
        for script in collected.rglob("*.*.js")
        for name in IMPORTED.findall(script.read_text())
    ]
    assert imported
    for importer, name in imported:
        assert HASHED.fullmatch(name), f"{importer} imports {name}"
        assert (importer.parent / name).is_file(), f"{importer} imports {name}"


@pytest.mark.parametrize("script", SCRIPTS, ids=name_script)
def test_a_script_is_short_and_opens_with_a_comment(script: Path) -> None:
    text = script.read_text()
    assert text.startswith("// ")
    assert text.count("\n") <= MOST_LINES


def find_imported_names(script: Path) -> set[str]:
    """Return the scripts that this one imports, at once or later, by their names."""
    text = script.read_text()
    files = [*IMPORTED.findall(text), *IMPORTED_LATER.findall(text)]
    return {normpath(join(dirname(name_script(script)), file)) for file in files}


def test_no_script_imports_itself_by_way_of_others() -> None:
    imported_names = {name_script(script): find_imported_names(script) for script in SCRIPTS}
    assert set().union(*imported_names.values()) <= imported_names.keys()
    try:
        TopologicalSorter(imported_names).prepare()
    except CycleError as error:
        pytest.fail(f"A cycle of imports: {' imports '.join(reversed(error.args[1]))}")


@pytest.mark.parametrize("script", SCRIPTS, ids=name_script)
def test_only_one_script_touches_the_internals_of_htmx(script: Path) -> None:
    code = re.sub(r"//.*", "", script.read_text())
    assert bool(INTERNAL.search(code)) == (script.name == "htmx-socket.js")


@pytest.mark.parametrize("script", SCRIPTS, ids=name_script)
def test_scripts_use_the_servers_close_codes(script: Path) -> None:
    text = script.read_text()
    assert not [code for code in CloseCode if str(code.value) in text]
    assert set(re.findall(r"\bCLOSE\.(\w+)", text)) <= {code.name for code in CloseCode}
