"""Refuses long files and functions of the app: `python -m tests.support.lint_lengths`.

Split what is too long by subject.
"""

import ast
import sys
from collections.abc import Iterator

from tests.support.lint_names import list_modules

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 45


def describe_long_parts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line of the module or function that is too long, and how long it is."""
    if (lines := len(source.splitlines())) > MAX_FILE_LINES:
        yield 1, f"the file has {lines} lines; {MAX_FILE_LINES} at most"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno
            if (lines := node.end_lineno - node.lineno + 1) > MAX_FUNCTION_LINES:
                yield node.lineno, f"{node.name}() has {lines} lines; {MAX_FUNCTION_LINES} at most"


if __name__ == "__main__":
    problems = [
        f"{path}:{line}: {problem}"
        for path in list_modules()
        if path.parts[0] != "tests"  # a test may tell a long story
        for line, problem in describe_long_parts(path.read_text())
    ]
    if problems:
        sys.exit("\n".join(problems))
