"""White space in templates: layout is removed, other white space is kept."""

import pytest
from jinja2 import Environment

from chatapp.rendering.fragments.layout import WithoutLayout

ROWS = [
    ("between tags", "<ul>\n  <li>a</li>\n  <li>b</li>\n</ul>\n", "<ul><li>a</li><li>b</li></ul>"),
    ("at a text's ends", "<p>\n  Two words\n</p>", "<p>Two words</p>"),
    ("between lines of text", "<p>Two\n  words</p>", "<p>Two words</p>"),
    (
        "between words and tags",
        "<p>\n  one\n  <b>2</b>\n  three\n</p>",
        "<p>one <b>2</b> three</p>",
    ),
    ("beside values", "<p>\n  {{ one }}\n  {{ one }}\n  <b>2</b>\n</p>", "<p>1 1 <b>2</b></p>"),
    ("a value of its own", "<p>\n  {{ one }}\n</p>\n", "<p>1</p>"),
    ("around blocks", "{% if one %}\n  <i></i>\n{% endif %}\n<b></b>\n", "<i></i><b></b>"),
    ("words before a block", "<p>\n  a\n  {% if one %}b{% endif %}\n</p>", "<p>a b</p>"),
    ("around comments", "<i></i>\n{# why #}\n<b></b>", "<i></i><b></b>"),
    ("between attributes", '<a\n  href="x"\n  id="y"\n>\n  z\n</a>', '<a href="x" id="y">z</a>'),
    ("a block in a tag", "<a\n  {%- if one %} hidden{% endif %}\n  id=x>", "<a hidden id=x>"),
    ("in an attribute", "<a title='\n  {{ one }},\n  <b>\n'\n  id=x>", "<a title='1, <b>' id=x>"),
    ("an end of a tag in an attribute", "<a title='a > b'\n  id=x>", "<a title='a > b' id=x>"),
    ("an apostrophe in a text", "<p>it's\n  <b\n  id=x>", "<p>it's <b id=x>"),
    ("within a line", "<b>1</b> <b>2</b>  3", "<b>1</b> <b>2</b>  3"),
    ("a space that is named", "<b>1</b>&#32;\n<b>2</b>", "<b>1</b>&#32;<b>2</b>"),
    ("taken by the template", "<b>\n  1\n  {%- if one %}, 2{% endif %}\n</b>", "<b>1, 2</b>"),
    ("in what is raw", "{% raw %}<i></i>\n{{ <b>{% endraw %}", "<i></i> {{ <b>"),
]


def render_template(template: str, **values: object) -> str:
    environment = Environment(autoescape=True, extensions=[WithoutLayout])
    return environment.from_string(template).render(one=1, **values)


@pytest.mark.parametrize(
    ("template", "html"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_layout_white_space_is_removed(template: str, html: str) -> None:
    assert render_template(template) == html


def test_white_space_in_values_is_kept() -> None:
    text = "\n  one\n\n  two \n"
    assert render_template("<pre>\n  {{- text -}}\n</pre>", text=text) == f"<pre>{text}</pre>"
