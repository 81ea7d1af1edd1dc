"""Browser tests wait for functions: the policy refuses to evaluate an expression again."""

import ast
import re
from pathlib import Path

FUNCTION = re.compile(r"\s*(?:async )?(?:\w+|\([^)]*\)) =>")


def test_every_wait_is_for_a_function() -> None:
    waits = [
        (path.name, ast.unparse(node.args[0]).lstrip("f").strip("'\"").replace("\\n", " "))
        for path in Path(__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "wait_for_function"
    ]
    assert waits
    assert [wait for wait in waits if not FUNCTION.match(wait[1])] == []
