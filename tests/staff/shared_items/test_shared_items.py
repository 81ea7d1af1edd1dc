"""Administrators see what is shared, and stop it."""

from uuid import uuid4

import pytest
from django.test import Client

from chatapp.models import AuditEvent, SavedPrompt, User
from chatapp.models.library.sharing import Level

pytestmark = pytest.mark.django_db
PAGE, STOP = "/settings/shared/", "/settings/shared/stop/"


@pytest.fixture
def prompt(alice: User) -> SavedPrompt:
    prompt = SavedPrompt.start(alice, title="Stand-up", text="The secret text")
    prompt.share(None, Level.EDIT, alice)
    SavedPrompt.start(alice, title="Personal", text="Mine")
    return prompt


def test_shared_prompts_are_listed_by_name_without_their_text(
    olives: Client, prompt: SavedPrompt
) -> None:
    page = olives.get(PAGE).text
    assert "Stand-up" in page
    assert "Everyone" in page
    assert "can use, read and change it" in page
    assert "secret text" not in page
    assert "Personal" not in page
    for query, is_listed in (("stand", True), ("ALICE", True), ("zebra", False)):
        page = olives.get(PAGE, {"q": query}).text
        assert ("Stand-up" in page) == is_listed
        assert page.count("Nothing matches.") == (3 if is_listed else 4)  # by kind


def test_stopping_is_recorded_and_keeps_the_prompt(olives: Client, prompt: SavedPrompt) -> None:
    grant = prompt.grants.get()
    fields = {"kind": "savedprompt", "item": prompt.pk, "grant": grant.pk}
    answer = olives.post(STOP, fields, follow=True)
    assert "Everyone: “Stand-up” is no longer shared." in answer.text
    assert not prompt.grants.exists()
    event = AuditEvent.objects.latest("sequence")
    assert (event.action, event.target) == ("item.unshared", str(prompt.pk))
    assert "This is not shared any more." in olives.post(STOP, fields, follow=True).text


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"kind": "user"},
        {"item": str(uuid4())},
        {"item": "x" * 2**20},
        {"grant": "9" * 400},
        {"grant": "-1"},
    ],
)
def test_other_ids_stop_nothing(olives: Client, prompt: SavedPrompt, wrong: dict[str, str]) -> None:
    fields = {"kind": "savedprompt", "item": prompt.pk, "grant": prompt.grants.get().pk + 1}
    olives.post(STOP, fields | wrong)
    assert prompt.grants.count() == 1
