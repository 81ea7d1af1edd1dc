"""The steps that connect an upstream. It is enabled by the last one."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group
from django.test import AsyncClient

from chatapp.models import AccessRule, AuditDetail, AuditEvent, Installation, Upstream, User
from chatapp.models.platform.lessons import ContextLesson, ImagesLesson
from tests.conftest import signed_in
from tests.support.fake_upstream import FakeUpstream, Stall, delta, role
from tests.support.page import parse

pytestmark = pytest.mark.django_db

MARKUP = '<img src=x onerror="alert(1)">'
SECRET = "sk-very-secret"


async def connect(client: AsyncClient, base_url: str, **fields: str) -> str:
    """Take the first step, and return the path of the last."""
    form = {"name": "Team", "base_url": base_url, "new_api_key": SECRET, **fields}
    location = (await client.post("/settings/models/new/", form)).headers["location"]
    assert location.startswith("/settings/models/")
    assert location.endswith("/test/")
    return location.removesuffix("test/")


async def read_stream(answer: Any) -> str:
    return b"".join([part async for part in answer.streaming_content]).decode()


def read_ticked_models(page: str) -> dict[str, bool]:
    boxes = parse(page).find_all("input[name=models]")
    return {str(box.attributes["value"]): "checked" in box.attributes for box in boxes}


async def load_event_detail(action: str) -> dict[str, Any]:
    audit_event = await AuditEvent.objects.select_related("detail").filter(action=action).afirst()
    assert audit_event
    detail: dict[str, Any] = audit_event.detail.values
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
    assert read_ticked_models(page) == {
        "one": False,
        "two": False,
    }  # the others can't be written in offered_models
    assert SECRET not in page
    chosen = {"which": "some", "models": ["two"], "to": "everybody"}
    there = (await olives.post(path, chosen)).headers["location"]
    assert there == f"/?model={made.pk}%2Ftwo"
    chat = (await olives.get(there)).content.decode()
    assert "Team is connected." in chat
    assert "The built-in demo is now turned off." in chat
    assert "Team is connected." not in (await olives.get(there)).content.decode()
    await made.arefresh_from_db()
    assert (made.enabled, made.offered_models) == (True, "two")
    assert not (await Upstream.objects.aget(name="Demo")).enabled
    assert read_ticked_models((await olives.get(path)).content.decode()) == {
        "two": True,
        "one": False,
    }
    assert (await load_event_detail("upstream.added"))["after"] == {
        "name": "Team",
        "base_url": upstream.base_url,
        "new_api_key": "changed",
    }
    details = [audit_detail.values async for audit_detail in AuditDetail.objects.all()]
    assert SECRET not in str(details)


async def test_a_model_that_oneself_may_not_use_is_not_chosen(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    upstream.models = ["one"]
    path = await connect(olives, upstream.base_url)
    writers = await Group.objects.acreate(name="Writers")
    form = {"which": "all", "to": "groups", "groups": [writers.pk]}
    assert (await olives.post(path, form)).headers["location"] == "/settings/models/"
    assert (await Upstream.objects.aget(name="Team")).enabled


async def test_a_small_model_is_proposed_for_titles_until_they_have_one(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    upstream.models = ["big", "text-embedding-3-small", "big-mini", "nano"]
    path = await connect(olives, upstream.base_url)
    page = (await olives.get(path)).content.decode()
    assert "Write the titles of chats with big-mini" in page
    assert "checked" in parse(page).find("input", name="titles").attributes
    await olives.post(path, {"which": "all", "to": "everybody", "titles": "on"})
    installation = await Installation.objects.aget()
    team = await Upstream.objects.aget(name="Team")
    assert (installation.title_upstream_id, installation.title_model) == (team.pk, "big-mini")
    assert (await load_event_detail("installation.changed"))["after"]["title_model"] == "big-mini"
    again = await connect(olives, upstream.base_url, name="Spare")
    assert 'name="titles"' not in (await olives.get(again)).content.decode()


async def test_an_address_without_v1_is_corrected_by_a_button(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    upstream.fail_models(404, "<h1>Not found</h1>")
    short = upstream.base_url.removesuffix("/v1")
    path = await connect(olives, f"{short}/")
    page = parse((await olives.get(f"{path}test/")).content.decode())
    [button] = page.find_all("form[action$='/address/'] button")
    assert button.text.strip() == f"Use {short}/v1"
    fields = {
        str(field.attributes["name"]): str(field.attributes["value"])
        for field in page.find_all("form[action$='/address/'] input")
    }
    there = (await olives.post(f"{path}address/", fields)).headers["location"]
    assert there == f"{path}test/"
    made = await Upstream.objects.aget(name="Team")
    assert (made.base_url, made.api_key) == (f"{short}/v1", SECRET)
    assert "lacks /v1" not in (await olives.get(there)).content.decode()


async def test_advice_speaks_to_the_administrator_who_reads_it(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    upstream.fail_models(500, "")
    path = await connect(olives, upstream.base_url)
    for page in (path, f"{path}test/"):
        assert "administrator" not in parse((await olives.get(page)).content.decode()).text


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
    logged = await load_event_detail("access.changed")
    assert (logged["before"], logged["after"]) == (["Everybody"], ["Writers"])


async def test_models_keep_the_names_they_were_given(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    upstream.models = ["one", "two"]
    path = await connect(olives, upstream.base_url)
    await Upstream.objects.filter(name="Team").aupdate(offered_models="one = The quick one\ngone")
    assert read_ticked_models((await olives.get(path)).content.decode()) == {
        "one": True,
        "gone": True,
        "two": False,
    }
    named = {"name one": "The quick one", "name two": "", "name gone": "No longer listed"}
    await olives.post(path, {"which": "some", "models": ["two", "one"], "to": "everybody", **named})
    team = await Upstream.objects.aget(name="Team")
    assert team.offered_models == "two\none"
    assert team.display_names == {"one": "The quick one", "gone": "No longer listed"}


async def test_models_are_described_and_the_picker_says_so(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    upstream.models = ["one", "two"]
    path = await connect(olives, upstream.base_url)
    await Upstream.objects.filter(name="Team").aupdate(model_descriptions={"gone": "Slow"})
    offer = {"which": "all", "to": "everybody", "description one": "Good at <code>"}
    await olives.post(path, offer | {"name one": "The <quick> one"})
    team = await Upstream.objects.aget(name="Team")
    assert team.descriptions == {"gone": "Slow", "one": "Good at <code>"}
    option = parse((await olives.get("/")).content.decode()).find("option", value=f"{team.pk}/one")
    assert option.attributes["data-about"] == "Good at <code>"
    assert option.text == "The <quick> one"
    await olives.post(path, offer | {"description one": ""})
    assert (await Upstream.objects.aget(name="Team")).descriptions == {"gone": "Slow"}
    too_long = await olives.post(path, offer | {"description one": "x" * 201})
    assert "at most 200 characters" in too_long.content.decode()


async def test_an_administrators_word_about_images_outweighs_the_list_and_a_refusal(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    upstream.fail_models(200, {"data": [{"id": "one", "tags": ["vision"]}, {"id": "two"}]})
    path = await connect(olives, upstream.base_url)
    team = await Upstream.objects.aget(name="Team")

    async def read_image_options() -> list[str]:
        page = parse((await olives.get("/")).content.decode())
        options = [page.find("option", value=f"{team.pk}/{model}") for model in ("one", "two")]
        return [option.attributes.get("data-images", "") for option in options]

    offer = {"which": "all", "to": "everybody"}
    await olives.post(path, offer)
    assert await read_image_options() == ["yes", ""]
    await database_sync_to_async(Upstream.learn)(team.pk, "one", [ImagesLesson()])
    await database_sync_to_async(Upstream.learn)(team.pk, "two", [ImagesLesson()])
    assert await read_image_options() == ["no", "no"]
    await olives.post(path, offer | {"images one": "yes", "images two": "no"})
    assert await read_image_options() == ["yes", "no"]
    await team.arefresh_from_db()
    assert team.model_images == {"one": True, "two": False}
    assert not team.image_refusals
    await olives.post(path, offer)
    assert await read_image_options() == ["yes", ""]


async def test_an_administrators_figure_for_a_context_outweighs_the_list_and_a_refusal(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    listed = [{"id": "one", "context_length": 8192}, {"id": "two"}]
    upstream.fail_models(200, {"data": listed})
    path = await connect(olives, upstream.base_url)
    team = await Upstream.objects.aget(name="Team")

    async def read_context_options() -> list[str]:
        page = parse((await olives.get("/")).content.decode())
        options = [page.find("option", value=f"{team.pk}/{model}") for model in ("one", "two")]
        return [option.attributes.get("data-context", "") for option in options]

    offer = {"which": "all", "to": "everybody"}
    await olives.post(path, offer)
    assert await read_context_options() == ["8192", ""]
    for model in ("one", "two"):
        await database_sync_to_async(Upstream.learn)(team.pk, model, [ContextLesson(4096)])
    assert await read_context_options() == ["4096", "4096"]
    assert "Forget the size that two refused" in (await olives.get(path)).content.decode()
    await olives.post(path, offer | {"context one": "16384"})
    assert await read_context_options() == ["16384", "4096"]
    await olives.post(f"{path}contexts/", {"model": "two"})
    assert await read_context_options() == ["16384", ""]
    refused = await olives.post(path, offer | {"context one": "0"})
    assert "greater than or equal to 256" in refused.content.decode()


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
    page = await read_stream(await olives.post(f"{path}test/"))
    assert "It can serve the app." in page
    assert "First token" in page
    assert upstream.requests
    assert not (await Upstream.objects.aget(name="Team")).enabled


async def test_the_rows_of_a_test_are_sent_while_it_runs(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    path = await connect(olives, upstream.base_url)
    upstream.script(role(), delta("1 2"), Stall())
    answer: Any = await olives.post(f"{path}test/")
    parts = answer.streaming_content
    before, row = (await anext(parts)).decode(), (await anext(parts)).decode()
    assert "leaving this page cancels it" in before
    assert "Models" in row
    assert SECRET not in before + row
    waiting = asyncio.create_task(anext(parts))
    request = await upstream.until_requested()
    await asyncio.sleep(0.05)
    assert not waiting.done()
    waiting.cancel()  # as the server does when the client has left
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await request.until_closed()


async def test_what_a_provider_sends_is_only_text_in_a_test(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    upstream.models = [f"{MARKUP}<!-- rows -->"]
    upstream.fail(400, {"error": {"message": f"{MARKUP}<!-- verdict -->{SECRET}"}})
    path = await connect(olives, upstream.base_url, name="<!-- rows -->")
    page = await read_stream(await olives.post(f"{path}test/"))
    assert "serve the app." in page
    assert not [word for word in ("<img", "<!--", SECRET) if word in page]


async def test_a_model_can_be_named_for_a_test_if_there_is_no_list(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    upstream.fail_models(404, {"error": "no such path"})
    path = await connect(olives, upstream.base_url)
    assert "Model to ask" in (await olives.get(f"{path}test/")).content.decode()
    page = await read_stream(await olives.post(f"{path}test/"))
    assert "name a model to ask" in page
    assert "Model to ask" in page
    page = await read_stream(await olives.post(f"{path}test/", {"model": "one"}))
    assert "asked one" in page


async def test_a_stored_key_is_never_sent_to_another_address(
    olives: AsyncClient, upstream: FakeUpstream
) -> None:
    path = await connect(olives, upstream.base_url)
    there = f"{path}address/"
    moved = {"name": MARKUP, "base_url": "http://elsewhere/v1"}
    refused = (await olives.post(there, moved)).content.decode()
    assert "Enter a key for this one" in refused
    assert "<img" not in refused
    assert (await Upstream.objects.aget(name="Team")).base_url == upstream.base_url
    assert (await olives.post(there, {**moved, "new_api_key": "sk-2"})).headers[
        "location"
    ] == f"{path}test/"
    assert "<img" not in (await olives.get(path)).content.decode()
    assert (await Upstream.objects.aget(name=MARKUP)).api_key == "sk-2"


@pytest.mark.parametrize(
    ("before", "after", "keeps"),
    [
        ("https://host/v1", "https://host/api/v1", True),
        ("https://host/v1", "https://HOST:443", True),
        ("https://host/v1", "http://host/v1", False),
        ("https://host/v1", "https://host:8443/v1", False),
        ("https://host/v1", "https://host.example/v1", False),
        ("http://host:80/v1", "http://host/v1", True),
    ],
)
def test_the_key_is_kept_while_the_address_stays_on_its_server(
    olive: User, before: str, after: str, keeps: bool
) -> None:
    made = Upstream.objects.create(name="Team", base_url=before, api_key=SECRET)
    client, path = signed_in(olive, confirmed=True), f"/settings/models/{made.pk}/address/"
    assert "another scheme, host or port" in client.get(path).text
    page = client.post(path, {"name": "Team", "base_url": after})
    assert (page.status_code == 302) == keeps
    made.refresh_from_db()
    assert (made.base_url, made.api_key) == (after if keeps else before, SECRET)


@pytest.mark.parametrize("address", ["host/v1", "https://host:port/v1", "https://[/v1"])
def test_an_invalid_address_neither_asks_for_nor_repeats_the_key(olive: User, address: str) -> None:
    made = Upstream.objects.create(name="Team", base_url="https://host/v1", api_key=SECRET)
    client, path = signed_in(olive, confirmed=True), f"/settings/models/{made.pk}/address/"
    page = client.post(path, {"name": "Team", "base_url": address}).text
    assert "valid base URL" in page
    assert "Enter a key for this one" not in page
    typed = client.post(path, {"name": "Team", "base_url": address, "new_api_key": "sk-typed"})
    assert "sk-typed" not in typed.text


@pytest.mark.parametrize("path_end", ["", "new/", "7/", "7/address/"])
async def test_the_old_addresses_lead_to_the_new_ones(anyone: AsyncClient, path_end: str) -> None:
    answer = await anyone.get(f"/upstreams/{path_end}")
    assert answer.headers["location"] == f"/settings/models/{path_end}"


def test_only_one_room_is_marked_as_the_current_one(olive: User) -> None:
    client = signed_in(olive, confirmed=True)
    for path, label in (("/settings/models/new/", "Models"), ("/settings/", "Settings")):
        marked = parse(client.get(path).text).find_all("nav a[aria-current=page]")
        assert [entry.text.strip() for entry in marked] == [label]


@pytest.mark.parametrize("path", ["new/", "{}/", "{}/address/", "{}/test/"])
def test_every_step_asks_for_the_password_first(olive: User, path: str) -> None:
    made = Upstream.objects.create(name="Team", base_url="http://127.0.0.1:9/v1", enabled=False)
    form = {"name": "Mine", "base_url": "http://elsewhere/v1", "to": "everybody", "names": "one"}
    answer = signed_in(olive).post(f"/settings/models/{path.format(made.pk)}", form)
    assert answer.headers["location"].startswith("/accounts/reauthenticate/")
    [left] = Upstream.objects.values_list("name", "enabled")
    assert left == ("Team", False)


async def test_the_address_of_the_environments_upstream_cannot_be_changed(
    olives: AsyncClient,
) -> None:
    await sync_to_async(Upstream.connect_environment)("Default", "http://127.0.0.1:9/v1", "sk-1")
    own = await Upstream.objects.aget()
    assert (await olives.get(f"/settings/models/{own.pk}/address/")).status_code == 404
    assert "/address/" not in (await olives.get(f"/settings/models/{own.pk}/")).content.decode()


async def test_the_chat_and_the_list_link_to_the_first_step(olives: AsyncClient) -> None:
    assert parse((await olives.get("/")).content.decode()).find_all(
        ".first-steps a[href='/settings/models/new/']"
    )
    listed = parse((await olives.get("/settings/models/")).content.decode())
    assert listed.find_all(".heading a[href='/settings/models/new/']")
