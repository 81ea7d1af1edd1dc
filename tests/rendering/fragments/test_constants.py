"""Constants are written into a template when it is compiled."""

import pytest
from jinja2 import Environment

from chatapp.rendering.fragments.constants import WithConstants


@pytest.fixture
def requested_names() -> list[str]:
    return []


@pytest.fixture
def environment(requested_names: list[str]) -> Environment:
    def url(name: str) -> str:
        requested_names.append(name)
        return f"/{name}/?a&b"

    environment = Environment(extensions=[WithConstants], autoescape=True)
    environment.globals["url"] = url
    return environment


def test_a_constant_is_asked_for_once_and_escaped(
    environment: Environment, requested_names: list[str]
) -> None:
    template = environment.from_string('<a href="{{ url("chat") }}">{{ text }}</a>')
    for text in ("one", "two"):
        assert template.render(text=text) == f'<a href="/chat/?a&amp;b">{text}</a>'
    assert requested_names == ["chat"]


def test_a_value_is_asked_for_each_time(
    environment: Environment, requested_names: list[str]
) -> None:
    template = environment.from_string("{{ url(name) }} {{ url('chat')|upper }} {{ url }}")
    assert requested_names == []
    for name in ("one", "two"):
        assert template.render(name=name).startswith(f"/{name}/")
    assert requested_names == ["one", "chat", "two", "chat"]


def test_what_is_not_known_yet_is_asked_for_each_time(environment: Environment) -> None:
    addresses = iter(["/a.css", "/b.css"])
    is_collected = False

    def static(name: str) -> str:
        if not is_collected:
            raise ValueError(f"{name} is not collected")
        return next(addresses)

    environment.globals["static"] = static
    template = environment.from_string("{{ static('app.css') }}")
    is_collected = True
    assert [template.render(), template.render()] == ["/a.css", "/b.css"]
