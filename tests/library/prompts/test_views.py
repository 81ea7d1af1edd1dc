"""The pages of prompts: Alice owns one, and Bob uses what she shares with him."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatapp.models import Installation, RememberedValues, SavedPrompt, User
from chatapp.models.library import prompts as limits
from chatapp.models.library.sharing import Level
from tests.support.page import parse

pytestmark = pytest.mark.django_db

NEW = {"title": "Stand-up", "command": "/StandUp", "text": "Summarise\r\n{{topic}}"}


@pytest.fixture
def prompt(alice: User) -> SavedPrompt:
    return SavedPrompt.start(alice, title="Stand-up", command="standup", text="Summarise")


def path(prompt: SavedPrompt, part: str = "") -> str:
    return f"/prompts/{prompt.pk}/{part}"


def test_an_empty_list_says_what_to_do(alices: Client) -> None:
    page = alices.get("/prompts/").text
    assert "You have no prompts yet." in page
    assert 'href="/prompts/new/"' in page
    assert "library-search" not in page


def test_a_prompt_is_saved_changed_and_listed(alices: Client, alice: User) -> None:
    answer = alices.post("/prompts/new/", NEW)
    prompt = SavedPrompt.objects.get()
    assert answer["location"] == path(prompt)
    assert prompt.content == {
        "title": "Stand-up", "command": "standup", "text": "Summarise\n{{topic}}"
    }  # fmt: skip
    alices.post(path(prompt), NEW | {"title": "Other", "opened": "1"})
    prompt.refresh_from_db()
    assert (prompt.title, prompt.version) == ("Other", 2)
    page = alices.get("/prompts/").text
    assert "Other" in page
    assert "/standup" in page


def test_the_list_is_searched_by_title_and_command(
    alices: Client, alice: User, prompt: SavedPrompt
) -> None:
    SavedPrompt.start(alice, title="Weekly report", text="Text")
    for query, found in (("stand", True), ("/standup", True), ("weekly", False)):
        assert ("Stand-up" in alices.get("/prompts/", {"q": query}).text) == found
    assert "No prompt has “<span" in alices.get("/prompts/", {"q": "zebra"}).text
    assert "at most 100 characters" in alices.get("/prompts/", {"q": "x" * 2000}).text


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("title", "", "Type a title first."),
        ("title", "\u200b", "Type a title first."),
        ("title", "x" * 81, "A title has at most 80 characters."),
        ("title", "x" * 2**20, "A title has at most 80 characters."),
        ("text", " \n", "Type the text of the prompt first."),
        ("text", "x" * 20_001, "A prompt has at most 20,000 characters."),
        ("text", "".join(f"{{{{b{n}}}}}" for n in range(51)), "A prompt has at most 50 blanks."),
        ("command", "x" * 2**20, "A command has at most 40 characters."),
        ("command", "a b", "A command has letters, digits, hyphens and underscores"),
        ("command", "weekly", "“Weekly” has this command already"),
    ],
)
def test_what_cannot_be_saved_is_told_and_kept(
    alices: Client, alice: User, field: str, value: str, problem: str
) -> None:
    SavedPrompt.start(alice, title="Weekly", command="weekly", text="Text")
    page = alices.post("/prompts/new/", NEW | {field: value}).text
    assert problem in page
    assert SavedPrompt.objects.count() == 1
    if field != "text":
        assert ">\nSummarise" in page


def test_a_person_has_a_bounded_number_of_prompts(
    alices: Client, prompt: SavedPrompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.library.prompts.kind.Prompts.max_owned", 1)
    page = alices.post("/prompts/new/", NEW | {"command": ""}).text
    assert "You can have 1 prompts at most" in page
    assert limits.MAX_PROMPTS == 1000


def test_a_concurrent_change_is_told_and_what_was_typed_is_kept(
    alices: Client, bobs: Client, alice: User, prompt: SavedPrompt
) -> None:
    prompt.share(None, Level.EDIT, alice)
    bobs.post(path(prompt), NEW | {"text": "Bob's", "opened": "1"})
    page = alices.post(path(prompt), NEW | {"text": "Alice's", "opened": "1"})
    assert "bob has changed this since you opened it" in page.text
    assert ">\nAlice&#x27;s</textarea>" in page.text or ">\nAlice&#39;s</textarea>" in page.text
    [opened] = parse(page.text).find_all('input[name="opened"]')
    assert opened.attributes["value"] == "2"
    alices.post(path(prompt), NEW | {"text": "Alice's", "opened": "2"})
    prompt.refresh_from_db()
    assert (prompt.text, prompt.version) == ("Alice's", 3)


def test_who_changes_a_shared_prompt_learns_nothing_of_the_owners_others(
    bobs: Client, alice: User, prompt: SavedPrompt
) -> None:
    SavedPrompt.start(alice, title="Secret plan", command="plan", text="Text")
    prompt.share(None, Level.EDIT, alice)
    answer = bobs.post(path(prompt), NEW | {"command": "plan", "opened": "1"}, follow=True)
    assert "Secret plan" not in answer.text
    prompt.refresh_from_db()
    assert prompt.command == "plan"


def test_deleted_prompts_can_be_restored(alices: Client, prompt: SavedPrompt) -> None:
    page = alices.post(path(prompt, "delete/"), follow=True).text
    assert "Deleted. It is at the end of this page for 30 days" in page
    assert alices.get(path(prompt)).status_code == 404
    assert alices.post(path(prompt, "restore/")).status_code == 302
    assert alices.get(path(prompt)).status_code == 200
    assert alices.post(path(prompt, "restore/")).status_code == 404


@pytest.mark.parametrize("level", [None, *Level])
def test_each_page_is_open_to_those_with_the_right(
    bobs: Client, alice: User, prompt: SavedPrompt, level: Level | None
) -> None:
    if level:
        prompt.share(None, level, alice)
    gets = {
        "": Level.USE, "use/": Level.USE, "versions/": Level.READ, "sharing/": None,
    }  # fmt: skip
    for part, needed in gets.items():
        may = bool(needed and level and level >= needed)
        assert bobs.get(path(prompt, part)).status_code == (200 if may else 404), part
    changed = bobs.post(path(prompt), NEW | {"opened": "1"})
    restored = bobs.post(path(prompt, "versions/"), {"number": "1", "opened": "1"})
    assert changed.status_code == restored.status_code == (302 if level == Level.EDIT else 404)
    for part in ("delete/", "restore/", "sharing/"):
        assert bobs.post(path(prompt, part), {"to": "everyone"}).status_code == 404
    copied = bobs.post(path(prompt, "copy/")).status_code
    filled = bobs.post(path(prompt, "fill/")).status_code
    assert (copied, filled) == ((302, 200) if level else (404, 404))
    prompt.refresh_from_db()
    assert not prompt.deleted_at


def test_a_copy_is_a_prompt_of_ones_own(
    bobs: Client, bob: User, alice: User, prompt: SavedPrompt
) -> None:
    SavedPrompt.start(bob, title="Mine", command="standup", text="Other")
    prompt.share(None, Level.USE, alice)
    bobs.post(path(prompt, "copy/"))
    made = SavedPrompt.objects.owned_by(bob).get(title="Stand-up")
    assert (made.command, made.text) == ("standup-2", "Summarise")


def test_a_copy_of_ones_own_has_another_title_and_command(
    alices: Client, alice: User, prompt: SavedPrompt
) -> None:
    alices.post(path(prompt, "copy/"))
    made = SavedPrompt.objects.owned_by(alice).exclude(pk=prompt.pk).get()
    assert (made.title, made.command) == ("Stand-up (copy)", "standup-2")


def test_a_prompt_too_many_is_not_restored(
    alices: Client, prompt: SavedPrompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt.discard()
    monkeypatch.setattr("chatapp.library.prompts.kind.Prompts.max_owned", 0)
    page = alices.post(path(prompt, "restore/"), follow=True).text
    assert "You can have 0 prompts at most" in page
    assert alices.get(path(prompt)).status_code == 404


def test_versions_show_who_saved_them_and_can_be_restored(
    alices: Client, alice: User, bob: User, prompt: SavedPrompt
) -> None:
    prompt.share(None, Level.EDIT, alice)
    SavedPrompt.objects.get(pk=prompt.pk).change(bob, 1, text="Bob's")
    page = alices.get(path(prompt, "versions/")).text
    assert page.index("Version 2") < page.index("bob") < page.index("Version 1")
    answer = alices.post(path(prompt, "versions/"), {"number": "1", "opened": "2"}, follow=True)
    assert "Version 1 was restored as version 3." in answer.text
    late = alices.post(path(prompt, "versions/"), {"number": "1", "opened": "2"}, follow=True)
    assert "alice has changed this since you opened it. Nothing was restored." in late.text
    for number in ("", "x", "9" * 5000, "-1", "0"):
        answer = alices.post(path(prompt, "versions/"), {"number": number, "opened": "3"})
        assert answer.status_code == 302
    prompt.refresh_from_db()
    assert (prompt.version, prompt.text) == (3, "Summarise")


def test_the_owner_shares_and_stops_sharing(
    alices: Client, bobs: Client, alice: User, bob: User, prompt: SavedPrompt
) -> None:
    team = Group.objects.create(name="team")
    team.user_set.add(alice, bob)
    strangers = Group.objects.create(name="strangers")
    alices.post(path(prompt, "sharing/"), {"to": team.pk, "level": "2"})
    assert "By <span" in bobs.get("/prompts/").text
    page = alices.get(path(prompt, "sharing/")).text
    assert "Can use and read it" in page
    assert "strangers" not in page
    for wrong in ({"to": strangers.pk, "level": "1"}, {"to": "x", "level": "9"}, {}):
        assert alices.post(path(prompt, "sharing/"), wrong).status_code == 200
    assert prompt.grants.count() == 1
    bobs.post(path(prompt, "sharing/"), {"remove": prompt.grants.get().pk})
    assert prompt.grants.count() == 1
    alices.post(path(prompt, "sharing/"), {"remove": "9" * 400})
    alices.post(path(prompt, "sharing/"), {"remove": prompt.grants.get().pk})
    assert prompt.grants.count() == 0


def test_who_may_not_share_is_told_so(alices: Client, prompt: SavedPrompt) -> None:
    Installation(pk=1, who_shares="administrators").save()
    page = alices.get(path(prompt, "sharing/")).text
    assert "An administrator has decided who may share." in page
    page = alices.post(path(prompt, "sharing/"), {"to": "everyone", "level": "1"}).text
    assert prompt.grants.count() == 0


def test_ids_of_nothing_and_of_other_things_are_missing_pages(
    alices: Client, prompt: SavedPrompt
) -> None:
    for part in ("", "use/", "versions/", "sharing/"):
        assert alices.get(f"/prompts/{uuid4()}/{part}").status_code == 404


def test_remembered_values_are_ones_own_and_can_be_cleared(
    alices: Client, bobs: Client, alice: User, bob: User
) -> None:
    prompt = SavedPrompt.start(alice, title="T", text="{{topic}}")
    prompt.share(None, Level.USE, alice)
    for client, value in ((alices, "tea"), (bobs, "rum")):
        client.post(path(prompt, "fill/"), {"blank-0": value})
    assert RememberedValues.of(bob, prompt) == {"topic": "rum"}
    assert "Clear remembered values" in alices.get("/prompts/").text
    alices.post("/prompts/forget/")
    assert RememberedValues.of(alice, prompt) == {}
    assert RememberedValues.of(bob, prompt) == {"topic": "rum"}
    assert "Clear remembered values" not in alices.get("/prompts/").text
