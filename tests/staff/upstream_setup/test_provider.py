"""The page of one upstream: its requests, turning it off and deleting it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import AsyncClient, Client
from django.utils import timezone

from chatapp.models import (
    AccessRule,
    AuditEvent,
    Limit,
    ToolServer,
    Upstream,
    UpstreamFailure,
)
from chatapp.models.platform.calendar import get_day
from chatapp.models.platform.lessons import ImagesLesson
from tests.support.fake_upstream import FakeUpstream
from tests.support.page import parse

pytestmark = pytest.mark.django_db

REQUESTS = {
    "parameters": "{}",
    "dialect": "auto",
    "silence_seconds": "300",
    "image_side": "1568",
    "offers_tools": "on",
}


def events() -> list[tuple[str, dict[str, Any]]]:
    audit_events = AuditEvent.objects.select_related("detail").filter(
        action__startswith="upstream."
    )
    return [(event.action, event.detail.values) for event in audit_events.order_by("sequence")]


def test_what_is_sent_with_requests_is_changed_and_recorded(desk: Client, team: Upstream) -> None:
    changed = REQUESTS | {"parameters": '{"temperature": 0.2}', "silence_seconds": "60"}
    answer = desk.post(f"/settings/models/{team.pk}/requests/", changed)
    assert answer.headers["location"] == f"/settings/models/{team.pk}/"
    team.refresh_from_db()
    assert (team.parameters, team.silence_seconds) == ({"temperature": 0.2}, 60)
    assert (team.offers_tools, team.offers_clock, team.api_key) == (True, False, "sk-1")
    [(action, detail)] = events()
    assert action == "upstream.changed"
    assert detail["before"] == {"parameters": {}, "silence_seconds": 300, "offers_clock": True}
    assert detail["after"] == {
        "parameters": {"temperature": 0.2},
        "silence_seconds": 60,
        "offers_clock": False,
    }
    desk.post(f"/settings/models/{team.pk}/requests/", changed)
    assert len(events()) == 1


async def test_wrong_parameters_are_refused_and_unknown_ones_confirmed(
    olives: AsyncClient, team: Upstream
) -> None:
    path = f"/settings/models/{team.pk}/requests/"
    invalid = await olives.post(path, REQUESTS | {"parameters": "[NaN]"})
    assert "Enter a valid JSON" in invalid.content.decode()
    misspelt = REQUESTS | {"parameters": '{"temprature": 1}'}
    page = (await olives.post(path, misspelt)).content.decode()
    assert "temprature" in page
    assert parse(page).find_all("input[type=checkbox][name=takes_doubtful]")
    await team.arefresh_from_db()
    assert team.parameters == {}
    await olives.post(path, misspelt | {"takes_doubtful": "on"})
    await team.arefresh_from_db()
    assert team.parameters == {"temprature": 1}
    assert (await olives.post(path, misspelt)).status_code == 302  # already confirmed


@pytest.mark.parametrize("side", ["", "0", "127", "8001", "-5"])
def test_a_largest_side_of_images_is_never_left_out(
    desk: Client, team: Upstream, side: str
) -> None:
    page = desk.post(f"/settings/models/{team.pk}/requests/", REQUESTS | {"image_side": side})
    assert page.status_code == 200
    team.refresh_from_db()
    assert team.image_side == 1568


def test_a_refusal_of_images_is_shown_and_forgotten(desk: Client, team: Upstream) -> None:
    Upstream.learn(team.pk, "<b>blind", [ImagesLesson()])
    Upstream.learn(team.pk, "other", [ImagesLesson()])
    path = f"/settings/models/{team.pk}/"
    page = desk.get(path).text
    assert "&lt;b&gt;blind" in page
    assert "<b>blind" not in page
    for _ in range(2):
        assert desk.post(f"{path}images/", {"model": "<b>blind"}).status_code == 302
    team.refresh_from_db()
    assert list(team.refused_images_at) == ["other"]
    [(action, detail)] = events()
    assert action == "upstream.changed"
    assert detail["before"] == {"refused_images": "<b>blind"}


def test_turning_it_off_keeps_its_settings(desk: Client, team: Upstream) -> None:
    path = f"/settings/models/{team.pk}/off/"
    assert desk.post(path).status_code == 302
    team.refresh_from_db()
    assert (team.enabled, team.api_key) == (False, "sk-1")
    [(action, detail)] = events()
    assert action == "upstream.changed"
    assert (detail["before"], detail["after"]) == ({"enabled": True}, {"enabled": False})
    assert desk.post(path).status_code == 404


def test_deleting_it_takes_its_limits_and_rules_along(desk: Client, team: Upstream) -> None:
    Limit.objects.create(measure="tokens", cap=10**9, upstream=team)
    AccessRule.objects.restrict_to([Group.objects.create(name="Writers")], upstream=team, model="")
    path = f"/settings/models/{team.pk}/delete/"
    assert "These limits are deleted with it" in desk.get(path).text
    assert desk.post(path).headers["location"] == "/settings/models/"
    assert not Upstream.objects.exists()
    assert not Limit.objects.exists()
    [(action, detail)] = events()
    assert action == "upstream.deleted"
    assert detail["before"]["access"] == [{"model": "", "groups": ["Writers"]}]
    assert AuditEvent.objects.filter(action="limit.deleted").exists()


def test_the_environments_upstream_cannot_be_deleted(desk: Client) -> None:
    Upstream.connect_environment("Default", "http://127.0.0.1:9/v1", "sk-1")
    assert desk.post(f"/settings/models/{Upstream.objects.get().pk}/delete/").status_code == 404


async def test_the_page_shows_models_tools_and_failures(
    olives: AsyncClient, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    markup = "<img src=x>"
    listed = {"id": markup, "context_length": 128_000}
    upstream.fail_models(200, {"data": [{"id": "one"}, listed | {"id": "<img>"}]})
    wiki = await ToolServer.objects.acreate(
        name="wiki", transport="http", url="http://127.0.0.1:9/"
    )
    then = timezone.now() - timedelta(hours=1)
    for kind, count in (("unauthorized", 3), (markup, 1)):
        await UpstreamFailure.objects.acreate(
            upstream=saved_upstream, day=get_day(then), kind=kind, count=count, last_at=then
        )
    page = (await olives.get(f"/settings/models/{saved_upstream.pk}/")).content.decode()
    document = parse(page)
    text = " ".join(document.text.split())
    assert "It was refused on" in text
    assert "128k context" in text
    assert document.find("a", href=f"/settings/tools/{wiki.pk}/").text == "wiki"
    failures = document.find("section", aria_labelledby="failures").find_all("tbody tr")
    rows = [[cell.text for cell in row.find_all("td")[1:]] for row in failures]
    assert sorted(rows) == [
        ["It refused its key.", "3"],
        ["It sent a response that the app can't read.", "1"],
    ]
    assert "<img" not in page
    assert re.search(r"About 1\d\d tokens per request", text)
    prices = [anchor.attributes["href"] for anchor in document.find_all("a[aria-label^=Price]")]
    assert f"/limits/prices/new/?upstream={saved_upstream.pk}&model=one" in prices


def test_providers_are_put_in_order_and_recorded(desk: Client, team: Upstream) -> None:
    other = Upstream.objects.create(name="Other", base_url="http://127.0.0.1:9/v1", api_key="sk-2")
    order = "/settings/models/order/"
    assert [upstream.name for upstream in Upstream.all_enabled()] == ["Other", "Team"]
    for _ in range(2):
        desk.post(order, {"upstream": [team.pk, other.pk]})
        assert [upstream.name for upstream in Upstream.all_enabled()] == ["Team", "Other"]
    event = AuditEvent.objects.select_related("detail").get(action="installation.changed")
    assert event.detail
    assert event.detail.values["after"] == {"providers": ["Team", "Other"]}
    other.refresh_from_db()
    assert other.api_key == "sk-2"


def test_what_is_not_a_provider_changes_no_order(desk: Client, team: Upstream) -> None:
    answer = desk.post("/settings/models/order/", {"upstream": ["x", "0", "9" * 30, "-1"]})
    assert answer.status_code == 302
    assert not AuditEvent.objects.filter(action="installation.changed").exists()
