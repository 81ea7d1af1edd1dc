"""Nothing of a web page vanishes without a mark."""

import base64
import json

import pytest

from chatapp.documents import LeftOut
from tests.documents import files
from tests.documents.conftest import Reader

PICTURE = files.image("PNG", (60, 40))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('<p>a <img src="https://x.test/a.png" alt="A chart"> b', "a [Picture: A chart] b"),
        ('<p>a <img src="x.png"> b', "a [Picture] b"),
        ('<p>a <img src="line.png" alt=""> b', "a b"),
        ('<p>a<img src="https://x.test/t.gif" width=1 height=1> b', "a b"),
        ('<input name=q value="Ana"> <input type=hidden value=x>', "[Form field q: Ana]"),
        ("<input type=checkbox checked>Yes<br><input type=radio>No", "[x] Yes\n[ ] No"),
        (
            "<select name=colour><option>Red<option selected>Blue</select>",
            "[Form field colour: Blue; choices: Red, Blue]",
        ),
        ("<textarea name=t>two words</textarea>", "[Form field t: two words]"),
        ("<details><summary>More</summary>Inside</details>", "More\n\nInside"),
        (
            '<iframe src="https://x.test/map" title="Map">old</iframe>',
            "[Embedded page: Map, https://x.test/map]",
        ),
        ('<video src="https://x.test/v.mp4">words</video>', "[Video: https://x.test/v.mp4, words]"),
        ("<dl><dt>Term<dd>Meaning<dt>Other<dd>More</dl>", "Term\n: Meaning\n\nOther\n: More"),
        ("<p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>", "漢(かん)"),
        ("<blockquote><p>One<p>Two</blockquote>after", "> One\n>\n> Two\n\nafter"),
        ("<p>10<sup>6</sup> <del>old</del> <q>quote</q>", "10^6 ~~old~~ “quote”"),
        ("<svg><style>a{}</style><text>Total</text><text> 42</text></svg>", "[Drawing: Total 42]"),
        ('<p><math alttext="x^2"><mi>x</mi><mn>2</mn></math>', "x^2"),
        ('<p><a href="#top">Top</a> <a href="cid:1">One</a>', "Top One"),
        ("<table><caption>Sales</caption><tr><td>a<td>b</table>", "Sales"),
    ],
)
def test_elements_are_read_or_named(read: Reader, body: str, text: str) -> None:
    assert read.text(f"<!doctype html><body>{body}".encode()).startswith(text)


def test_pictures_in_the_page_are_placed_and_others_are_counted(read: Reader) -> None:
    page = files.data_page(PICTURE, "A red box") + '<img src="https://x.test/a.png" alt="Far">'
    document = read.document(page.encode())
    assert document.pages == ("[Picture 1: A red box]\n\n[Picture: Far]",)
    assert len(document.pictures) == 1
    assert document.left_out == (LeftOut("picture", 1),)


@pytest.mark.parametrize(
    "address", ["data:image/png;base64,AAA", "data:image/png;base64,!", "data:,x"]
)
def test_a_broken_picture_is_said(read: Reader, address: str) -> None:
    text = read.text(f'<!doctype html>Text <img src="{address}" alt="Box">'.encode())
    assert text.startswith("Text [Picture 1 is left out: it can't be read: Box]") or (
        text == "Text [Picture: Box]"
    )


def test_a_notebook_is_read_as_cells(read: Reader) -> None:
    encoded = base64.b64encode(PICTURE).decode()
    cells = [
        {"cell_type": "markdown", "source": ["# Study\n", "Words"]},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"image/png": encoded, "text/plain": "F"}},
                {"output_type": "execute_result", "data": {"text/html": "<b>bold</b>"}},
                {"output_type": "error", "ename": "KeyError", "evalue": "'a'", "traceback": []},
            ],
        },
    ]
    notebook = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"language_info": {"name": "python"}},
        "cells": cells,
    }
    document = read.document(json.dumps(notebook).encode(), "study.ipynb")
    assert (document.kind, document.media_type) == ("Notebook", "text/markdown")
    assert document.pages == (
        "# Study\nWords\n\n```python\nprint(1)\n```\n\nOutput:\n\n```\n1\n```\n\n"
        "Output:\n\n[Picture 1]\n\nOutput:\n\nbold\n\nOutput:\n\n```\nKeyError: 'a'\n```",
    )
    assert len(document.pictures) == 1


SCRIPT = "<script>draw()</script>"
ERROR = {
    "output_type": "error",
    "ename": "KeyError",
    "evalue": "'a'",
    "traceback": ["\x1b[0;31mKeyError\x1b[0m  Traceback", "----> 1 d['a']", "KeyError: 'a'"],
}


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"data": {"image/svg+xml": "<svg/>"}}, "[Output of type image/svg+xml is left out]"),
        ({"data": {"text/html": SCRIPT, "text/plain": "Figure"}}, "```\nFigure\n```"),
        ({"data": {"text/html": SCRIPT}}, "[Output of type text/html is left out]"),
        (
            {"data": {"application/vnd.plotly.v1+json": {"data": []}}},
            "[Output of type application/vnd.plotly.v1+json is left out]",
        ),
        (ERROR, "```\nKeyError  Traceback\n----> 1 d['a']\nKeyError: 'a'\n```"),
        ({"output_type": "stream", "text": "\x1b[1mbold\x1b[0m"}, "```\nbold\n```"),
    ],
)
def test_outputs_of_notebooks_are_read_or_named(
    read: Reader, output: dict[str, object], text: str
) -> None:
    notebook = {
        "nbformat": 4,
        "cells": [{"cell_type": "code", "outputs": [{"output_type": "display_data", **output}]}],
    }
    assert read.text(json.dumps(notebook).encode()) == f"Output:\n\n{text}"


def test_other_json_is_text(read: Reader) -> None:
    text = '{"nbformat": 4, "cells": "none"}'
    assert read.text(text.encode(), "a.json") == text
