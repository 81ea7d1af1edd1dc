"""Text to safe HTML."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.markdown import render
from chatapp.markdown.commonmark import to_html

from .page import Element, parse
from .texts import ANSWER, PIECES


def blocks(text):
    return re.findall(
        r'<div class="block">(.*?)</div>(?=<div class="block">|\Z)', render(text), re.S
    )


STATM = Path("/proc/self/statm")
LINK = 'target="_blank" rel="noopener noreferrer nofollow"'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "a *b* **c** ~~d~~ `e`",
            "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e</code></p>",
        ),
        ("about ~5 or ~6", "<p>about ~5 or ~6</p>"),
        ("# a", "<h3>a</h3>"),
        ("## a", "<h4>a</h4>"),
        ("###### a", "<h6>a</h6>"),
        ("a\n===", "<h3>a</h3>"),
        ("***", "<hr>"),
        ("a  \nb", "<p>a<br>\nb</p>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("> a\nb", "<blockquote><p>a\nb</p></blockquote>"),
        ("[a](http://b.c)", f'<p><a href="http://b.c" {LINK}>a</a></p>'),
        ("<http://b.c>", f'<p><a href="http://b.c" {LINK}>http://b.c</a></p>'),
        ("http://b.c<br>d", f'<p><a href="http://b.c" {LINK}>http://b.c</a>&lt;br&gt;d</p>'),
        ("![a](http://b.c)", f'<p><a href="http://b.c" {LINK}>a</a></p>'),
        ("![](http://b.c)", f'<p><a href="http://b.c" {LINK}>http://b.c</a></p>'),
        ("[![a](http://i.j)](http://b.c)", f'<p><a href="http://b.c" {LINK}>a</a></p>'),
        ("- [x] a", '<ul><li><input type="checkbox" checked="" disabled=""> a</li></ul>'),
        ("    a < b", '<div class="code"><pre tabindex="0"><code>a &lt; b</code></pre></div>'),
        ("a\0b\ud800c\ufdd0d", "<p>a\ufffdb\ufffdc\ufffdd</p>"),
        ("", None),
        ("\n \n", None),
    ],
)
def test_markdown(text, html):
    assert blocks(text) == ([] if html is None else [html])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", None),
        ("<b onclick=x>a", None),
        ("<!-- a -->", None),
        ("<?php a ?>", None),
        ("</div>", None),
        ("a <br/> b", None),
        ("<mailto: b>", None),
        ("`<b>`", "<b>"),
        ("- <img src=x onerror=y>", "<img src=x onerror=y>"),
        ("**<i>a</i>**", "<i>a</i>"),
        (r"\<b>", "<b>"),
        (r"\\<b>", r"\<b>"),
    ],
)
def test_raw_html_is_shown_and_never_interpreted(text, shown):
    page = parse(render(text))
    assert page.text == (shown or text)
    assert tags(page) <= {"region", "div", "p", "ul", "li", "strong", "code"}


def tags(element: Element) -> set[str]:
    return {element.tag}.union(*(tags(c) for c in element.children if isinstance(c, Element)))


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,a", "/local", "file:///a"]
)
def test_only_web_and_mail_addresses_are_linked(address):
    assert "href" not in render(f"[a]({address}) ![b]({address})")


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_only_known_elements_and_attributes_come_out(pieces):
    names = re.findall(r"\s([a-z-]+)=\"", re.sub(r">[^<]*", ">", render("".join(pieces))))
    assert not [name for name in names if name.startswith("on") or name in ("style", "id", "src")]
    assert not tags(parse(render("".join(pieces)))) & {"script", "img", "b", "iframe"}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["**", "`", "<i>", "- ", "\n", "\n\n", "word", " ", "> ", "$", "# "]))
)
def test_no_word_is_lost(pieces):
    text = "".join(pieces).replace("```", "``")  # a fence's first line names a language
    assert parse(render(text)).text.count("word") == text.count("word")


def test_code_is_coloured_inside_one_structure():
    assert blocks("```python title=x\ndef f(): pass\n```") == [
        '<div class="code" data-language="python"><pre tabindex="0"><code class="language-python">'
        '<span class="k">def</span> <span class="nf">f</span>(): <span class="k">pass</span>'
        "</code></pre></div>"
    ]


@pytest.mark.parametrize("language", ["nonsense", "", '"><script>', "python" * 9])
def test_an_unknown_language_stays_plain(language):
    assert parse(render(f"```{language}\ndef f\n```")).text == "def f"
    assert "<span" not in render(f"```{language}\ndef f\n```")


def test_long_code_stays_plain():
    assert "<span" not in render("```python\n" + "x = 1\n" * 3000 + "```")
    assert "<span" in render("```python\n" + "x = 1\n" * 300 + "```")


def test_a_table_scrolls_in_a_region_of_its_own():
    assert blocks("|a|b|\n|-|:-:|\n|c|d|") == [
        '<div class="table-scroll" tabindex="0" role="region" aria-label="Table"><table><thead><tr>'
        '<th>a</th><th align="center">b</th></tr></thead><tbody><tr><td>c</td>'
        '<td align="center">d</td></tr></tbody></table></div>'
    ]


def test_a_line_break_is_a_tag_in_a_table_alone():
    assert "<td>b<br>c <code>&lt;br&gt;</code></td>" in render("|a|\n|-|\n|b<br>c `<br>`|")
    assert "&lt;br&gt;" in render("b<br>c")


def test_every_top_level_block_is_a_block():
    first_tags = " ".join(re.match(r"<(\w+)", html)[1] for html in blocks(ANSWER) if html)
    assert first_tags == "h3 p ol ul div div p p blockquote h4 p hr"


def test_definitions_reach_every_block():
    first, empty, last = blocks("[foo]\n\n[foo]: http://a.b\n\n[Foo]")
    assert empty == ""
    assert 'href="http://a.b"' in first
    assert 'href="http://a.b"' in last


@pytest.mark.skipif(not STATM.exists(), reason="needs /proc to see this process's memory")
def test_rendering_frees_what_it_takes():
    def resident_pages():
        return int(STATM.read_text().split()[1])

    for _ in range(200):
        to_html(ANSWER)
    before = resident_pages()
    for _ in range(1000):
        to_html(ANSWER)
    assert resident_pages() - before < 500  # a leak takes ten times that
