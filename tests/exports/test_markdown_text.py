"""Untrusted text in a Markdown document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.exports.markdown_text import contain_markdown, escape_line, fence_code, link
from chatapp.rendering.markdown.commonmark import to_html

PARTS = (
    *(
        "```",
        "~~~",
        "````",
        "`",
        "``",
        "<b>",
        "<!--",
        "</details>",
        "<?x",
        "<a href='x'",
        "\\",
        "|",
    ),
    *("- ", "1. ", "> ", "    ", "  ", "\n", "\n\n", "text", "$$", "# ", "![x](http://a)", "a|b"),
    *("---", "[a]: <b", "<script>", "-->", "\t"),
)


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_what_follows_a_text_is_never_part_of_it(text: str) -> None:
    html = to_html(f"{contain_markdown(text)}\n\n## After\n")
    assert html.endswith("<h2>After</h2>\n")
    assert "raw HTML omitted" not in html


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_contained_text_stays_as_it_is_the_second_time(text: str) -> None:
    once = contain_markdown(text)
    assert contain_markdown(once).split() == once.split()


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Plain *text* with `<b>`.", "Plain *text* with `<b>`."),
        ("a < b and a <b> c", "a < b and a \\<b> c"),
        ("```html\n<b>\n```", "```html\n<b>\n```"),
        ("```\nnever closed", "```\nnever closed\n```"),
        ("- x\n\n  ```\n  <b>\n  ```\n", "- x\n\n  ```\n  <b>\n  ```"),
        ("```\nx\n```\n- one\n- two", "```\nx\n```\n- one\n- two"),
        ("<!-- all that follows", "\\<!-- all that follows"),
        ("`a\nb` <i> `c`", "`a\nb` \\<i> `c`"),
        ("![pixel](https://tracker.example/)", "\\![pixel](https://tracker.example/)"),
        ("\\<b> \\\\<b>", "\\<b> \\\\\\<b>"),
    ],
)
def test_raw_html_is_escaped_outside_of_code(text: str, result: str) -> None:
    assert contain_markdown(text) == result


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "# x\n- y", "a\n\n> [b](c) `d` *e*"])
def test_a_title_means_nothing_but_itself(text: str) -> None:
    html = to_html(f"# {escape_line(text)}")
    assert html.count("<") == 2  # the heading's own tags


def test_a_fence_is_longer_than_those_in_its_text() -> None:
    assert fence_code("```\n````") == "`````\n```\n````\n`````"


def test_an_address_ends_where_the_link_does() -> None:
    html = to_html(link("a](b)", "https://x.example/> [c](d)\n<i>"))
    assert html.count("<a ") == 1
    assert "<i>" not in html


def test_ten_megabytes_are_written_in_a_moment() -> None:
    text = "A line with `code` and <b>markup</b>.\n" * 270_000
    assert len(contain_markdown(text)) > 10_000_000
