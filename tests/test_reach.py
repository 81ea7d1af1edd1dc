"""Tests and benchmarks go through what is public, also where ruff (SLF001) does not look: in what
they import, and in what they patch by its name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRIVATE = re.compile(r"(?:^|\.)_[a-z]\w*$")
# Only there can a turn of asyncio's loop be measured.
KNOWN = {("tests/security/test_loop_gaps.py", "_run")}


def private_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=names):
                yield from (one.name for one in names if PRIVATE.search(one.name))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments):
                given = [one.value for one in arguments if isinstance(one, ast.Constant)]
                if name in ("setattr", "delattr", "getattr"):
                    yield from (one for one in map(str, given[:1]) if PRIVATE.search(one))


def test_what_is_private_is_left_alone() -> None:
    files = [path for folder in ("tests", "bench") for path in (ROOT / folder).rglob("*.py")]
    reached = {
        (str(file.relative_to(ROOT)), name)
        for file in files
        for name in private_names(ast.parse(file.read_text()))
    }
    assert reached == KNOWN
