"""Suggestions of people, models and chats: who gets which, and how many."""

from typing import Any

import pytest
from django.test import Client

from chatapp.models import Upstream, User
from tests.conftest import PASSWORD, signed_in
from tests.support.page import parse

pytestmark = pytest.mark.django_db

MARKUP = '<img src=x onerror="alert(1)">'
PAGES = ("/pick/people/", "/pick/models/", "/pick/chats/{}/")


def pick_values(client: Client, path: str, **query: Any) -> list[str]:
    answer = client.get(path, query)
    assert answer.status_code == 200
    return [str(entry.attributes["data-value"]) for entry in parse(answer.text).find_all("li")]


def test_people_are_found_by_parts_of_their_names_and_addresses(
    olives: Client, alice: User, bob: User
) -> None:
    User.objects.filter(pk=alice.pk).update(first_name="Álvara", last_name="Lovelace")
    User.objects.filter(pk=bob.pk).update(email="bob@example.org", is_active=False)
    for typed, expected in {
        "": ["alice", "bob", "olive"],
        "lic": ["alice"],
        "LOVE ali": ["alice"],
        "example.org": ["bob"],
        "lice bob": [],
        "%": [],
        "_": [],
        "\0": ["alice", "bob", "olive"],
        "l" * 10_000: [],
    }.items():
        assert pick_values(olives, "/pick/people/", q=typed) == expected, typed
    page = olives.get("/pick/people/", {"q": "bob"}).text
    assert "bob@example.org, deactivated" in page


def test_names_that_begin_with_the_words_come_first(olives: Client, alice: User) -> None:
    for name in ("malice", "alice2", "zoe"):
        User.objects.create_user(name)
    User.objects.filter(username="zoe").update(last_name="Alicesson")
    suggestions = pick_values(olives, "/pick/people/", q="alice")
    assert suggestions == ["alice", "alice2", "zoe", "malice"]


def test_of_ten_thousand_people_a_few_are_suggested_by_one_query(
    olives: Client, django_assert_max_num_queries: Any
) -> None:
    User.objects.bulk_create(
        User(username=f"person{number}", email=f"p{number}@example.org") for number in range(10_000)
    )
    olives.get("/pick/people/")
    with django_assert_max_num_queries(4) as queries:  # three are for the session and the person
        assert len(pick_values(olives, "/pick/people/", q="person99")) == 8
    assert "LIMIT 8" in queries[-1]["sql"]
    assert pick_values(olives, "/pick/people/", q="p9999@example") == ["person9999"]


def test_models_are_suggested_with_their_provider(olives: Client) -> None:
    first, other = (
        Upstream.objects.create(
            name=name, base_url="http://127.0.0.1:9/v1", api_key="sk-secret", offered_models=models
        )
        for name, models in (("First", "large = The <large> one\nsmall"), ("Second", "tiny\nlarge"))
    )
    assert pick_values(olives, "/pick/models/", q="large") == ["large", "large"]
    assert pick_values(olives, "/pick/models/", q="second") == ["tiny", "large"]
    assert pick_values(olives, "/pick/models/", q="", provider=other.pk) == ["tiny", "large"]
    assert pick_values(olives, "/pick/models/", q="small", provider=other.pk) == []
    assert pick_values(olives, "/pick/models/", q="", provider="9" * 40) != []
    page = olives.get(f"/pick/models/?q=large&provider={first.pk}").text
    assert f'data-provider="{first.pk}"' in page
    assert "The &lt;large&gt; one" in page
    assert "sk-secret" not in page


def test_a_persons_chats_are_suggested_by_date_without_their_words(
    olives: Client, alice: User, bob: User
) -> None:
    chat = alice.conversations.create(title="secretcanary")
    other = bob.conversations.create(title="Bob's")
    path = f"/pick/chats/{alice.pk}/"
    assert pick_values(olives, path) == [str(chat.pk)]
    assert pick_values(olives, path, q=str(chat.pk)[:8]) == [str(chat.pk)]
    assert pick_values(olives, path, q=f"{chat.created_at:%b %Y}") == [str(chat.pk)]
    assert (
        pick_values(olives, path, q=str(other.pk))
        == pick_values(olives, path, q="secretcanary")
        == []
    )
    assert "secretcanary" not in olives.get(path).text
    assert olives.get("/pick/chats/999999/").status_code == 404


def test_markup_in_a_name_is_shown_as_text(olives: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(username=MARKUP, first_name=MARKUP, email="a@x.test")
    page = olives.get("/pick/people/", {"q": "img"}).text
    assert "<img" not in page
    assert "&lt;img" in page


@pytest.mark.parametrize("page", PAGES)
def test_only_administrators_get_suggestions(alice: User, olive: User, page: str) -> None:
    path = page.format(alice.pk)
    rita = User.objects.create_user("rita", password=PASSWORD, is_staff=True, reviews=True)
    for person in (alice, rita):
        answer = signed_in(person, confirmed=True).get(path)
        assert answer.status_code == 403
        assert "olive" not in answer.text
    assert Client(headers={"host": "localhost"}).get(path).status_code == 302


def test_a_name_that_nobody_has_is_answered_with_those_meant(olives: Client, alice: User) -> None:
    fields = {"amount": "1", "measure": "tokens", "period": "day", "whose": "person"}
    page = olives.post("/limits/new/", fields | {"person": "lic"}).text
    assert "Nobody has this username or email address. Did you mean alice?" in page
