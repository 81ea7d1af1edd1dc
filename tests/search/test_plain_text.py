"""Markdown and HTML as plain text, for search results."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.search.plain_text import plain_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**bold**, *italic*, ***loud***, ~~struck~~ word", "bold, italic, loud, struck word"),
        ("__Note__: _soft_ and **use `x`**", "__Note__: soft and use x"),
        ("__Take care:__ hot", "Take care: hot"),
        ("**Bold\nover two** lines", "Bold over two lines"),
        ("## Steps ##\nText", "Steps\nText"),
        ("Steps\n=====\nText", "Steps\nText"),
        ("#hashtag, C# and #1", "#hashtag, C# and #1"),
        ("Intro:\n- one\n* two\n  + [x] three\n1. four", "Intro:\none\ntwo\nthree 1. four"),
        ("> Quoted\n> > twice", "Quoted twice"),
        ("a\n\n---\n\nb", "a\nb"),
        ("Run `ls -l` or ``a`b``", "Run ls -l or a`b"),
        ("Code:\n```python\n# **no**\nx = `y` | z\n```\nEnd", "Code:\n# **no**\nx = `y` | z\nEnd"),
        ("~~~\n<b>\n~~~", "<b>"),
        ("```\nunclosed", "unclosed"),
        ("| A | **B** |\n|---|:-:|\n| 1 | 2 |\nAfter", "A B\n1 2\nAfter"),
        ("A | B\n--- | ---\n1 | 2\n\nx | y", "A B\n1 2\nx | y"),
        ("See [the *docs*](https://example.org/a_(b) \"Title\").", "See the docs."),
        ("[![logo](a.png)](https://example.org) <https://example.org/x>", "logo https://example.org/x"),
        ("<b>Bold</b><br>text <img src=x onerror=alert(1)><!-- note -->", "Bold text"),
        ("Vec<u8>, List<String> and a < b > c", "Vec<u8>, List<String> and a < b > c"),
        ("`<b>` is bold", "<b> is bold"),
        (r"[a](x\_y) `b`", "a b"),
        (r"\*not italic\* and 2 \< 3", "*not italic* and 2 < 3"),
        ("5 &lt; 6 &amp; 7", "5 < 6 & 7"),
        ("get_user_name(**kwargs) is 2 * 3 * 4", "get_user_name(**kwargs) is 2 * 3 * 4"),
        ("", ""),
    ],
)  # fmt: skip
def test_markup_is_removed_and_text_is_kept(text: str, expected: str) -> None:
    lines = [" ".join(line.split()) for line in plain_text(text).splitlines()]
    assert "\n".join(filter(None, lines)) == expected


@given(st.text(alphabet="ab *_`#|-<>[]()\n\\~!&;\0", max_size=200))
def test_no_text_makes_it_raise(text: str) -> None:
    assert "\0" not in plain_text(text)


@pytest.mark.parametrize(
    "piece",
    ["*a ", "__a ", "`a", "` `` ``` ```` ", "[", "[](", "<a ", "<!--", "# ", " ", "> ", "|-", "\\",
     "a\n\n", "&am"],
)  # fmt: skip
def test_hostile_text_takes_no_longer_than_its_length(piece: str) -> None:
    began_at = time.process_time()
    plain_text(piece * (200_000 // len(piece)))
    assert time.process_time() - began_at < 2
