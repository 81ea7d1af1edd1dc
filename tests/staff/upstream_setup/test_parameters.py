"""The page of the rules for the parameters of chats, and the list of refused parameters."""

from typing import Any

import pytest
from django.test import Client

from chatapp.models import AuditEvent, Upstream
from chatapp.models.platform.lessons import FieldsLesson
from chatapp.parameters.table import PARAMETERS
from chatapp.staff.upstream_setup import parameter_views
from tests.staff.upstream_setup.test_provider import events
from tests.support.page import Element, parse

pytestmark = pytest.mark.django_db

EVERYTHING: dict[str, Any] = {
    "temperature": {"min": 0.0, "max": 1.0},
    "top_p": {"fixed": 0.5},
    "max_output_tokens": {"max": 4096},
    "reasoning_effort": {"allowed": ["low", "medium"]},
    "stop": {"fixed": None},
    "seed": {"fixed": 1},
    "response_format": {"allowed": ["text"]},
    "logprobs": {"fixed": False},
    "top_logprobs": {"max": 2},
    "web_search": {"fixed": True},
    "extra": {"allowed": ["top_k", "min_p"]},
}
ENTERED = {
    "temperature-min": "0",
    "temperature-max": "1",
    "top_p-fixed": "0.5",
    "max_output_tokens-max": "4096",
    "reasoning_effort-allowed": "low, medium",
    "stop-off": "on",
    "seed-fixed": "1",
    "response_format-allowed": "text",
    "logprobs-fixed": "off",
    "top_logprobs-max": "2",
    "web_search-fixed": "on",
    "extra-allowed": "top_k min_p",
}


def read_form_values(form: Element) -> dict[str, str]:
    """Return what a browser would send of a form."""
    form_values = {}
    for field in form.find_all("input"):
        kind = field.attributes.get("type", "")
        if kind != "checkbox" or "checked" in field.attributes:
            form_values[field.attributes["name"]] = field.attributes.get("value", "on")
    for field in form.find_all("select"):
        chosen = [option for option in field.find_all("option") if "selected" in option.attributes]
        form_values[field.attributes["name"]] = chosen[0].attributes["value"] if chosen else ""
    return form_values


def test_rules_for_every_parameter_are_stored_shown_and_recorded(
    desk: Client, team: Upstream
) -> None:
    path = f"/settings/models/{team.pk}/parameters/"
    assert desk.post(path, ENTERED | {"model": "one"}).status_code == 302
    team.refresh_from_db()
    assert team.model_parameters == {"one": EVERYTHING}
    assert EVERYTHING.keys() == PARAMETERS.keys()
    [(action, detail)] = events()
    assert action == "upstream.changed"
    assert detail["before"] == {"model_parameters": {"one": {}}}
    assert detail["after"] == {"model_parameters": {"one": EVERYTHING}}
    form_values = read_form_values(
        parse(desk.get(path, {"model": "one"}).text).find("form", action=path)
    )
    desk.post(path, form_values)  # saved as it is shown
    team.refresh_from_db()
    assert team.model_parameters == {"one": EVERYTHING}
    assert len(events()) == 1


def test_web_search_is_offered_by_a_rule(desk: Client, team: Upstream) -> None:
    path = f"/settings/models/{team.pk}/parameters/"
    desk.post(path, {"model": "one", "web_search-offered": "on"})
    team.refresh_from_db()
    assert team.model_parameters == {"one": {"web_search": {"offered": True}}}
    form_values = read_form_values(
        parse(desk.get(path, {"model": "one"}).text).find("form", action=path)
    )
    assert form_values["web_search-offered"] == "on"


def test_empty_rules_are_removed_and_others_kept(desk: Client, team: Upstream) -> None:
    path = f"/settings/models/{team.pk}/parameters/"
    desk.post(path, {"model": "", "seed-fixed": "1"})
    desk.post(path, {"model": "one", "temperature-max": "1"})
    desk.post(path, {"model": "one"})
    team.refresh_from_db()
    assert team.model_parameters == {"": {"seed": {"fixed": 1}}}


@pytest.mark.parametrize(
    ("entered", "sentence"),
    [
        ({"temperature-max": "3"}, "Temperature must be a number from 0 to 2."),
        ({"temperature-max": "hot"}, "Enter a number."),
        ({"temperature-min": "1", "temperature-max": "0"}, "The min of temperature is above"),
        ({"temperature-max": "1", "temperature-fixed": "1"}, "can have nothing else"),
        ({"reasoning_effort-allowed": "huge"}, "What is allowed of reasoning_effort can be none"),
        ({"extra-allowed": "model"}, "must be names of parameters"),
        ({"web_search-fixed": "on", "web_search-offered": "on"}, "can have nothing else"),
        ({"seed-fixed": str(2**70)}, "Seed must be a whole number"),
    ],
)
def test_a_wrong_rule_is_shown_with_its_reason(
    desk: Client, team: Upstream, entered: dict[str, str], sentence: str
) -> None:
    page = desk.post(f"/settings/models/{team.pk}/parameters/", entered)
    assert page.status_code == 200
    assert sentence in page.text
    team.refresh_from_db()
    assert not team.model_parameters
    assert not AuditEvent.objects.filter(action="upstream.changed").exists()


def test_there_are_rules_for_a_bounded_number_of_models(
    desk: Client, team: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parameter_views, "MAX_MODELS", 1)
    path = f"/settings/models/{team.pk}/parameters/"
    desk.post(path, {"model": "one", "seed-fixed": "1"})
    page = desk.post(path, {"model": "two", "seed-fixed": "1"}).text
    assert "There are rules for 1 models of this provider already." in page
    desk.post(path, {"model": "one", "seed-fixed": "2"})
    team.refresh_from_db()
    assert team.model_parameters == {"one": {"seed": {"fixed": 2}}}


def test_a_refused_parameter_is_shown_and_forgotten(desk: Client, team: Upstream) -> None:
    Upstream.learn(team.pk, "<b>odd", [FieldsLesson(("temperature", "<i>"))])
    path = f"/settings/models/{team.pk}/"
    page = desk.get(path).text
    assert "Models that refused parameters" in page
    assert "&lt;b&gt;odd" in page
    assert "<b>odd" not in page
    assert "<i>" not in page
    for _ in range(2):
        sent = {"model": "<b>odd", "field": "temperature"}
        assert desk.post(f"{path}parameters/refusals/", sent).status_code == 302
    team.refresh_from_db()
    assert list(team.refused_by("<b>odd")) == ["<i>"]
    [(action, detail)] = events()
    assert action == "upstream.changed"
    assert detail["before"] == {"refused_parameters": {"<b>odd": "temperature"}}
