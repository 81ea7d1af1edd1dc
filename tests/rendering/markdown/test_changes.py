"""The smallest change between two states of a block."""

import pytest

from chatapp.rendering.markdown import Append, Change, ReplaceLast
from chatapp.rendering.markdown.changes import difference, split_closing_tags


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("<p>a</p>", "<p>a</p>", []),
        ("<p>a</p>", "<p>ab</p>", [Append(1, "b")]),
        ("<p>a</p>", "<p>a <em>b</em></p>", [Append(1, " <em>b</em>")]),
        ("<p><b>a</b></p>", "<p><b>ab</b></p>", [Append(2, "b")]),
        ("<p><b>a</b></p>", "<p><b>a</b> c</p>", [Append(1, " c")]),
        ("<p><b>a</b></p>", "<p><b>ab</b> c</p>", [Append(2, "b"), Append(1, " c")]),
        ("<ul><li>a</li></ul>", "<ul><li>a</li><li>b</li></ul>", [Append(1, "<li>b</li>")]),
        ("<p>a</p>", "<p>b</p>", None),
        ("<p>ab</p>", "<p>a</p>", None),
        ("<p>a</p>", "<p>a</p><p>b</p>", None),
        ("<p>a</p>", "<h3>a</h3>", None),
        ("<b>a</b>", "<b>a<i>c</b>", None),
        ("<b>a</b>", "<b>a</i>c</b>", None),
    ],
)
def test_difference_is_the_smallest_change(
    old: str, new: str, changes: list[Change] | None
) -> None:
    expected = [ReplaceLast(new)] if changes is None else changes
    assert difference(*split_closing_tags(old), new) == expected


@pytest.mark.parametrize(
    ("html", "closing"),
    [("<p>a</p></div>", "</p></div>"), ("<p>a</p> b", ""), ("a", ""), ("<p>a<br></p>", "</p>")],
)
def test_closing_tags_are_split_off(html: str, closing: str) -> None:
    assert split_closing_tags(html) == (html.removesuffix(closing), closing)
