"""The page that names the fallbacks of a model."""

from typing import Any

import pytest
from django.test import Client

from chatapp.models import AuditEvent, Fallback, ModelChoice, Upstream, User
from tests.conftest import signed_in
from tests.support.page import parse

pytestmark = pytest.mark.django_db

SPARE = "<b>Spare"


@pytest.fixture
def desk(olive: User) -> Client:
    return signed_in(olive, confirmed=True)


@pytest.fixture
def team() -> Upstream:
    return Upstream.objects.create(
        name="Team", base_url="http://127.0.0.1:9/v1", offered_models="big\nsmall"
    )


@pytest.fixture
def spare() -> Upstream:
    return Upstream.objects.create(
        name=SPARE, base_url="http://127.0.0.1:9/v1", offered_models="one\ntwo"
    )


def path(upstream: Upstream) -> str:
    return f"/settings/models/{upstream.pk}/fallbacks/"


def build_form_fields(model: str, *choices: tuple[Upstream | None, str]) -> dict[str, Any]:
    fields: dict[str, Any] = {"model": model}
    for number, (upstream, name) in enumerate(choices, start=1):
        fields |= {f"provider_{number}": upstream.pk if upstream else "", f"model_{number}": name}
    return fields


def changes() -> list[tuple[Any, Any]]:
    events = AuditEvent.objects.select_related("detail").filter(action="upstream.changed")
    return [
        (event.detail.values["before"], event.detail.values["after"])
        for event in events.order_by("sequence")
        if event.detail
    ]


def test_fallbacks_are_named_shown_recorded_and_removed(
    desk: Client, team: Upstream, spare: Upstream
) -> None:
    form_fields = build_form_fields("big", (spare, "one"), (None, ""), (team, "small"))
    for _ in range(2):
        answer = desk.post(path(team), form_fields)
        assert answer.headers["location"] == f"/settings/models/{team.pk}/"
    choices = [ModelChoice(spare.pk, "one"), ModelChoice(team.pk, "small")]
    assert Fallback.objects.choices(team.pk, "big") == choices
    names = [f"one of {SPARE}", "small of Team"]
    assert changes() == [({"fallbacks": []}, {"fallbacks": names})]
    page = parse(desk.get(f"{path(team)}?model=big").text)
    values = [field.attributes.get("value") for field in page.find_all("input[name^=model]")]
    assert values == ["big", "one", "small", None]
    assert "<b>" not in desk.get(f"/settings/models/{team.pk}/").text
    desk.post(path(team), build_form_fields("big"))
    assert Fallback.objects.choices(team.pk, "big") == []
    assert changes()[1:] == [({"fallbacks": names}, {"fallbacks": []})]


def test_the_page_of_the_upstream_lists_them(desk: Client, team: Upstream, spare: Upstream) -> None:
    Fallback.replace(team, "big", [ModelChoice(spare.pk, "one"), ModelChoice(team.pk, "small")])
    Upstream.objects.filter(pk=spare.pk).update(enabled=False)
    page = parse(desk.get(f"/settings/models/{team.pk}/").text)
    [row] = [entry for entry in page.find_all("ul.plain-list li") if "big" in entry.text]
    assert " ".join(row.text.split()) == f"big: one of {SPARE} (turned off), then small of Team"


@pytest.mark.parametrize(
    ("model", "choices", "problem"),
    [
        ("big", [("team", "big")], "not itself"),
        ("big", [("spare", "one"), ("spare", "one")], "each model once"),
        ("big", [("spare", "three")], "&#39;t offer this model"),
        ("huge", [("spare", "one")], "&#39;t offer this model"),
        ("big", [("spare", "")], "Choose a provider and one of its models"),
        ("big", [("", "one")], "Choose a provider and one of its models"),
        ("", [("spare", "one")], "This field is required"),
        ("big", [("spare", "x" * 201)], "at most 200 characters"),
    ],
)
def test_what_can_be_no_fallback_is_refused(
    desk: Client,
    team: Upstream,
    spare: Upstream,
    model: str,
    choices: list[tuple[str, str]],
    problem: str,
) -> None:
    by_name = {"team": team, "spare": spare}
    fallbacks = [(by_name.get(name), model_name) for name, model_name in choices]
    answer = desk.post(path(team), build_form_fields(model, *fallbacks))
    assert problem in answer.text
    assert not Fallback.objects.exists()
    assert not changes()


def test_models_of_an_unknown_list_can_be_named(desk: Client, team: Upstream) -> None:
    unknown = Upstream.objects.create(name="New", base_url="http://127.0.0.1:9/v1")
    desk.post(path(team), build_form_fields("big", (unknown, "any")))
    assert Fallback.objects.choices(team.pk, "big") == [ModelChoice(unknown.pk, "any")]


def test_a_deleted_upstream_disappears_and_the_log_keeps_what_it_was(
    desk: Client, team: Upstream, spare: Upstream
) -> None:
    Fallback.replace(team, "big", [ModelChoice(spare.pk, "one"), ModelChoice(team.pk, "small")])
    desk.post(f"/settings/models/{spare.pk}/delete/")
    assert Fallback.objects.choices(team.pk, "big") == [ModelChoice(team.pk, "small")]
    event = AuditEvent.objects.select_related("detail").get(action="upstream.deleted")
    assert event.detail
    assert event.detail.values["before"] == {"fallbacks": [f"big: one of {SPARE}"]}
