"""Refuses names that say nothing: `python -m tests.support.lint_names`.

A function is a verb with its object, a property a noun or a question, and a variable says what it
holds. A lone past participle (`stored`) or a pronoun (`one`) does none of these.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VAGUE_VARIABLES = {"one", "ones", "found", "known", "shown", "wanted", "most", "said"}
IRREGULAR_PARTICIPLES = {
    "begun", "bound", "brought", "built", "cast", "caught", "chosen", "cut", "dealt",
    "done", "drawn", "felt", "found", "given", "gone", "got", "heard", "held", "hidden",
    "hit", "kept", "known", "laid", "left", "lent", "lost", "made", "meant", "met", "paid",
    "put", "said", "seen", "sent", "set", "shown", "sold", "spent", "split", "spread",
    "taken", "taught", "thrown", "told", "torn", "understood", "written",
}  # fmt: skip
# Words that end like participles, or verbs and participles alike.
VERBS = {"cast", "cut", "feed", "hit", "need", "put", "seed", "set", "speed", "split", "spread"}
# What querysets are filtered by, and what results are: `exports.expired()`, `result.failed()`.
ADJECTIVES = {
    "archived",
    "cancelled",
    "crashed",
    "damaged",
    "deleted",
    "disabled",
    "done",
    "enabled",
    "encrypted",
    "expired",
    "failed",
    "inflated",
    "outdated",
    "pinned",
    "shared",
    "skipped",
    "trashed",
    "unused",
}


def describe_vague_names(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line of each vague name in a module, and what is wrong with it."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if _is_lone_participle(name.strip("_")):
                    yield node.lineno, f"{name}() is a lone participle: say what it does to what"
                elif name.endswith("_of") and not name.startswith("test_"):
                    yield node.lineno, f"{name}() has no verb: get, find, load, build, …?"
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                if name in VAGUE_VARIABLES:
                    yield node.lineno, f"{name} does not say what it holds"


def _is_lone_participle(name: str) -> bool:
    looks_like_one = name.endswith("ed") or name in IRREGULAR_PARTICIPLES
    is_lone = name.islower() and "_" not in name
    return is_lone and looks_like_one and name not in VERBS | ADJECTIVES


def list_modules() -> list[Path]:
    tracked = subprocess.run(
        ["git", "ls-files", "*.py"], check=True, capture_output=True, text=True
    ).stdout.split()
    return [Path(path) for path in tracked if "/migrations/" not in path]


if __name__ == "__main__":
    problems = [
        f"{path}:{line}: {problem}"
        for path in list_modules()
        for line, problem in describe_vague_names(path.read_text())
    ]
    if problems:
        sys.exit("\n".join(problems))
