"""The display of an unfinished block: open markup is closed, undecided text is held back."""

import pytest

from chatapp.rendering.markdown import LiveMarkdown
from chatapp.rendering.markdown.unfinished import complete_markdown


def render_unfinished(text: str) -> str:
    """Return what a viewer has of an unfinished text, without the block's own element."""
    live = LiveMarkdown()
    live.append(text)
    live.changes()
    return live.html().replace('<div class="block" dir="auto">', "").removesuffix("</div>")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a **bo", "<p>a <strong>bo</strong></p>"),
        ("a **bold ", "<p>a <strong>bold</strong></p>"),
        ("a **bold*", "<p>a <strong>bold</strong></p>"),
        ("a *b **c", "<p>a <em>b <strong>c</strong></em></p>"),
        ("a _b", "<p>a <em>b</em></p>"),
        ("a ~~b", "<p>a <del>b</del></p>"),
        ("a `co", "<p>a <code>co</code></p>"),
        ("a `**b", "<p>a <code>**b</code></p>"),
        ("a [te", "<p>a te</p>"),
        ("a [text](http://x", "<p>a text</p>"),
        ("a ![alt](htt", "<p>a alt</p>"),
        ("a snake_", "<p>a snake</p>"),
        ("2 * 3", "<p>2 * 3</p>"),
        ("see https://exam", "<p>see</p>"),
        ("so $x^2 + ", "<p>so</p>"),
        ("for $5 and", "<p>for $5 and</p>"),
        ("so \\(x", "<p>so</p>"),
        ("a **", "<p>a</p>"),
        ("- **b", "<ul><li><strong>b</strong></li></ul>"),
        ("> a **b", "<blockquote><p>a <strong>b</strong></p></blockquote>"),
        ("- ```py\n  x **", None),
    ],
)
def test_open_markup_is_closed(text: str, html: str | None) -> None:
    expected = html or (
        '<ul><li><div class="code" data-language="py"><pre dir="ltr" tabindex="0">'
        '<code class="language-py">x **</code></pre></div></li></ul>'
    )
    assert render_unfinished(text) == expected


@pytest.mark.parametrize(
    "line", ["-", "--", "=", "#", "*", "1", "1.", "|", ">", "``", "```py", "$$"]
)
def test_a_line_of_markers_is_held_back(line: str) -> None:
    assert render_unfinished(line) == ""
    assert render_unfinished("before\n" + line) == "<p>before</p>"


@pytest.mark.parametrize(
    ("source", "exact"),
    [("a *b* c", True), ("a *b", True), ("a *", False), ("a [b", False), ("a $b", False)],
)
def test_exact_tells_whether_further_words_would_simply_follow(source: str, exact: bool) -> None:
    assert complete_markdown(source).exact is exact
