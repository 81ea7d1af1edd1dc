"""The admin of upstreams: keys are write-only, and unknown parameters need a confirmation."""

import re

import pytest
from django.test import Client

from chatapp.models import Upstream

REQUESTS = {
    "dialect": "auto",
    "parameters": "{}",
    "offers_tools": "on",
    "silence_seconds": "300",
    "image_side": "1568",
}
pytestmark = pytest.mark.django_db
UPSTREAMS = "/admin/chatapp/upstream/"


def test_the_cost_of_the_clock_is_shown_next_to_its_setting(
    olives: Client, saved_upstream: Upstream
) -> None:
    page = olives.get(f"{UPSTREAMS}{saved_upstream.pk}/change/").content.decode()
    assert re.search(r"About 1\d\d tokens per request", page)


def test_a_stored_key_is_never_shown(olives: Client, saved_upstream: Upstream) -> None:
    for path in (UPSTREAMS, f"{UPSTREAMS}{saved_upstream.pk}/change/"):
        page = olives.get(path)
        assert page.status_code == 200
        assert "sk-very-secret" not in page.content.decode()


@pytest.mark.parametrize(("typed", "expected_key"), [("", "sk-very-secret"), ("sk-new", "sk-new")])
def test_an_empty_key_field_keeps_the_stored_one(
    olives: Client, saved_upstream: Upstream, typed: str, expected_key: str
) -> None:
    form = {
        "name": "Renamed",
        "base_url": saved_upstream.base_url,
        "new_api_key": typed,
        "enabled": "on",
        **REQUESTS,
    }
    answer = olives.post(f"{UPSTREAMS}{saved_upstream.pk}/change/", form)
    assert answer.status_code == 302
    saved_upstream.refresh_from_db()
    assert (saved_upstream.name, saved_upstream.api_key) == ("Renamed", expected_key)


def test_a_refused_form_does_not_repeat_the_typed_key(
    olives: Client, saved_upstream: Upstream
) -> None:
    form = {
        "name": "X",
        "base_url": "no url",
        "new_api_key": "sk-typed",
        "enabled": "on",
        **REQUESTS,
    }
    answer = olives.post(f"{UPSTREAMS}{saved_upstream.pk}/change/", form)
    assert answer.status_code == 200
    assert "sk-typed" not in answer.content.decode()
    saved_upstream.refresh_from_db()
    assert saved_upstream.api_key == "sk-very-secret"


def test_the_environments_upstream_keeps_its_address(
    olives: Client, saved_upstream: Upstream
) -> None:
    Upstream.objects.update(from_environment=True)
    form = {
        "name": "X",
        "base_url": "http://evil/v1",
        "new_api_key": "",
        "enabled": "on",
        **REQUESTS,
    }
    olives.post(f"{UPSTREAMS}{saved_upstream.pk}/change/", form)
    saved_upstream.refresh_from_db()
    assert (saved_upstream.name, saved_upstream.base_url.startswith("http://127.0.0.1")) == (
        "Fake",
        True,
    )


def submit_form(olives: Client, upstream: Upstream, **fields: str) -> str:
    """Submit the form; return the page as text if it was refused, or "" if it was saved."""
    form = {"name": "Fake", "base_url": upstream.base_url, "enabled": "on", **REQUESTS, **fields}
    answer = olives.post(f"{UPSTREAMS}{upstream.pk}/change/", form)
    upstream.refresh_from_db()
    return "" if answer.status_code == 302 else answer.text


def test_a_misspelt_parameter_needs_a_confirmation(
    olives: Client, saved_upstream: Upstream
) -> None:
    misspelt = {"parameters": '{"temperatur": 0.2, "top_p": "0.9"}'}
    page = submit_form(olives, saved_upstream, **misspelt)
    assert "“temperatur” is not a known parameter. Did you mean “temperature”?" in page
    assert "“top_p” should be a number, but is the text “0.9”." in page
    assert 'type="checkbox" name="takes_doubtful"' in page
    assert saved_upstream.parameters == {}
    assert not submit_form(olives, saved_upstream, **misspelt, takes_doubtful="on")
    assert saved_upstream.parameters == {"temperatur": 0.2, "top_p": "0.9"}
    assert not submit_form(olives, saved_upstream, **misspelt)  # already confirmed


def test_known_parameters_need_no_confirmation(olives: Client, saved_upstream: Upstream) -> None:
    page = olives.get(f"{UPSTREAMS}{saved_upstream.pk}/change/").text
    assert 'type="checkbox" name="takes_doubtful"' not in page
    assert not submit_form(olives, saved_upstream, parameters='{"temperature": 0.2, "top_k": 40}')


@pytest.mark.parametrize("models", ["= A name", "gpt 4 = A name", "gpt-4o ="])
def test_a_model_needs_both_its_id_and_its_name(
    olives: Client, saved_upstream: Upstream, models: str
) -> None:
    page = submit_form(olives, saved_upstream, offered_models=models)
    assert "model and its name. Example: gpt-4o = The quick one" in page
    assert saved_upstream.offered_models == ""


def test_connecting_an_upstream_turns_the_demo_off_and_it_can_be_turned_back_on(
    olives: Client,
) -> None:
    Upstream.connect_environment("Demo", "http://127.0.0.1:1/v1", "one")
    demo = Upstream.objects.get()
    gateway = {"name": "Ours", "base_url": "http://gw/v1", "enabled": "on", **REQUESTS}
    page = olives.post(f"{UPSTREAMS}add/", gateway, follow=True).text
    assert "The built-in demo is now turned off" in page
    assert [upstream.name for upstream in Upstream.objects.filter(enabled=True)] == ["Ours"]
    olives.post(f"{UPSTREAMS}{demo.pk}/change/", {"enabled": "on", **REQUESTS})
    ours = Upstream.objects.get(name="Ours")
    olives.post(f"{UPSTREAMS}{ours.pk}/change/", gateway | {"name": "Still ours"})
    assert Upstream.objects.filter(enabled=True).count() == 2
    second = olives.post(f"{UPSTREAMS}add/", gateway | {"name": "Theirs"}, follow=True).text
    assert "The built-in demo is now turned off" not in second
    assert Upstream.objects.filter(enabled=True).count() == 3
