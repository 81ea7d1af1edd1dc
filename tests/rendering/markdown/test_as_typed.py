"""Rendering of prompts as they were typed."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.rendering.markdown import PLAIN, budgets, render_typed, render_typed_at_once
from chatapp.rendering.markdown.allowed import REL
from tests.support.counting import less_than_counting
from tests.support.dom import fragment
from tests.support.profile import choose_size

from .texts import ANSWER, PIECES

LINK = f'target="_blank" rel="{REL}"'
CODE = '<div class="block" dir="auto"><div class="code"><pre dir="ltr" tabindex="0"><code>'
CODE_END = "</code></pre></div></div>"
TICKS = "```"


def wrap_typed(html: str) -> str:
    return f'<div class="typed" dir="auto">{html}</div>'


@pytest.mark.parametrize(
    "text",
    [
        "__init__ and *x* and **y** and ~~z~~ and `code`",
        "# a\n- b\n1. c\n> d\n|e|\n|-|\n---\n    f",
        "  indented\n\tby tabs\n\n\n\nand  far   apart  ",
        "$x^2$ and \\(y\\) and \\n",
        "[a](http:b) ![c](d) javascript:e data:text/html,f ftp://g //h www.i.j k@l.mn file:///o",
        "https:// http://. mailto: xhttp://y",
        "http://a.b\\] http://[c] http://[d",
        "<!-- not closed\n<hx-partial>",
        "a `http://b.c` d",
        "one tick ` and http-less",
        "~~ not a fence\n`` nor this\na ``` nor that",
        "שלום hello",
    ],
)
def test_the_text_of_the_page_is_the_text_that_was_typed(text: str) -> None:
    html = render_typed(text)
    assert fragment(html).text == text
    assert html.startswith('<div class="typed" dir="auto">')
    assert html.count("<") == 2


@pytest.mark.parametrize(
    ("text", "address", "after"),
    [
        ("http://b.c", "http://b.c", ""),
        ("HTTPS://B.c/d?e=f&g=%20#h", "HTTPS://B.c/d?e=f&g=%20#h", ""),
        ("mailto:a@b.c?subject=d", "mailto:a@b.c?subject=d", ""),
        ("http://b.c.", "http://b.c", "."),
        ("http://b.c/(d)", "http://b.c/(d)", ""),
        ("http://b.c/(d)).", "http://b.c/(d)", ")."),
        ("http://b.c/d)", "http://b.c/d", ")"),
        ('http://b.c/d"e', "http://b.c/d", '"e'),
        ("http://b.c/d<e>", "http://b.c/d", "<e>"),
        ("http://b.c/d*", "http://b.c/d", "*"),
        ("http://b.c/d。", "http://b.c/d", "。"),
        ("http://[::1]:8000/d", "http://[::1]:8000/d", ""),
        ("http://b.c/d'onclick='e", "http://b.c/d'onclick='e", ""),
    ],
)
def test_urls_become_links_without_surrounding_punctuation(
    text: str, address: str, after: str
) -> None:
    page = fragment(render_typed(f"see {text} f"))
    [link] = page.select("a")
    assert (link.text, link.attr("href")) == (address, address)
    assert (link.attr("rel"), link.attr("target")) == (REL, "_blank")
    assert page.text == f"see {address}{after} f"


def test_other_characters_of_a_url_are_percent_encoded() -> None:
    assert render_typed("http://b.c/é^d") == wrap_typed(
        f'<a href="http://b.c/%C3%A9%5Ed" {LINK}>http://b.c/é^d</a>'
    )


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (f"a\n\n{TICKS}\n*b* http://c.d\n{TICKS}\n\ne",
         wrap_typed("a") + CODE + "*b* http://c.d" + CODE_END + wrap_typed("e")),
        (f"{TICKS}\n\n  a\n\n{TICKS}", CODE + "\n  a\n" + CODE_END),
        (f"a\n{TICKS}\nb", wrap_typed("a") + CODE + "b" + CODE_END),
        (f"{TICKS}", CODE + CODE_END),
        (f"~~~\n{TICKS}\n~~~~", CODE + TICKS + CODE_END),
        (f"{TICKS}`\n{TICKS}\n", CODE + TICKS + "\n" + CODE_END),
    ],
)  # fmt: skip
def test_fenced_code_becomes_a_code_block(text: str, html: str) -> None:
    assert render_typed(text) == html


def test_code_has_its_language_and_colours() -> None:
    text = f"{TICKS}python\npass\n{TICKS}"
    assert 'data-language="python"' in render_typed(text)
    assert '<span class="k">pass</span>' in render_typed(text)
    assert "<span" not in render_typed(text, PLAIN)
    assert render_typed_at_once(text) is None
    assert render_typed_at_once(f"{TICKS}\na") == render_typed(f"{TICKS}\na")


@settings(max_examples=choose_size(25, 200))
@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_only_fences_and_blank_lines_are_lost(pieces: list[str]) -> None:
    text = re.sub(r"~{3,}", "", "".join(pieces).replace("`", ""))
    text = re.sub(r"[\0\ud800\ufdd0]", "\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    page_text = fragment(render_typed(text)).text
    assert page_text == (text.rstrip("\n") if text.strip() else "")


@pytest.mark.parametrize(
    "unit",
    ["http://a ", "http://a)", "(", "`", "``\n", "```\n", "~~~\n\n", "mailto:a", "http://a.b/)))",
     "\n", " ", "```py\nx=1\n```\n", "<", "&", "http://" + "a" * 3000 + " ", ANSWER],
)  # fmt: skip
def test_ten_megabytes_take_little_time_and_give_little_html(unit: str) -> None:
    text = unit * (10_000_000 // len(unit))
    with less_than_counting(to=100_000_000):  # measured: 10,000,000
        html = render_typed(text, PLAIN)
    assert len(html) < 6 * budgets.MAX_TEXT_LENGTH
    assert html.count("<") < 10_000
    assert html.endswith(f"{budgets.TOO_LONG}</p></div>")
