"""Private parts of libraries: each is reached in one adapter, and each upgrade needs a look."""

import ast
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest

APP = Path(__file__).parent.parent / "chatapp"


class Reach(NamedTuple):
    """Where the app reaches into a library, which was compared with this version of it."""

    version: str
    adapter: str
    parts: str


# Before you change a version: compare the parts with the new one, run `make test-all`, and see
# whether a workaround has become needless.
EXAMINED = {
    "daphne": Reach("4.2.3", "server/adapter", "the protocols' callbacks and the server's loop"),
    "Twisted": Reach("26.10.0", "server/adapter", "the reactor's event loop and writers"),
    "autobahn": Reach("26.10.2", "server/adapter", "how frames are written and counted"),
    "Django": Reach(
        "5.2.19", "db/statements.py", "compiled queries; in server/pages.py, `ASGIHandler`"
    ),
    "django-allauth": Reach(
        "65.21.1", "accounts/confirmation.py", "records and, in sessions/, keys of signing in"
    ),
    "httpx2": Reach("2.16.2", "tools/network.py", "the transport's pool"),
    "httpcore2": Reach("2.16.2", "tools/network.py", "the pool's network backend"),
    "mcp": Reach("2.3.0", "tools/connection.py", "`ClientSession.validate_tool_result`"),
    "multimark": Reach("0.4.0", "rendering/markdown/commonmark.py", "the functions of cmark-gfm"),
    "pi-heif": Reach("1.4.0", "documents/formats/images/heif.py", "the functions of libheif"),
}
# Imports of private modules and names, by file.
IMPORTED = {
    ("rendering/markdown/commonmark.py", "multimark._binding"),
    ("rendering/markdown/commonmark.py", "multimark._cmark"),
    ("documents/formats/images/heif.py", "_pi_heif"),
    ("accounts/confirmation.py", "allauth.account.internal.flows.login"),
    ("sessions/session_store.py", "allauth.account.internal.stagekit"),
}


@pytest.mark.parametrize("library", EXAMINED)
def test_the_installed_version_is_the_one_that_was_examined(library: str) -> None:
    examined = EXAMINED[library]
    assert version(library) == examined.version, (
        f"{library} changed: compare {examined.parts} with what {examined.adapter} uses of it"
    )
    assert (APP / examined.adapter).exists()


def find_private_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), level=0):
                modules = [module, *(f"{module}.{alias.name}" for alias in node.names)]
                yield from (name for name in modules[:1] if is_private(name))
                if not is_private(module):
                    yield from (name for name in modules[1:] if is_private(name))
            case ast.Import(names=names):
                yield from (alias.name for alias in names if is_private(alias.name))


def is_private(name: str) -> bool:
    parts = name.split(".")
    return "internal" in parts or any(
        part.startswith("_") and not part.startswith("__") for part in parts
    )


def test_no_other_private_module_is_imported() -> None:
    reached = {
        (str(file.relative_to(APP)), name)
        for file in APP.rglob("*.py")
        for name in find_private_imports(ast.parse(file.read_text()))
    }
    assert reached == IMPORTED
