"""Rendering of blocks to safe HTML."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turbohtml import Element

from chatapp.rendering.markdown import render
from tests.support.dom import fragment
from tests.support.profile import choose_size

from .texts import ANSWER, PIECES


def blocks(text: str) -> list[str]:
    block = '<div class="block" dir="auto">'
    return re.findall(rf"{block}(.*?)</div>(?={block}|\Z)", render(text), re.S)


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
        ("## a", "<h3>a</h3>"),
        ("###### a", "<h3>a</h3>"),
        ("a\n===", "<h3>a</h3>"),
        ("***", "<hr>"),
        ("a  \nb", "<p>a<br>\nb</p>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("> a\nb", "<blockquote><p>a\nb</p></blockquote>"),
        ("[a](http://b.c)", f'<p><a href="http://b.c" {LINK}>a</a></p>'),
        ("<http://b.c>", f'<p><a href="http://b.c" {LINK}>http://b.c</a></p>'),
        ("http://b.c<br>d", f'<p><a href="http://b.c" {LINK}>http://b.c</a><br>d</p>'),
        (
            "<b>a</b> <strong>b</strong> <mark>c</mark>",
            "<p><b>a</b> <strong>b</strong> <mark>c</mark></p>",
        ),
        (
            "<kbd>a</kbd>**b<sub>*c*</sub>**",
            "<p><kbd>a</kbd><strong>b<sub><em>c</em></sub></strong></p>",
        ),
        ("`<sup>a</sup>` <br/>", "<p><code>&lt;sup&gt;a&lt;/sup&gt;</code> <br></p>"),
        (
            "    <sub>a",
            '<div class="code"><pre dir="ltr" tabindex="0"><code>&lt;sub&gt;a</code></pre></div>',
        ),
        ("![a](http://b.c)", f'<p><a href="http://b.c" {LINK}>a</a></p>'),
        ("![](http://b.c)", f'<p><a href="http://b.c" {LINK}>http://b.c</a></p>'),
        ("[![a](http://i.j)](http://b.c)", f'<p><a href="http://b.c" {LINK}>a</a></p>'),
        (
            "- [x] a *b*\n  - [ ] c",
            '<ul><li><label><input type="checkbox" checked="" disabled=""> a <em>b</em></label><ul>'
            '<li><label><input type="checkbox" disabled=""> c</label></li></ul></li></ul>',
        ),
        (
            "- [ ] a\n\n- [ ] `b`\n\n      c",
            '<ul><li><p><label><input type="checkbox" disabled=""> a</label></p></li>'
            '<li><p><label><input type="checkbox" disabled=""> <code>b</code></label></p>'
            '<div class="code"><pre dir="ltr" tabindex="0"><code>c</code></pre></div></li></ul>',
        ),
        (
            '- ```\n  a "b"\n  ```',
            '<ul><li><div class="code"><pre dir="ltr" tabindex="0"><code>a "b"</code></pre></div>'
            "</li></ul>",
        ),
        (
            "    a < b",
            '<div class="code"><pre dir="ltr" tabindex="0"><code>a &lt; b</code></pre></div>',
        ),
        ("a\0b\ud800c\ufdd0d", "<p>a\ufffdb\ufffdc\ufffdd</p>"),
        ("", None),
        ("\n \n", None),
    ],
)
def test_markdown_is_rendered_to_html(text: str, html: str | None) -> None:
    assert blocks(text) == ([] if html is None else [html])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<script>alert(1)</script>", None),
        ("<b onclick=x>a", None),
        ("<!-- a -->", None),
        ("<?php a ?>", None),
        ("</div>", None),
        ("a <sub> b", None),
        ("a </sub> b", None),
        ("<sub>a\n\nb</sub>", "<sub>ab</sub>"),
        ("*a <sub>b* c</sub>", "a <sub>b c</sub>"),
        ("<sub onclick=x>a</sub>", None),
        ("<br onclick=x>", None),
        ("<mailto: b>", None),
        ("`<b>`", "<b>"),
        ("- <img src=x onerror=y>", "<img src=x onerror=y>"),
        ("**<q>a</q>**", "<q>a</q>"),
        (r"\<b>", "<b>"),
        (r"\\<b>", r"\<b>"),
    ],
)
def test_raw_html_is_shown_and_never_interpreted(text: str, expected: str | None) -> None:
    page = fragment(render(text))
    assert page.text == (expected or text)
    assert tags(page) <= {"div", "p", "ul", "li", "strong", "em", "code"}


def tags(page: Element) -> set[str]:
    return {element.tag for element in page.iter_elements()}


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,a", "/local", "file:///a"]
)
def test_only_web_and_mail_addresses_become_links(address: str) -> None:
    assert "href" not in render(f"[a]({address}) ![b]({address})")


@settings(max_examples=choose_size(20, 200))
@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_the_output_contains_only_known_elements_and_attributes(pieces: list[str]) -> None:
    names = re.findall(r"\s([a-z-]+)=\"", re.sub(r">[^<]*", ">", render("".join(pieces))))
    assert not [name for name in names if name.startswith("on") or name in ("style", "id", "src")]
    assert not tags(fragment(render("".join(pieces)))) & {"script", "img", "b", "iframe"}


@settings(max_examples=choose_size(20, 200))
@given(
    st.lists(st.sampled_from(["**", "`", "<i>", "- ", "\n", "\n\n", "word", " ", "> ", "$", "# "]))
)
def test_no_word_is_lost(pieces: list[str]) -> None:
    text = "".join(pieces).replace("```", "``")  # a fence's first line names a language
    assert fragment(render(text)).text.count("word") == text.count("word")


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("### a\n\n### b\n\n#### c\n\n### d", "3343"),
        ("###### a\n\n# b\n\n### c\n\n## d\n\n###### e", "33445"),
        ("# a\n## b\n### c\n#### d\n##### e\n###### f", "345666"),
        ("a\n=\n\nb\n-\n\n> # c\n\n- ## d\n\ne\n=", "34553"),
        ("> ### a\n\n## b", "33"),
    ],
)
def test_no_heading_is_more_than_one_level_below_the_previous_one(text: str, levels: str) -> None:
    assert "".join(re.findall(r"<h(\d)>", render(text))) == levels


def test_a_table_scrolls_in_a_region_of_its_own() -> None:
    assert blocks("|a|b|\n|-|:-:|\n|c|d|") == [
        '<div class="table-scroll" tabindex="0" role="group" aria-label="Table"><table><thead><tr>'
        '<th>a</th><th align="center">b</th></tr></thead><tbody><tr><td>c</td>'
        '<td align="center">d</td></tr></tbody></table></div>'
    ]


def test_br_is_a_line_break_outside_of_code() -> None:
    assert "<td>b<br>c <code>&lt;br&gt;</code></td>" in render("|a|\n|-|\n|b<br>c `<br>`|")


def test_each_top_level_block_has_its_own_element() -> None:
    first_tags = " ".join(tag for html in blocks(ANSWER) for tag in re.findall(r"\A<(\w+)", html))
    assert first_tags == "h3 p ol ul div div p p blockquote h4 p hr"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "<details>\n<summary>*a*</summary>\n\n- b\n\n</details>",
            "<details><summary><em>a</em></summary>"
            '<div class="block" dir="auto"><ul><li>b</li></ul></div></details>',
        ),
        (
            "<details open onclick='x'>a</details> b",
            '<details open><summary>Details</summary><div class="block" dir="auto"><p>a</p></div>'
            '</details><div class="block" dir="auto"><p>b</p></div>',
        ),
        ("<DETAILS title='open'></details>", "<details><summary>Details</summary></details>"),
        (
            "<details><summary>a\n\nb",
            '<details open><summary>a</summary><div class="block" dir="auto"><p>b</p></div>'
            "</details>",
        ),
        ("a <details>", "<p>a &lt;details&gt;</p>"),
    ],
)
def test_details_hold_blocks(text: str, html: str) -> None:
    assert blocks(text) == [html]


def test_details_are_nested_only_a_few_times() -> None:
    assert "<details" in render("<details>" * 5 + "a")
    assert "<details" not in render("<details>\n" * 9 + "a")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a[^1] `b[^2]`", "<p>a<sup>1</sup> <code>b[^2]</code></p>"),
        ("[^1]: a\n[^2]: b *c*", "<p><sup>1</sup> a<br>\n<sup>2</sup> b <em>c</em></p>"),
        ("[^1]: http://b.c", f'<p><sup>1</sup> <a href="http://b.c" {LINK}>http://b.c</a></p>'),
        ("[^abc] is a class", "<p>[^abc] is a class</p>"),
    ],
)
def test_footnotes_are_small_numbers(text: str, html: str) -> None:
    assert blocks(text) == [html]
