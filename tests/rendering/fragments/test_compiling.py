"""The code generator: the same output as Jinja2's own, with constant calls compiled in."""

from typing import Any
from uuid import UUID

import pytest
from django.template import engines
from django.utils.functional import SimpleLazyObject
from django.utils.safestring import mark_safe
from jinja2 import Environment
from jinja2.compiler import CodeGenerator
from markupsafe import Markup, escape

from chatapp.rendering.fragments.compiling import escaped

HOSTILE = "<b title=\"a\" lang='b'>&amp;"
SAFE = mark_safe(HOSTILE)  # noqa: S308 - no browser renders it


class Text(str):
    """A string without `__html__`."""


VALUES = (
    HOSTILE,
    Text(HOSTILE),
    Markup(HOSTILE),  # noqa: S704 - no browser renders it
    SAFE,
    SimpleLazyObject(lambda: HOSTILE),
    SimpleLazyObject(lambda: SAFE),
    ValueError(HOSTILE),
    UUID(int=1),
    1.5,
    None,
    "",
)


@pytest.fixture
def environment() -> Environment:
    backend: Any = engines["jinja2"]
    found: Environment = backend.env
    return found


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_are_escaped_as_by_jinja(environment: Environment, value: object) -> None:
    assert escaped(value) == str(escape(value))
    assert environment.from_string("<i>{{ value }}</i>").render(value=value) == (
        f"<i>{escape(value)}</i>"
    )


@pytest.mark.parametrize(
    "template",
    [
        "{% macro m(x) %}<b>{{ x }}</b>{% endmacro %}{{ m(value) }}{{ m(value)|upper }}",
        "{% set part %}<b>{{ value }}</b>{% endset %}{{ part }}{{ part ~ value }}",
        "{% filter lower %}{{ value }}{% endfilter %}",
        "{% autoescape false %}{{ value }}{% endautoescape %}{{ value }}",
        "{% autoescape wanted %}{{ value }}{% endautoescape %}",
        "{% block one %}{{ value }}{% endblock %}{{ self.one() }}",
        "{{ [value]|join(', ') }}{{ value|safe }}{{ value|tojson }}",
    ],
)
def test_parts_of_a_template_are_escaped_as_by_jinja(
    environment: Environment, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = environment.from_string(template).render(value=HOSTILE, wanted=True)
    monkeypatch.setattr(environment, "code_generator_class", CodeGenerator)
    assert ours == environment.from_string(template).render(value=HOSTILE, wanted=True)


def test_constant_calls_are_evaluated_at_compile_time(
    environment: Environment,
) -> None:
    source = '{{ icon("copy") }}<a href="{{ url("chat") }}">{{ icon(name) }}</a>'
    compiled = environment.compile(source, raw=True)
    assert "#icon-copy" in compiled
    assert '<a href="/">' in compiled
    assert "#icon-plus" in environment.from_string(source).render(name="plus")
