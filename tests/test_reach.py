"""Tests and benchmarks use public names only, also in imports and patches, which SLF001 misses."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRIVATE = re.compile(r"(?:^|\.)_[a-z]\w*$")
# The only way to measure a turn of asyncio's loop.
KNOWN = {("tests/security/test_loop_gaps.py", "_run")}


def private_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=names):
                yield from (alias.name for alias in names if PRIVATE.search(alias.name))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments):
                literals = [
                    argument.value for argument in arguments if isinstance(argument, ast.Constant)
                ]
                if name in ("setattr", "delattr", "getattr"):
                    yield from (
                        literal for literal in map(str, literals[:1]) if PRIVATE.search(literal)
                    )


def test_no_private_name_is_used() -> None:
    files = [path for folder in ("tests", "bench") for path in (ROOT / folder).rglob("*.py")]
    reached = {
        (str(file.relative_to(ROOT)), name)
        for file in files
        for name in private_names(ast.parse(file.read_text()))
    }
    assert reached == KNOWN
