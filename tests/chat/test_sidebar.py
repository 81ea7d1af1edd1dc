"""The sidebar: a person's conversations, the last used first, whatever the clock says."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from chatapp.chat import sidebar
from chatapp.models import Upstream, User
from chatapp.models.conversations.chats.lists import PAGE
from tests.support.clock import HOUR, Step
from tests.support.stored import new_conversation, store_turn


@pytest.fixture
def pages_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidebar, "PAGE", 2)


def titles(browser: Client, query: dict[str, str]) -> list[str]:
    listed = browser.get("/conversations/", query).content.decode()
    return list(dict.fromkeys(re.findall(r"Chat \d+", listed)))


def test_pages_above_below_and_from_a_row(alice: User, alices: Client) -> None:
    now = timezone.now()
    made = [
        alice.conversations.create(title=f"Chat {number}", updated_at=now - timedelta(hours=number))
        for number in range(PAGE + 2)
    ]
    every = [chat.title for chat in made]
    place = {"id": str(made[-3].pk)}
    used = made[-3].updated_at.isoformat()
    assert titles(alices, {}) == every[:-2]
    assert titles(alices, place | {"before": used}) == every[-2:]
    assert titles(alices, place | {"after": used}) == every[:-3]
    assert titles(alices, place | {"at": used}) == every[-3:]


def pages(browser: Client) -> Iterator[list[str]]:
    """Yield the titles of each page of the sidebar, requested as the page's script does."""
    query: dict[str, str] = {}
    while True:
        listed = browser.get("/conversations/", query).content.decode()
        yield re.findall(r"Chat \d+", re.sub(r"<button.*?</button>", "", listed))
        more = re.search(r'"before": "([^"]+)", "id": "([^"]+)"', listed)
        if not more:
            return
        query = {"before": more[1], "id": more[2]}


def test_conversations_with_equal_timestamps_are_each_listed_once(
    alice: User, alices: Client, pages_of_two: None
) -> None:
    moment = timezone.now()
    for number in range(7):
        alice.conversations.create(title=f"Chat {number}", updated_at=moment)
    listed = [title for page in pages(alices) for title in dict.fromkeys(page)]
    assert sorted(listed) == [f"Chat {number}" for number in range(7)]


def test_the_conversation_just_used_is_first_even_if_the_clock_stepped_back(
    alice: User, alices: Client, saved_upstream: Upstream, clock: Step
) -> None:
    first, second = new_conversation(alice, "Chat 1"), new_conversation(alice, "Chat 2")
    _, reply = store_turn(first, saved_upstream, "One?")
    store_turn(second, saved_upstream, "Two?")
    clock(-HOUR)
    store_turn(first, saved_upstream, "Three?", reply)
    assert list(dict.fromkeys(next(pages(alices)))) == ["Chat 1", "Chat 2"]
    store_turn(new_conversation(alice, "Chat 3"), saved_upstream, "Four?")
    assert list(dict.fromkeys(next(pages(alices)))) == ["Chat 3", "Chat 1", "Chat 2"]


@pytest.mark.parametrize("query", ["before=soon", "before=2026-01-01", "before=2026-01-01&id=x"])
def test_invalid_parameters_still_return_a_list(alices: Client, query: str) -> None:
    assert alices.get(f"/conversations/?{query}").status_code == 200
