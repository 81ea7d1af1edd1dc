"""The documentation covers all settings and commands, and its links work."""

import re
import tomllib
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
CODE_BLOCK = re.compile(r"^(?:```.*?^```|(?: {4}|\t)[^\n]*)$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`[^`]*`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)[ #]*$", re.MULTILINE)
SCHEME = re.compile(r"[a-z]+:")
ARCHITECTURE = ROOT / "docs/architecture.md"
NAMED_FILE = re.compile(r"[\w/.-]+(?:\.(?:css|html|js|md|py|toml)|/)")
NAMED_CODE = re.compile(r"[A-Z]\w*[a-z]\w*(?:\.\w+)?|(?!CHATAPP_)[A-Z]+(?:_[A-Z]+)*")


def get_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def read_prose(page: Path) -> str:
    return CODE_BLOCK.sub("", page.read_text())


def find_links(page: Path) -> list[str]:
    """Return the link targets that name a file of the repository or a heading."""
    targets = LINK.findall(CODE_SPAN.sub("", read_prose(page)))
    return [target for target in targets if not SCHEME.match(target)]


def find_spans(page: Path) -> list[str]:
    return [span.strip("`") for span in CODE_SPAN.findall(read_prose(page))]


def build_anchor(heading: str) -> str:
    """Return the anchor that GitHub makes for a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def find_anchors(page: Path) -> set[str]:
    """Return all anchors of a page; a heading that occurs again gets a number."""
    anchors: set[str] = set()
    seen: Counter[str] = Counter()
    for heading in HEADING.findall(read_prose(page)):
        anchor = build_anchor(heading)
        anchors.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return anchors


def is_broken(page: Path, target: str) -> bool:
    path, _, anchor = unquote(target).partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.is_relative_to(ROOT) or not file.exists():
        return True
    return bool(anchor) and anchor not in find_anchors(file)


def test_each_variable_that_settings_read_is_documented() -> None:
    source = (ROOT / "chatapp/settings.py").read_text()
    read = set(re.findall(r'environment\.\w+\(\s*"([A-Z_]+)"', source))
    page = (ROOT / "docs/configuration.md").read_text()
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE))
    assert len(read) > 30
    assert sorted(read - documented) == []


def test_the_version_is_the_changelogs_newest_release() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    releases = re.findall(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert project["version"] == releases[0]


def test_each_command_is_documented() -> None:
    pages = [page for page in PAGES if page.name not in ("SECURITY.md", "CHANGELOG.md")]
    text = " ".join(" ".join(page.read_text() for page in pages).split())
    files = (ROOT / "chatapp/management/commands").glob("*.py")
    commands = sorted(file.stem for file in files if file.stem != "__init__")
    assert len(commands) > 10
    assert [name for name in commands if not re.search(rf"manage\.py {name}\b", text)] == []


def test_files_that_the_architecture_page_names_exist() -> None:
    folders = [ROOT / name for name in ("chatapp", "docs", "static", "templates", "tests")]
    files = [*ROOT.glob("*"), *(file for folder in folders for file in folder.rglob("*"))]
    paths = [f"/{get_name(file)}{'/' if file.is_dir() else ''}" for file in files]
    named = [span for span in find_spans(ARCHITECTURE) if NAMED_FILE.fullmatch(span)]
    assert len(named) > 100
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in paths)] == []


def test_names_of_code_on_the_architecture_page_exist() -> None:
    source = "\n".join(file.read_text() for file in (ROOT / "chatapp").rglob("*.py"))
    defined = set(re.findall(r"(?:def |class |^ *)(\w+)(?= *[(:=\[])", source, re.MULTILINE))
    named = [span for span in find_spans(ARCHITECTURE) if NAMED_CODE.fullmatch(span)]
    assert len(named) > 60
    assert [name for name in named if not defined.issuperset(name.split("."))] == []


def test_the_diagram_shows_the_layers_of_the_contract() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    [layers] = [
        contract["layers"]
        for contract in tool["importlinter"]["contracts"]
        if contract.get("containers") == ["chatapp"]
    ]
    boxes = re.findall(r'\["<b>[^<]*</b><br>(.*?)"\]', ARCHITECTURE.read_text())
    assert [re.split(r"<br>| \| ", box) for box in boxes] == [
        layer.split(" : ") for layer in layers
    ]


@pytest.mark.parametrize("page", PAGES, ids=get_name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    assert [target for target in find_links(page) if is_broken(page, target)] == []


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Single sign-on", "single-sign-on"),
        ("Events of version 0.4 and earlier", "events-of-version-04-and-earlier"),
        ("The `serve` command: [workers](scaling.md)", "the-serve-command-workers"),
        ("CHATAPP_TIME_ZONE", "chatapp_time_zone"),
    ],
)
def test_anchors_are_those_of_github(heading: str, anchor: str) -> None:
    assert build_anchor(heading) == anchor
