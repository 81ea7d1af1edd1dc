"""The pages of presets: Alice owns one, and Bob may do what she lets him."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from chatapp.models import (
    AccessRule,
    Installation,
    ModelChoice,
    Preset,
    PresetGrant,
    ToolServer,
    Upstream,
    User,
)
from chatapp.models.library import presets as limits
from chatapp.models.library.sharing import Level
from tests.support.page import parse, submitted

pytestmark = pytest.mark.django_db

NEW: dict[str, Any] = {
    "name": "Translator",
    "icon": "languages",
    "description": "Into  English",
    "system_prompt": "Translate.\r\nBe brief.",
    "temperature": "0.2",
    "offers_all": "yes",
    "suggestions": "Bonjour\r\n\r\nBuenos  días",
    "takes_memory": "on",
}


@pytest.fixture
def upstream() -> Upstream:
    return Upstream.objects.create(
        name="Fake", base_url="http://127.0.0.1:9/v1", offered_models="one = The one\ntwo"
    )


def path(preset: Preset, part: str = "") -> str:
    return f"/presets/{preset.pk}/{part}"


def content(preset: Preset) -> dict[str, Any]:
    preset.refresh_from_db()
    return preset.content


def posted(page: str) -> dict[str, list[str]]:
    """Return what the form on the page posts as it stands."""
    return submitted(parse(page).find("form", class_="preset-form"))


def test_an_empty_list_says_what_a_preset_is_and_what_to_do(alices: Client) -> None:
    page = alices.get("/presets/").text
    assert "You have no presets yet." in page
    assert 'href="/presets/new/"' in page
    assert "library-search" not in page
    assert "Export" not in page


def test_a_preset_is_saved_changed_and_listed(alices: Client, upstream: Upstream) -> None:
    model = f"{upstream.pk}/one"
    answer = alices.post("/presets/new/", NEW | {"model": model})
    preset = Preset.objects.get()
    assert answer["location"] == path(preset)
    assert content(preset) == {
        "name": "Translator",
        "icon": "languages",
        "description": "Into English",
        "system_prompt": "Translate.\nBe brief.",
        "upstream_id": upstream.pk,
        "model": "one",
        "parameters": {"temperature": 0.2},
        "tools": None,
        "suggestions": ["Bonjour", "Buenos días"],
        "takes_memory": True,
        "file_set_id": None,
    }
    assert posted(alices.get(path(preset)).text)["model"] == [model]
    alices.post(path(preset), NEW | {"model": model, "name": "Other", "opened": "1"})
    assert (content(preset)["name"], preset.version) == ("Other", 2)
    page = alices.get("/presets/").text
    assert "Other" in page
    assert f"/?preset={preset.pk}" in page


@pytest.mark.parametrize("has_upstream", [True, False])
def test_what_the_form_shows_is_what_it_saves(
    alices: Client, alice: User, preset: Preset, upstream: Upstream, has_upstream: bool
) -> None:
    schema = {"type": "json_schema", "schema": {"type": "object"}, "strict": True}
    wiki = ToolServer.objects.create(name="wiki", url="http://127.0.0.1:9/mcp")
    values = {
        "system_prompt": "\n\n Translate.",
        "upstream_id": upstream.pk,
        "model": "no longer offered",
        "parameters": {"response_format": schema, "stop": ["\\n", "\n"], "web_search": False},
        "tools": [wiki.pk, 10**6, "clock"],
    }
    preset.change(alice, 1, **values)
    if not has_upstream:
        upstream.delete()
    before = content(preset)
    alices.post(path(preset), posted(alices.get(path(preset)).text))
    assert (content(preset), preset.version) == (before, 2)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("name", "", "Type a name first."),
        ("name", "\u200b", "Type a name first."),
        ("name", "x" * 81, "A name has at most 80 characters."),
        ("name", "x" * 2**20, "A name has at most 80 characters."),
        ("icon", "https://example.org/", "Choose an icon."),
        ("description", "x" * 301, "A description has at most 300 characters."),
        ("system_prompt", "x" * 20_001, "A system prompt has at most 20,000 characters."),
        ("model", "7/one", "This model is no longer available."),
        ("model", "one", "Choose one of these models."),
        ("temperature", "3", "Temperature must be a number from 0 to 2."),
        ("extra", '{"model": "x"}', "can't set “model”"),
        ("suggestions", "\n".join("abcdefg"), "There can be 6 suggestions at most."),
        ("suggestions", "x" * 201, "A suggestion has at most 200 characters."),
        ("tools", "9", "Select a valid choice"),
    ],
)
def test_what_cannot_be_saved_is_told_and_kept(
    alices: Client, field: str, value: str, problem: str
) -> None:
    page = alices.post("/presets/new/", NEW | {"offers_all": "no", field: value}).text
    assert problem in page.replace("&#39;", "'")
    assert "Be brief." in page or field == "system_prompt"
    assert not Preset.objects.exists()


def test_a_model_that_is_not_open_to_the_person_is_refused_and_kept_if_it_was_there(
    alices: Client, bobs: Client, alice: User, preset: Preset, upstream: Upstream
) -> None:
    team = Group.objects.create(name="team")
    AccessRule.objects.give([team], upstream=upstream, model="one")
    model = {"model": f"{upstream.pk}/one"}
    page = alices.post("/presets/new/", NEW | model).text
    assert "have access to this model" in page
    preset.change(alice, 1, upstream_id=upstream.pk, model="one")
    preset.share(None, Level.EDIT, alice)
    assert "The one" in bobs.get(path(preset)).text
    bobs.post(path(preset), NEW | model | {"opened": "2"})
    preset.refresh_from_db()
    assert (preset.version, preset.preselected) == (3, ModelChoice(upstream.pk, "one"))


def test_a_lost_model_is_named_and_tools_that_are_not_open_stay(
    alices: Client, alice: User, upstream: Upstream
) -> None:
    wiki = ToolServer.objects.create(name="wiki", url="http://127.0.0.1:9/mcp")
    secret = ToolServer.objects.create(name="secret", url="http://127.0.0.1:9/mcp")
    AccessRule.objects.give([], tool_server=secret)
    preset = Preset.start(
        alice, name="A", upstream_id=upstream.pk, model="one", tools=[secret.pk, "clock"]
    )
    upstream.delete()
    page = alices.get(path(preset)).text
    assert "which is no longer offered" in page
    assert "wiki" in page
    assert "secret" not in page
    assert "It also has tools" in page
    alices.post(path(preset), NEW | {"offers_all": "no", "tools": [str(wiki.pk)], "opened": "1"})
    assert content(preset)["tools"] == [secret.pk, wiki.pk]


@pytest.mark.parametrize(
    ("level", "sees_prompt", "may_change"),
    [(None, False, False), (1, False, False), (2, True, False), (3, True, True)],
)
def test_others_see_and_change_what_their_level_lets_them(
    bobs: Client,
    alice: User,
    preset: Preset,
    level: Level | None,
    sees_prompt: bool,
    may_change: bool,
) -> None:
    if level:
        preset.share(None, Level(level), alice)
    answer = bobs.get(path(preset))
    assert answer.status_code == (200 if level else 404)
    assert ("Translate into English." in answer.text) == sees_prompt
    assert ("top_k" in answer.text) == sees_prompt
    reading = 200 if sees_prompt else 404
    for part in ("versions/", "versions/1/", "export/"):
        assert bobs.get(path(preset, part)).status_code == reading
    assert bobs.post(path(preset, "copy/")).status_code == (302 if sees_prompt else 404)
    assert Preset.objects.owned_by(User.objects.get(username="bob")).exists() == sees_prompt
    changing = 302 if may_change else 404
    assert bobs.post(path(preset), NEW | {"opened": "1"}).status_code == changing
    back = {"number": "1", "opened": "2"}
    assert bobs.post(path(preset, "versions/"), back).status_code == changing
    for part in ("delete/", "restore/", "sharing/"):
        assert bobs.post(path(preset, part)).status_code == 404
    preset.refresh_from_db()
    assert (preset.version, preset.name) == (3 if may_change else 1, "Translator")
    assert preset.deleted_at is None


def test_a_copy_of_ones_own_has_another_name(alices: Client, alice: User, preset: Preset) -> None:
    long = Preset.start(alice, name="x" * 80, system_prompt="Hello")
    for one in (preset, long):
        alices.post(path(one, "copy/"))
    names = set(Preset.objects.values_list("name", flat=True))
    assert names == {"Translator", "Translator (copy)", "x" * 80, "x" * 73 + " (copy)"}
    assert content(Preset.objects.get(name__startswith="x" * 73 + " "))["system_prompt"] == "Hello"


def test_a_change_meanwhile_is_told_and_what_was_typed_is_kept(
    alices: Client, bob: User, alice: User, preset: Preset
) -> None:
    preset.share(None, Level.EDIT, alice)
    Preset.objects.get(pk=preset.pk).change(bob, 1, system_prompt="Bob's")
    typed = NEW | {"opened": "1", "system_prompt": "Alice's", "offers_all": "no", "tools": "clock"}
    page = alices.post(path(preset), typed).text
    assert "bob has changed this since you opened it." in page
    shown = posted(page)
    assert (shown["system_prompt"], shown["tools"]) == (["Alice's"], ["clock"])
    assert shown["opened"] == ["2"]
    alices.post(path(preset), typed | {"opened": "2"})
    assert content(preset)["system_prompt"] == "Alice's"


def test_a_deleted_preset_can_be_restored_by_its_owner(
    alices: Client, alice: User, preset: Preset
) -> None:
    alices.post(path(preset, "delete/"))
    assert alices.get(path(preset)).status_code == 404
    page = alices.get("/presets/").text
    assert "Restore<span" in page
    limits_before = [Preset(owner=alice, name=str(n)) for n in range(limits.MAX_PRESETS)]
    Preset.objects.bulk_create(limits_before)
    assert "at most" in alices.post(path(preset, "restore/"), follow=True).text
    Preset.objects.exclude(pk=preset.pk).delete()
    alices.post(path(preset, "restore/"))
    assert alices.get(path(preset)).status_code == 200


def test_a_person_has_a_limited_number_and_amount(
    alices: Client, alice: User, preset: Preset, settings: Any
) -> None:
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 100
    for address in ("/presets/new/", path(preset)):
        assert "you may use" in alices.post(address, NEW | {"opened": "1"}).text
    restored = {"number": "1", "opened": "1"}
    assert "you may use" in alices.post(path(preset, "versions/"), restored, follow=True).text
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 10**9
    rest = (Preset(owner=alice, name=str(n)) for n in range(limits.MAX_PRESETS - 1))
    Preset.objects.bulk_create(rest)
    assert "You can have 200 presets at most" in alices.post("/presets/new/", NEW).text
    assert "at most" in alices.post(path(preset, "copy/"), follow=True).text


def test_ten_thousand_shared_presets_are_capped_and_searched(
    bobs: Client, alice: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    many = [Preset(owner=alice, name=f"Preset {n:05}") for n in range(10_000)]
    Preset.objects.bulk_create(many)
    PresetGrant.objects.bulk_create(PresetGrant(target=one, level=Level.USE) for one in many)
    bobs.get("/presets/")  # the first page of a session also notes the device
    with django_assert_max_num_queries(6):
        page = bobs.get("/presets/").text
    assert "100 of 10,000 are shown." in page
    assert page.count("Start a chat<") == 100
    assert "Preset 07531" in bobs.get("/presets/", {"q": "07531"}).text
    assert "No preset has" in bobs.get("/presets/", {"q": "zebra"}).text
    assert "at most 100 characters" in bobs.get("/presets/", {"q": "x" * 2**11}).text


def test_the_owner_shares_and_stops(alices: Client, alice: User, preset: Preset) -> None:
    team = Group.objects.create(name="team")
    alice.groups.add(team)
    others = Group.objects.create(name="others")
    address = path(preset, "sharing/")
    page = alices.post(address, {"to": str(team.pk), "level": "2"}, follow=True).text
    assert "Can use and read it" in page
    refused = alices.post(address, {"to": str(others.pk), "level": "2"}).text
    assert "a group that you belong to" in refused
    assert "Shared with <span" in alices.get("/presets/").text
    grant = preset.grants.get()
    assert (grant.group, grant.level) == (team, Level.READ)
    assert "Only you" in alices.post(address, {"remove": str(grant.pk)}, follow=True).text
    assert not preset.grants.exists()
    Installation(pk=1, who_shares="administrators").save()
    assert "decided who may" in alices.post(address, {"to": "everyone", "level": "1"}).text


def test_a_version_says_what_it_changed_and_hostile_text_stays_text(
    alices: Client, alice: User, preset: Preset
) -> None:
    text = "Translate into <b>French</b>."
    preset.change(alice, 1, system_prompt=text, parameters={}, icon="code", takes_memory=False)
    page = alices.get(path(preset, "versions/2/")).text
    changed = parse(page).find("section", aria_labelledby="changes")
    assert [one.text for one in changed.find_all("dt")] == [
        *("Icon", "System prompt", "Parameters", "What models know about you"),
    ]
    assert "English" in [one.text for one in changed.find_all("del")]
    assert "&lt;b&gt;French" in page.replace("</ins>", "").replace("<ins>", "")
    assert "<b>" not in page
    assert alices.get(path(preset, "versions/3/")).status_code == 404
    assert alices.get(path(preset, f"versions/{10**30}/")).status_code == 404


def test_a_version_is_restored_unless_somebody_saved_meanwhile(
    alices: Client, alice: User, preset: Preset
) -> None:
    preset.change(alice, 1, name="Other")
    address = path(preset, "versions/")
    assert "Version 2" in alices.get(address).text
    page = alices.post(address, {"number": "1", "opened": "1"}, follow=True).text
    assert "alice has changed this since you opened it. Nothing was restored." in page
    page = alices.post(address, {"number": "1", "opened": "2"}, follow=True).text
    assert "Version 1 was restored as version 3." in page
    assert content(preset)["name"] == "Translator"
    for number in ("99", "x", "9" * 5000, ""):
        page = alices.post(address, {"number": number, "opened": "3"}, follow=True).text
        assert "no longer exists" in page


@pytest.mark.parametrize("part", ["", "versions/", "sharing/", "export/", "versions/1/"])
def test_a_preset_of_nobody_is_missing(alices: Client, part: str) -> None:
    assert alices.get(f"/presets/{uuid4()}/{part}").status_code == 404
