"""The pages of presets: Alice owns one, and Bob may do what she lets him."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from chatapp.models import (
    AccessRule,
    ChatSettings,
    Conversation,
    ModelChoice,
    Preset,
    PresetGrant,
    ToolServer,
    Upstream,
    User,
)
from chatapp.models.library.sharing import Level
from tests.support.page import collect_fields, parse

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


def read_form(page: str) -> dict[str, list[str]]:
    """Return what the form on the page posts as it stands."""
    return collect_fields(parse(page).find("form", class_="preset-form"))


def test_an_empty_list_says_what_a_preset_is_and_what_to_do(alices: Client) -> None:
    page = alices.get("/presets/").text
    assert "You have no presets yet." in page
    assert 'href="/presets/new/"' in page
    assert "library-search" not in page
    assert ">Export<" not in page


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
    assert read_form(alices.get(path(preset)).text)["model"] == [model]
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
    alices.post(path(preset), read_form(alices.get(path(preset)).text))
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
    AccessRule.objects.restrict_to([team], upstream=upstream, model="one")
    model = {"model": f"{upstream.pk}/one"}
    page = alices.post("/presets/new/", NEW | model).text
    assert "have access to this model" in page
    preset.change(alice, 1, upstream_id=upstream.pk, model="one")
    preset.share(None, Level.EDIT, alice)
    assert "The one" in bobs.get(path(preset)).text
    bobs.post(path(preset), NEW | model | {"opened": "2"})
    preset.refresh_from_db()
    assert (preset.version, preset.preselected_model) == (3, ModelChoice(upstream.pk, "one"))


def test_a_lost_model_is_named_and_tools_that_are_not_open_stay(
    alices: Client, alice: User, upstream: Upstream
) -> None:
    wiki = ToolServer.objects.create(name="wiki", url="http://127.0.0.1:9/mcp")
    secret = ToolServer.objects.create(name="secret", url="http://127.0.0.1:9/mcp")
    AccessRule.objects.restrict_to([], tool_server=secret)
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


@pytest.mark.parametrize("level", [None, *Level])
def test_others_see_what_their_level_lets_them(
    bobs: Client, alice: User, preset: Preset, level: Level | None
) -> None:
    if level:
        preset.share(None, level, alice)
    may_read = bool(level and level >= Level.READ)
    page = bobs.get(path(preset)).text
    assert ("Translate into English." in page, "top_k" in page) == (may_read, may_read)
    for part in ("versions/1/", "export/"):
        assert bobs.get(path(preset, part)).status_code == (200 if may_read else 404)


def test_a_change_meanwhile_is_told_and_what_was_typed_is_kept(
    alices: Client, bob: User, alice: User, preset: Preset
) -> None:
    preset.share(None, Level.EDIT, alice)
    Preset.objects.get(pk=preset.pk).change(bob, 1, system_prompt="Bob's")
    typed = NEW | {"opened": "1", "system_prompt": "Alice's", "offers_all": "no", "tools": "clock"}
    page = alices.post(path(preset), typed).text
    assert "bob has changed this since you opened it." in page
    fields = read_form(page)
    assert (fields["system_prompt"], fields["tools"]) == (["Alice's"], ["clock"])
    assert fields["opened"] == ["2"]
    alices.post(path(preset), typed | {"opened": "2"})
    assert content(preset)["system_prompt"] == "Alice's"


def test_many_shared_presets_are_capped_and_searched(
    bobs: Client, alice: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    many = [Preset(owner=alice, name=f"Preset {n:05}") for n in range(1000)]
    Preset.objects.bulk_create(many)
    PresetGrant.objects.bulk_create(PresetGrant(target=preset, level=Level.USE) for preset in many)
    bobs.get("/presets/")  # the first page of a session also notes the device
    with django_assert_max_num_queries(6):
        page = bobs.get("/presets/").text
    assert "100 of 1,000 are shown." in page
    assert page.count("Start a chat<") == 100
    assert "Preset 00753" in bobs.get("/presets/", {"q": "00753"}).text
    assert "No preset has" in bobs.get("/presets/", {"q": "zebra"}).text
    assert "at most 100 characters" in bobs.get("/presets/", {"q": "x" * 2**11}).text


def test_a_version_says_what_it_changed_and_hostile_text_stays_text(
    alices: Client, alice: User, preset: Preset
) -> None:
    text = "Translate into <b>French</b>."
    preset.change(alice, 1, system_prompt=text, parameters={}, icon="code", takes_memory=False)
    page = alices.get(path(preset, "versions/2/")).text
    changed = parse(page).find("section", aria_labelledby="changes")
    assert [element.text for element in changed.find_all("dt")] == [
        *("Icon", "System prompt", "Parameters", "What models know about you"),
    ]
    assert "English" in [element.text for element in changed.find_all("del")]
    assert "&lt;b&gt;French" in page.replace("</ins>", "").replace("<ins>", "")
    assert "<b>" not in page
    assert alices.get(path(preset, "versions/3/")).status_code == 404
    assert alices.get(path(preset, f"versions/{10**30}/")).status_code == 404


@pytest.mark.parametrize("part", ["versions/1/", "export/"])
def test_a_preset_of_nobody_is_missing(alices: Client, part: str) -> None:
    assert alices.get(f"/presets/{uuid4()}/{part}").status_code == 404


def test_a_new_preset_begins_with_the_settings_of_ones_own_chat(
    alices: Client, bobs: Client, alice: User
) -> None:
    chat = Conversation.objects.create(user=alice, title="Skies")
    settings = ChatSettings.for_conversation(chat)
    settings.set_own("Rhyme.", {"temperature": 0.3})
    settings.store()
    address = f"/presets/new/?chat={chat.pk}"
    page = alices.get(address).text
    assert all(text in page for text in ('value="Skies"', "Rhyme.", 'value="0.3"'))
    assert f'href="{address}"' in alices.get(f"/c/{chat.pk}/settings/").text
    for foreign in (bobs.get(address), alices.get("/presets/new/?chat=1")):
        assert "Rhyme." not in foreign.text
        assert foreign.status_code == 200
