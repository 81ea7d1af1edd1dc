"""The template engine: foreign text is escaped, and misspelt names fail."""

import re
from collections.abc import Iterator
from functools import cache
from uuid import uuid4

import pytest
from django.template import engines
from django.template.backends.jinja2 import Jinja2
from django.urls import reverse
from django.utils.safestring import mark_safe
from jinja2 import Environment, UndefinedError, meta, nodes

from chatapp.rendering.fragments import environment
from chatapp.rendering.fragments.includes import INCLUDE
from tests.support.live import ROOT

TEMPLATES = ROOT / "templates"
OURS = sorted(
    str(path.relative_to(TEMPLATES))
    for path in TEMPLATES.rglob("*.html")
    if "django" not in path.parts
)


def jinja() -> Environment:
    backend = engines["jinja2"]
    assert isinstance(backend, Jinja2)
    jinja_environment: Environment = backend.env
    return jinja_environment


@pytest.fixture
def engine() -> Environment:
    return jinja()


def read_source(name: str) -> str:
    return (TEMPLATES / name).read_text()


def walk_includes(name: str) -> Iterator[str]:
    """Iterate over a template and all that it includes."""
    yield name
    for included in INCLUDE.findall(read_source(name)):
        yield from walk_includes(included)


@cache
def parse_template(name: str) -> nodes.Template:
    return jinja().parse(read_source(name))


def test_text_is_escaped_and_safe_html_is_not(engine: Environment) -> None:
    template = engine.from_string("<p title='{{ text }}'>{{ text }}{{ html }}</p>")
    html = template.render(text='<b>"it\'s"&', html=mark_safe("<i></i>"))
    text = "&lt;b&gt;&#34;it&#39;s&#34;&amp;"
    assert html == f"<p title='{text}'>{text}<i></i></p>"


@pytest.mark.parametrize("template", ["{{ nothing }}", "{% if nothing %}{% endif %}"])
def test_an_undefined_name_is_an_error(engine: Environment, template: str) -> None:
    with pytest.raises(UndefinedError):
        engine.from_string(template).render()


@pytest.mark.parametrize("name", OURS)
def test_a_template_compiles_and_its_references_exist(engine: Environment, name: str) -> None:
    """The templates that it includes, imports or extends exist too."""
    engine.get_template(name)
    for referenced in meta.find_referenced_templates(parse_template(name)):
        assert referenced in OURS


@pytest.mark.parametrize("name", OURS)
def test_attribute_values_are_quoted_and_nothing_is_marked_safe(name: str) -> None:
    """An unquoted attribute ends at a space, which escaping does not change."""
    source = read_source(name)
    assert not re.search(r"\s[\w:-]+=\s*{{", source)
    marked = [
        template_filter.name for template_filter in parse_template(name).find_all(nodes.Filter)
    ]
    allowed = [*walk_includes(name)].count("account/_fields.html")  # our own help texts
    assert marked.count("safe") == allowed
    assert "autoescape" not in source


def test_djangos_engine_renders_only_plain_text() -> None:
    files = (path for path in (TEMPLATES / "django").rglob("*") if path.is_file())
    assert {path.suffix for path in files} == {".txt"}


def test_the_page_lists_the_attributes_allowed_in_foreign_text() -> None:
    assert "a href target rel," in environment.allowed_attributes()


@pytest.mark.parametrize("name", ["conversation", "reply-markdown", "prompt-text", "outline"])
def test_urls_equal_those_of_django(engine: Environment, name: str) -> None:
    template = engine.from_string("{{ url(name, pk) }}")
    for pk in (uuid4(), uuid4()):
        assert template.render(name=name, pk=pk) == reverse(name, args=[pk])


def test_apostrophes_are_straight() -> None:
    assert [name for name in OURS if "\u2019" in read_source(name)] == []
