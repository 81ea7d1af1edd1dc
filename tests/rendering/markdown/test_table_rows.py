"""Rows of tables keep their words, whatever pipes they contain."""

import pytest

from chatapp.rendering.markdown import render
from tests.support import dom

HEADER = "| one | two | three |\n|:--|:-:|--:|\n"


def render_cells(row: str, header: str = HEADER) -> list[str]:
    """Return the HTML of the cells of a row in a table."""
    rows = dom.fragment(render(header + row)).select("tr")
    return [cell.inner_html for cell in rows[-1].select("td")]


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("| `a|b` | c | `d|e|f` |", ["<code>a|b</code>", "c", "<code>d|e|f</code>"]),
        ("| `a | b` | c | d |", ["<code>a | b</code>", "c", "d"]),
        (r"| `a\|b` | c \| d | e |", ["<code>a|b</code>", "c | d", "e"]),
        ("| ``a`|`b`` | `|` | c |", ["<code>a`|`b</code>", "<code>|</code>", "c"]),
        ("| `a|b` | c |", ["<code>a|b</code>", "c", ""]),
        ("| a ` b | c ` d | e |", ["a ` b", "c ` d", "e"]),
        (r"| \`a | b\` | c |", ["`a", "b`", "c"]),
        ("| a | b | c | d | e |", ["a", "b", "c | d | e"]),
        ("| a |", ["a", "", ""]),
        ("a | b | `c|d`", ["a", "b", "<code>c|d</code>"]),
    ],
)
def test_code_is_whole_and_no_cell_is_dropped(row: str, cells: list[str]) -> None:
    assert render_cells(row) == cells


def test_a_link_keeps_its_pipes_in_a_row_with_too_many_cells() -> None:
    [first, _, _] = render_cells("| [a|b](https://example.org/a|b) | c | d |")
    assert "a|b</a>" in first


def test_code_in_a_header_is_whole() -> None:
    html = render("| `a|b` | c |\n|--|--|\n| d | e |")
    assert "<th><code>a|b</code></th><th>c</th>" in html


@pytest.mark.parametrize(
    "text",
    [
        "| `a|b` | no delimiters |\n| 1 | 2 |",
        "- ```\n  | a |\n  |--|\n  | `b|c` |\n  ```",
        "> | a |\n> |--|\n\n`b|c`",
    ],
)
def test_nothing_else_is_escaped(text: str) -> None:
    assert "\\" not in render(text)
