"""Groups: members, access to models and tools, and what that changes in the chat."""

from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group
from django.test import Client
from pytest_django import Settings

from chatapp.models import AccessRule, AuditEvent, Message, ToolServer, Upstream, User
from tests.conftest import signed_in
from tests.support.allowed import limit
from tests.support.fake_upstream import FakeUpstream
from tests.support.page import parse
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

MARKUP = '<img src=x onerror="alert(1)">'


@pytest.fixture
def writers(alice: User) -> Group:
    """Return a group with Alice, but not Bob."""
    group = Group.objects.create(name="Writers")
    group.user_set.add(alice)
    return group


@pytest.fixture
def gateway(db: None) -> Upstream:
    return Upstream.objects.create(
        name="Gateway", base_url="http://127.0.0.1:9/v1", offered_models="large\nsmall"
    )


def list_models(client: Client, path: str = "/models/") -> list[str]:
    options = parse(client.get(path).text).find_all("select[name=model] option")
    values = [str(option.attributes["value"]) for option in options]
    return [value.partition("/")[2] for value in values if value]


def give(client: Client, path: str, *groups: Group, to: str = "groups") -> None:
    form: dict[str, Any] = {"to": to, "groups": [group.pk for group in groups]}
    assert client.post(path, form).status_code == 302


def test_a_group_is_created_filled_renamed_and_deleted(olives: Client, alice: User) -> None:
    olives.post("/people/groups/", {"name": "Writers"})
    group = Group.objects.get()
    path = f"/people/groups/{group.pk}/"
    assert "Nobody has this username" in olives.post(f"{path}member/", {"person": "x"}).text
    olives.post(f"{path}member/", {"person": "ALICE"})
    assert list(group.user_set.all()) == [alice]
    assert "alice" in olives.get(path).text
    assert "already" in olives.post("/people/groups/", {"name": "Writers"}).text
    olives.post(path, {"name": MARKUP})
    for page in (path, "/people/groups/", f"{path}delete/", f"/people/{alice.pk}/"):
        assert "<img" not in olives.get(page).text
    olives.post(f"{path}member/", {"remove": "9" * 30})
    olives.post(f"{path}member/", {"remove": alice.pk})
    assert not group.user_set.exists()
    limit(1000, group=group)
    assert "1,000 tokens in total for the group" in olives.get(f"{path}delete/").text
    olives.post(f"{path}delete/")
    assert not Group.objects.exists()
    assert AuditEvent.objects.filter(action="limit.deleted").count() == 1


def test_access_is_given_shown_and_removed(
    olives: Client, writers: Group, gateway: Upstream
) -> None:
    server = ToolServer.objects.create(name="wiki", url="http://127.0.0.1:9/", enabled=False)
    whole = f"/people/given/upstream/{gateway.pk}/"
    tools = f"/people/given/tools/{server.pk}/"
    give(olives, f"{whole}?model=large", writers)
    give(olives, tools)
    page = parse(olives.get("/people/groups/").text)
    rows = ["".join(row.text.split()) for row in page.find_all("section tbody tr")]
    assert rows == [
        "GatewayProviderEverybody",
        "largeModelofGatewayWriters",
        "wikiToolserverNobody",
    ]
    assert "large" in olives.get(f"/people/groups/{writers.pk}/").text
    assert f'/pick/models/?provider={gateway.pk}"' in olives.get(whole).text
    give(olives, tools, to="everybody")
    assert not AccessRule.objects.exclude(tool_server=None).exists()
    for wrong in ("given/rooms/1/", "given/upstream/99/", f"given/upstream/{gateway.pk}/?model="):
        path = f"/people/{wrong}" + "x" * 201 * wrong.endswith("=")
        assert olives.get(path).status_code == 404, path
    nul = olives.post(f"{whole}?model=a%00b", {"to": "groups"})
    assert nul.status_code == 404
    assert 'role="alert"' in olives.post(whole, {"to": "x"}).text


def test_a_model_is_given_to_a_group_from_the_groups_page(
    olives: Client, writers: Group, gateway: Upstream
) -> None:
    query = f"provider={gateway.pk}&model=large+%26+co&group={writers.pk}"
    answer = olives.get(f"/people/given/?{query}")
    path = answer.headers["location"]
    assert path == f"/people/given/upstream/{gateway.pk}/?model=large+%26+co&group={writers.pk}"
    page = parse(olives.get(path).text)
    chosen = [box.attributes["value"] for box in page.find_all("input[checked]")]
    assert chosen == ["groups", str(writers.pk)]
    assert not AccessRule.objects.exists()
    give(olives, path, writers)
    assert "large &amp; co" in olives.get(f"/people/groups/{writers.pk}/").text
    for wrong in ("model=x", f"provider={gateway.pk}", "provider=99&model=x"):
        answer = olives.get(f"/people/given/?{wrong}", follow=True)
        assert "Choose a provider and one of its models." in answer.text


def test_people_are_offered_only_models_they_may_use(
    olives: Client, alices: Client, bobs: Client, writers: Group, gateway: Upstream
) -> None:
    give(olives, f"/people/given/upstream/{gateway.pk}/?model=large", writers)
    assert list_models(alices) == ["large", "small"]
    assert list_models(bobs) == list_models(bobs, "/") == ["small"]
    give(olives, f"/people/given/upstream/{gateway.pk}/?model=small", writers)
    assert list_models(bobs) == list_models(bobs, "/") == []
    give(olives, f"/people/given/upstream/{gateway.pk}/", writers)
    assert "Gateway" not in bobs.get("/models/").text


def test_a_model_without_access_falls_back_to_one_with_access(
    olives: Client, alices: Client, alice: User, writers: Group, gateway: Upstream
) -> None:
    project = alice.projects.create(name="Novel", upstream=gateway, model="large")
    path = f"/projects/{project.pk}/"
    assert offered_first(alices, path) == "large"
    give(olives, f"/people/given/upstream/{gateway.pk}/?model=large")
    assert offered_first(alices, path) == "small"


def offered_first(client: Client, path: str) -> str:
    [chosen] = parse(client.get(path).text).find_all("#model option[selected]")
    return str(chosen.attributes["value"]).partition("/")[2]


async def test_a_socket_refuses_a_model_its_person_may_not_use(
    bob: User,
    saved_upstream: Upstream,
    upstream: FakeUpstream,
    generations_end: None,
    settings: Settings,
) -> None:
    settings.CHATAPP_CLOSE_GRACE = settings.CHATAPP_DROP_GRACE = 0.0
    upstream.models = ["m"]
    async with Tab(await database_sync_to_async(signed_in)(bob)) as tab:
        await tab.ask(model=f"{saved_upstream.pk}/m")
        await tab.until_ended()
        await database_sync_to_async(AccessRule.objects.restrict_to)(
            [], upstream=saved_upstream, model="m"
        )
        for _ in range(2):
            await tab.send(action="prompt", message="Hello", model=f"{saved_upstream.pk}/m")
            assert "have access to this model" in await tab.until('id="problem"')
        assert await Message.objects.filter(conversation__user=bob).acount() == 2
