"""The page's scripts: one is asked for by name and hash, at once, and knows no more than it may."""

import re
from pathlib import Path

import pytest
from django.test import Client

from chatapp.close_codes import CloseCode
from tests.support.live import ROOT, Site
from tests.support.page import parse

SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))
IMPORTED = re.compile(r'^import\b[^;]*?"([^"]+)";', re.M)
HASHED = re.compile(r"\./([\w-]+)\.[0-9a-f]{12}\.js")
# What htmx and its hx-ws promise nobody: names of theirs that stand in their code alone.
INSIDE = re.compile(r"_htmx|\.(queue|socket|cancelled|swapSpec)\b|\btasks\b")


def asked_for(alices: Client, **attributes: str) -> list[str]:
    """Our scripts that the page names, in its order."""
    scripts = parse(alices.get("/").text).find_all("script", **attributes)
    paths = [Path(script.attributes["src"]) for script in scripts]
    return [path.name.partition(".")[0] for path in paths if path.parent.name == "js"]


def test_the_page_asks_for_one_script_which_disarms_foreign_text_first(alices: Client) -> None:
    assert asked_for(alices, type="module") == ["chat"]
    assert IMPORTED.findall((ROOT / "static/js/chat.js").read_text())[0] == "./foreign.js"


def test_what_the_page_looks_like_is_known_before_it_is_drawn(alices: Client) -> None:
    assert asked_for(alices)[0] == "early"
    assert parse(alices.get("/").text).find_all("script")[0].attributes.keys() == {"src"}


def test_what_is_imported_is_what_the_page_asks_for_by_its_hash(site: Site) -> None:
    collected = Path(site.copy()["DATA_DIR"]) / "static" / "js"
    imported = [
        (script.name, name)
        for script in collected.glob("*.*.js")
        for name in IMPORTED.findall(script.read_text())
    ]
    assert imported
    for importer, name in imported:
        assert HASHED.fullmatch(name), f"{importer} imports {name}"
        assert (collected / name).is_file(), f"{importer} imports {name}"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_short_and_opens_with_what_it_does(script: Path) -> None:
    text = script.read_text()
    assert text.startswith("// ")
    assert text.count("\n") <= 100


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_insides_of_htmx_are_reached_in_one_script(script: Path) -> None:
    code = re.sub(r"//.*", "", script.read_text())
    assert bool(INSIDE.search(code)) == (script.name == "htmx-socket.js")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_close_codes_are_the_servers(script: Path) -> None:
    text = script.read_text()
    assert not [code for code in CloseCode if str(code.value) in text]
    assert set(re.findall(r"\bCLOSE\.(\w+)", text)) <= {code.name for code in CloseCode}
