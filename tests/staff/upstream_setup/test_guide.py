"""The steps that connect an upstream. It is enabled by the last one."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.test import AsyncClient

from chatapp.models import AccessRule, AuditDetail, AuditEvent, Upstream, User
from tests.conftest import signed_in
from tests.support.fake_upstream import FakeUpstream
from tests.support.page import parse

pytestmark = pytest.mark.django_db

MARKUP = '<img src=x onerror="alert(1)">'
SECRET = "sk-very-secret"


async def connect(client: AsyncClient, base_url: str, **fields: str) -> str:
    """Take the first step, and return the path of the second."""
    form = {"name": "Team", "base_url": base_url, "new_api_key": SECRET, **fields}
    location = (await client.post("/upstreams/new/", form)).headers["location"]
    assert location.startswith("/upstreams/")
    return location


def ticked(page: str) -> dict[str, bool]:
    boxes = parse(page).find_all("input[name=models]")
    return {str(box.attributes["value"]): "checked" in box.attributes for box in boxes}


async def event(action: str) -> dict[str, Any]:
    found = await AuditEvent.objects.select_related("detail").filter(action=action).afirst()
    assert found
    detail: dict[str, Any] = found.detail.values
    return detail


async def test_an_upstream_is_enabled_by_the_last_step(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    await sync_to_async(Upstream.connect_environment)("Demo", "http://127.0.0.1:9/v1", "")
    upstream.models = ["one", "two", MARKUP, "a = b"]
    path = await connect(olives, upstream.base_url)
    made = await Upstream.objects.aget(name="Team")
    assert (made.enabled, made.api_key) == (False, SECRET)
    page = (await olives.get(path)).content.decode()
    assert "lists 4 models" in page
    assert ticked(page) == {
        "one": False,
        "two": False,
    }  # the others can't be written in offered_models
    assert SECRET not in page
    chosen = {"which": "some", "models": ["two"], "to": "everybody"}
    assert (await olives.post(path, chosen)).headers["location"] == "/upstreams/"
    await made.arefresh_from_db()
    assert (made.enabled, made.offered_models) == (True, "two")
    assert not (await Upstream.objects.aget(name="Demo")).enabled
    assert ticked((await olives.get(path)).content.decode()) == {"two": True, "one": False}
    assert (await event("upstream.added"))["after"] == {
        "name": "Team",
        "base_url": upstream.base_url,
        "new_api_key": "changed",
    }
    details = [one.values async for one in AuditDetail.objects.all()]
    assert SECRET not in str(details)


async def test_access_is_restricted_before_the_upstream_is_enabled(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    writers = await Group.objects.acreate(name="Writers")
    path = await connect(olives, upstream.base_url)
    refused = (
        await olives.post(path, {"which": "some", "to": "groups", "groups": [writers.pk]})
    ).content.decode()
    assert "Choose at least one model" in refused
    assert not await AccessRule.objects.aexists()
    await olives.post(path, {"which": "all", "to": "groups", "groups": [writers.pk]})
    rule = await AccessRule.objects.select_related("upstream").aget()
    made = await Upstream.objects.aget(name="Team")
    assert (rule.upstream, [group async for group in rule.groups.all()]) == (made, [writers])
    assert (made.enabled, made.offered_models) == (True, "")
    logged = await event("access.changed")
    assert (logged["before"], logged["after"]) == (["Everybody"], ["Writers"])


async def test_models_keep_the_names_they_were_given(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    upstream.models = ["one", "two"]
    path = await connect(olives, upstream.base_url)
    await Upstream.objects.filter(name="Team").aupdate(offered_models="one = The quick one\ngone")
    assert ticked((await olives.get(path)).content.decode()) == {
        "one": True,
        "gone": True,
        "two": False,
    }
    await olives.post(path, {"which": "some", "models": ["one", "two"], "to": "everybody"})
    assert (await Upstream.objects.aget(name="Team")).offered_models == "one = The quick one\ntwo"


async def test_models_can_be_entered_if_the_upstream_does_not_list_them(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    upstream.fail_models(401, {"error": {"message": f"No <b>{SECRET}</b>"}})
    path = await connect(olives, upstream.base_url)
    page = (await olives.get(path)).content.decode()
    assert "did not list its models" in page
    assert SECRET not in page
    assert "<b>" not in page
    assert (
        "This field is required" in (await olives.post(path, {"to": "everybody"})).content.decode()
    )
    wrong = (await olives.post(path, {"to": "everybody", "names": "a b = c"})).content.decode()
    assert "a model and its name. Example" in wrong
    await olives.post(path, {"to": "everybody", "names": "one = First\ntwo"})
    assert list((await Upstream.objects.aget(name="Team")).named_models) == ["one", "two"]


async def test_the_test_queries_the_upstream_and_shows_the_result(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    path = await connect(olives, upstream.base_url)
    page = (await olives.post(f"{path}test/")).content.decode()
    assert "It can serve the app." in page
    assert "First token" in page
    assert upstream.requests
    assert not (await Upstream.objects.aget(name="Team")).enabled


async def test_a_stored_key_is_never_sent_to_another_address(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    path = await connect(olives, upstream.base_url)
    there = f"{path}address/"
    moved = {"name": MARKUP, "base_url": "http://elsewhere/v1"}
    refused = (await olives.post(there, moved)).content.decode()
    assert "Enter a key again" in refused
    assert "<img" not in refused
    assert (await Upstream.objects.aget(name="Team")).base_url == upstream.base_url
    assert (await olives.post(there, {**moved, "new_api_key": "sk-2"})).headers["location"] == path
    assert "<img" not in (await olives.get(path)).content.decode()
    assert (await Upstream.objects.aget(name=MARKUP)).api_key == "sk-2"


@pytest.mark.parametrize("path", ["new/", "{}/", "{}/address/", "{}/test/"])
def test_every_step_asks_for_the_password_first(olive: User, path: str) -> None:
    made = Upstream.objects.create(name="Team", base_url="http://127.0.0.1:9/v1", enabled=False)
    form = {"name": "Mine", "base_url": "http://elsewhere/v1", "to": "everybody", "names": "one"}
    answer = signed_in(olive).post(f"/upstreams/{path.format(made.pk)}", form)
    assert answer.headers["location"].startswith("/accounts/reauthenticate/")
    [left] = Upstream.objects.values_list("name", "enabled")
    assert left == ("Team", False)


async def test_the_address_of_the_environments_upstream_cannot_be_changed(
    olives: AsyncClient,
) -> None:
    await sync_to_async(Upstream.connect_environment)("Default", "http://127.0.0.1:9/v1", "sk-1")
    own = await Upstream.objects.aget()
    assert (await olives.get(f"/upstreams/{own.pk}/address/")).status_code == 404
    assert "/address/" not in (await olives.get(f"/upstreams/{own.pk}/")).content.decode()


async def test_the_chat_and_the_list_link_to_the_first_step(olives: AsyncClient) -> None:
    assert parse((await olives.get("/")).content.decode()).find_all(
        ".first-steps a[href='/upstreams/new/']"
    )
    listed = parse((await olives.get("/upstreams/")).content.decode())
    assert listed.find_all(".actions a[href='/upstreams/new/']")
