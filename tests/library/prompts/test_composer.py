"""Requests of the message box: the index of prompts, and the text of one."""

import json
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatapp.library.prompts.automatic import automatic_values
from chatapp.models import PromptGrant, RememberedValues, SavedPrompt, User
from chatapp.models.library.sharing import Level
from tests.support.page import parse
from tests.support.profile import choose_size

pytestmark = pytest.mark.django_db


def save_prompt(owner: User, text: str, title: str = "T", command: str = "") -> SavedPrompt:
    return SavedPrompt.start(owner, title=title, command=command, text=text)


def use(client: Client, prompt: SavedPrompt) -> Any:
    return client.get(f"/prompts/{prompt.pk}/use/")


def test_the_index_has_ones_own_first_and_names_the_owner_of_others(
    alices: Client, alice: User, bob: User
) -> None:
    mine = save_prompt(alice, "x" * 500, "Zebra", "same")
    theirs = save_prompt(bob, "Bob's", "Ape", "same")
    save_prompt(bob, "Private")
    theirs.share(None, Level.USE, bob)
    answer = alices.get("/prompts/index/")
    assert answer.json() == [
        [str(mine.pk), "Zebra", "same", "", "x" * 200],
        [str(theirs.pk), "Ape", "same", "bob", "Bob's"],
    ]
    tag = answer["ETag"]
    assert alices.get("/prompts/index/", headers={"If-None-Match": tag}).status_code == 304
    theirs.change(bob, 1, title="Bear")
    assert alices.get("/prompts/index/", headers={"If-None-Match": tag}).status_code == 200


def test_a_group_that_was_left_takes_its_prompts_along(
    alices: Client, alice: User, bob: User
) -> None:
    team = Group.objects.create(name="team")
    team.user_set.add(alice, bob)
    theirs = save_prompt(bob, "Bob's")
    theirs.share(team, Level.EDIT, bob)
    assert len(alices.get("/prompts/index/").json()) == 1
    alice.groups.remove(team)
    assert alices.get("/prompts/index/").json() == []
    assert use(alices, theirs).status_code == 404
    assert alices.post(f"/prompts/{theirs.pk}/fill/").status_code == 404


def test_a_prompt_without_blanks_is_its_text(alices: Client, alice: User) -> None:
    assert use(alices, save_prompt(alice, "Just <b>this</b>")).json() == {
        "text": "Just <b>this</b>"
    }


def test_dates_and_names_are_filled_in_by_themselves(alices: Client, alice: User) -> None:
    prompt = save_prompt(alice, "{{USER_NAME}}, {{CURRENT_WEEKDAY}}")
    text = use(alices, prompt).json()["text"]
    assert text.startswith("alice, ")
    assert text.endswith("day")
    now = datetime(2026, 1, 31, 9, 5, tzinfo=UTC)
    values = automatic_values(alice, now)
    assert values["CURRENT_DATETIME"] == "2026-01-31 09:05"


def test_blanks_are_asked_with_their_defaults_and_then_with_remembered_values(
    alices: Client, alice: User
) -> None:
    prompt = save_prompt(alice, "{{topic=tea}} {{tone|dry, warm}} {{day|date}} {{notes|lines}}")
    fields = parse(use(alices, prompt).text)
    topic = fields.find_all('input[name="blank-0"]')[0]
    assert topic.attributes["value"] == "tea"
    assert fields.find_all('input[name="blank-2"]')[0].attributes["type"] == "date"
    assert fields.find_all('textarea[name="blank-3"]')
    values = {"blank-0": "rum", "blank-1": "warm", "blank-2": "2026-01-31", "blank-3": "a\r\nb"}
    answer = alices.post(f"/prompts/{prompt.pk}/fill/", values)
    assert answer.json() == {"text": "rum warm 2026-01-31 a\nb"}
    again = parse(use(alices, prompt).text)
    assert again.find_all('input[name="blank-0"]')[0].attributes["value"] == "rum"
    [chosen] = again.find_all("option[selected]")
    assert chosen.attributes["value"] == "warm"


def test_a_remembered_choice_that_is_no_longer_offered_is_ignored(
    alices: Client, alice: User
) -> None:
    prompt = save_prompt(alice, "{{tone|dry, warm}}")
    RememberedValues.remember(alice, prompt, {"tone": "gone"})
    [chosen] = parse(use(alices, prompt).text).find_all("option[selected]")
    assert chosen.attributes["value"] == "dry"


@pytest.mark.parametrize(
    ("text", "value", "problem"),
    [
        ("{{a | text:required}}", "", "This field is required."),
        ("{{a|dry, warm}}", "hot", "Select a valid choice"),
        ("{{a}}", "x" * 20_001, "at most 20000 characters"),
    ],
)
def test_a_value_that_does_not_fit_is_told(
    alices: Client, alice: User, text: str, value: str, problem: str
) -> None:
    prompt = save_prompt(alice, text)
    answer = alices.post(f"/prompts/{prompt.pk}/fill/", {"blank-0": value})
    assert answer.status_code == 422
    assert problem in answer.text
    assert not RememberedValues.objects.exists()


def test_what_is_filled_in_for_a_temporary_chat_is_not_remembered(
    alices: Client, alice: User
) -> None:
    prompt = save_prompt(alice, "{{topic}} {{CLIPBOARD}}")
    values = {"blank-0": "tea", "blank-1": "copied"}
    alices.post(f"/prompts/{prompt.pk}/fill/", values | {"temporary": ""})
    assert not RememberedValues.objects.exists()
    answer = alices.post(f"/prompts/{prompt.pk}/fill/", values)
    assert answer.json() == {"text": "tea copied"}
    assert RememberedValues.get_values(alice, prompt) == {"topic": "tea"}


def test_thousands_of_prompts_are_listed_quickly(alices: Client, alice: User, bob: User) -> None:
    count = choose_size(2000, 10_000)
    many = [{"title": f"Prompt {n}", "command": f"p{n}", "text": "x" * 300} for n in range(count)]
    for start in range(0, len(many), 50):
        SavedPrompt.start_all(bob, many[start : start + 50])
    PromptGrant.objects.bulk_create(
        PromptGrant(target=prompt, level=Level.USE) for prompt in SavedPrompt.objects.all()
    )
    started = perf_counter()
    rows = json.loads(alices.get("/prompts/index/").content)
    assert len(rows) == count
    assert perf_counter() - started < count / 2000
    assert f"200 of {count:,} are shown" in alices.get("/prompts/").text.replace("\u202f", ",")
