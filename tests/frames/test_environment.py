"""The engine of the pages: what is not ours is escaped, and what is misspelt fails."""

import re
from functools import cache
from uuid import uuid4

import pytest
from django.template import engines
from django.template.backends.jinja2 import Jinja2
from django.urls import reverse
from django.utils.safestring import mark_safe
from jinja2 import Environment, UndefinedError, meta, nodes

from chatapp.frames import environment
from chatapp.frames.includes import INCLUDE
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
    made: Environment = backend.env
    return made


@pytest.fixture
def engine() -> Environment:
    return jinja()


def source_of(name: str) -> str:
    return (TEMPLATES / name).read_text()


@cache
def parsed(name: str) -> nodes.Template:
    return jinja().parse(source_of(name))


def test_text_is_escaped_and_html_of_ours_is_not(engine: Environment) -> None:
    template = engine.from_string("<p title='{{ text }}'>{{ text }}{{ html }}</p>")
    html = template.render(text='<b>"it\'s"&', html=mark_safe("<i></i>"))
    text = "&lt;b&gt;&#34;it&#39;s&#34;&amp;"
    assert html == f"<p title='{text}'>{text}<i></i></p>"


@pytest.mark.parametrize("template", ["{{ nothing }}", "{% if nothing %}{% endif %}"])
def test_a_name_that_is_not_there_is_an_error(engine: Environment, template: str) -> None:
    with pytest.raises(UndefinedError):
        engine.from_string(template).render()


@pytest.mark.parametrize("name", OURS)
def test_a_template_uses_what_there_is(engine: Environment, name: str) -> None:
    """It can be read, and what it draws or builds on exists."""
    engine.get_template(name)
    for referenced in meta.find_referenced_templates(parsed(name)):
        assert referenced in OURS


@pytest.mark.parametrize("name", OURS)
def test_a_value_stands_in_quotes_and_none_is_called_safe(name: str) -> None:
    """An unquoted attribute ends at a space, which escaping leaves as it is."""
    source = source_of(name)
    assert not re.search(r"\s[\w:-]+=\s*{{", source)
    marked = [one.name for one in parsed(name).find_all(nodes.Filter)]
    held = [name, *INCLUDE.findall(source)].count("account/_fields.html")  # help in words of ours
    assert marked.count("safe") == held
    assert "autoescape" not in source


def test_django_s_engine_has_the_admin_s_pages_and_plain_text_alone() -> None:
    rooms = {path.name for path in (TEMPLATES / "django").iterdir()}
    assert rooms == {"admin", "mail", "registration"}


def test_the_page_names_the_attributes_of_foreign_text() -> None:
    assert "a href target rel," in environment.foreign_attributes()


@pytest.mark.parametrize("name", ["conversation", "reply-markdown", "prompt-text", "outline"])
def test_an_address_is_what_django_says_it_is(engine: Environment, name: str) -> None:
    template = engine.from_string("{{ url(name, pk) }}")
    for pk in (uuid4(), uuid4()):
        assert template.render(name=name, pk=pk) == reverse(name, args=[pk])
