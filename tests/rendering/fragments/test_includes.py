"""Included templates: inlined at compile time, with the same output."""

import pytest
from jinja2 import DictLoader, Environment
from jinja2.ext import Extension

from chatapp.rendering.fragments.includes import WithIncludes
from chatapp.rendering.fragments.layout import WithoutLayout

PARTS = {
    "row": '{# One of them. #}\n<li>\n  {% include "name" %}\n</li>\n',
    "name": "{# Whose. #}\n{{ name }}\n",
    "greeting": "Hello\n",
}
PAGES = [
    '<ul>\n  {% for name in names %}\n    {% include "row" %}\n  {% endfor %}\n</ul>',
    '{% with name = 1 %}\n<p>\n {% include "greeting" %}\n {% include "name" %}\n</p>{% endwith %}',
    '<p>\n  {% include "greeting" %}\n  <b>you</b>\n</p>',
    '{% if not names %}{% include "row" %}{% endif %}\n<p></p>\n',
]


def render_page(page: str, *extensions: type[Extension]) -> str:
    return (
        build_environment(PARTS, *extensions, WithoutLayout)
        .from_string(page)
        .render(names=["A", "B"])
    )


def build_environment(parts: dict[str, str], *extensions: type[Extension]) -> Environment:
    return Environment(loader=DictLoader(parts), extensions=extensions, autoescape=True)


@pytest.mark.parametrize("page", PAGES)
def test_an_inlined_template_renders_like_an_included_one(page: str) -> None:
    assert render_page(page, WithIncludes) == render_page(page)


def test_nothing_is_looked_up_at_render_time() -> None:
    parts = dict(PARTS)
    page = build_environment(parts, WithIncludes).from_string(PAGES[0])
    parts.clear()
    assert "Alice" in page.render(names=["Alice"])
