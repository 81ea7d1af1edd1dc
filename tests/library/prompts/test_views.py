"""The pages of prompts: Alice owns one, and Bob uses what she shares with him."""

import pytest
from django.test import Client

from chatapp.models import RememberedValues, SavedPrompt, User
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
    for query, is_listed in (("stand", True), ("/standup", True), ("weekly", False)):
        assert ("Stand-up" in alices.get("/prompts/", {"q": query}).text) == is_listed
    assert "No prompt has “<span" in alices.get("/prompts/", {"q": "zebra"}).text
    assert "at most 100 characters" in alices.get("/prompts/", {"q": "x" * 2000}).text


@pytest.mark.parametrize("is_new", [True, False])
def test_what_only_looks_like_a_blank_is_saved_and_told(
    alices: Client, prompt: SavedPrompt, is_new: bool
) -> None:
    address = "/prompts/new/" if is_new else path(prompt)
    text = "{{tone:friendly|formal}} {{topic}} {{#if}} " + r"\{{#if}}"
    entered = {"title": "Tone", "text": text, "opened": "1"}
    page = parse(alices.post(address, entered, follow=True).text).text
    assert "Saved." in page
    assert "“{{tone:friendly|formal}}” isn't a blank" in page
    assert page.count("isn't a blank") == 2
    assert SavedPrompt.objects.get(title="Tone").text == text


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


def test_who_changes_a_shared_prompt_learns_nothing_of_the_owners_others(
    bobs: Client, alice: User, prompt: SavedPrompt
) -> None:
    SavedPrompt.start(alice, title="Secret plan", command="plan", text="Text")
    prompt.share(None, Level.EDIT, alice)
    answer = bobs.post(path(prompt), NEW | {"command": "plan", "opened": "1"}, follow=True)
    assert "Secret plan" not in answer.text
    prompt.refresh_from_db()
    assert prompt.command == "plan"


@pytest.mark.parametrize("level", [None, *Level])
def test_those_with_any_right_can_use_a_prompt(
    bobs: Client, alice: User, prompt: SavedPrompt, level: Level | None
) -> None:
    if level:
        prompt.share(None, level, alice)
    used, filled = bobs.get(path(prompt, "use/")), bobs.post(path(prompt, "fill/"))
    expected = 200 if level else 404
    assert (used.status_code, filled.status_code) == (expected, expected)


def test_a_copy_is_a_prompt_of_ones_own(
    bobs: Client, bob: User, alice: User, prompt: SavedPrompt
) -> None:
    SavedPrompt.start(bob, title="Mine", command="standup", text="Other")
    prompt.share(None, Level.USE, alice)
    bobs.post(path(prompt, "copy/"))
    made = SavedPrompt.objects.owned_by(bob).get(title="Stand-up")
    assert (made.command, made.text) == ("standup-2", "Summarise")


def test_remembered_values_are_ones_own_and_can_be_cleared(
    alices: Client, bobs: Client, alice: User, bob: User
) -> None:
    prompt = SavedPrompt.start(alice, title="T", text="{{topic}}")
    prompt.share(None, Level.USE, alice)
    for client, value in ((alices, "tea"), (bobs, "rum")):
        client.post(path(prompt, "fill/"), {"blank-0": value})
    assert RememberedValues.get_values(bob, prompt) == {"topic": "rum"}
    assert "Clear remembered values" in alices.get("/prompts/").text
    alices.post("/prompts/forget/")
    assert RememberedValues.get_values(alice, prompt) == {}
    assert RememberedValues.get_values(bob, prompt) == {"topic": "rum"}
    assert "Clear remembered values" not in alices.get("/prompts/").text
