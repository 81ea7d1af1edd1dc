"""A policy of pseudonyms hides the owner's name until a reviewer reveals it."""

import json
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.test import AsyncClient, Client

from chatapp.models import AuditEvent, Opening, ReviewPolicy, User
from chatapp.models.accounts.pseudonyms import IN_EXPORTS, IN_REVIEWS, pseudonym
from tests.conftest import signed_in
from tests.staff.review.conftest import Begin, review_of
from tests.support.page import has_word, parse
from tests.support.reviewer import LIST, address, opened

pytestmark = pytest.mark.django_db

ALL = {"show": "all"}
WHY = "They ask for <b>help</b>"


def hide(**fields: bool) -> None:
    ReviewPolicy.objects.create(**{"scope": "all", "hides_names": True} | fields)


def revealed(client: Client, conversation: UUID, reason: str = WHY) -> Any:
    client.post(f"{address(conversation)}reveal/", {"reason": reason})
    return client.get(address(conversation))


def content(page: Any) -> str:
    main = parse(page.text).find("main")
    assert main
    return main.text


def test_no_page_shows_the_owners_name(ritas: Client, alice: User, begin: Begin) -> None:
    hide()
    one = begin()
    hidden = pseudonym(alice, IN_REVIEWS)
    for page in (ritas.get(LIST, ALL), ritas.get(address(one.pk)), opened(ritas, one.pk)):
        assert hidden in content(page)
        assert "alice" not in page.text
    raw = ritas.get(f"{address(one.pk)}messages/{one.messages.get(role='assistant').pk}/")
    assert raw.json()["usage"]["user_id"] == hidden
    assert "alice" not in raw.text


def test_chats_from_before_the_policy_show_their_name(
    ritas: Client, alice: User, begin: Begin
) -> None:
    named = begin()
    hide()
    assert "alice" in content(ritas.get(address(named.pk)))


def test_a_name_finds_only_named_chats_and_a_pseudonym_only_hidden_ones(
    ritas: Client, alice: User, begin: Begin
) -> None:
    named = begin()
    hide()
    hidden = begin()
    alice.groups.add(group := Group.objects.create(name="of one"))

    def found(**asked: str) -> list[bool]:
        text = ritas.get(LIST, asked or ALL).text
        return [str(one.pk) in text for one in (named, hidden)]

    assert found() == [True, True]
    assert found(person="alice") == [True, False]
    assert found(person=pseudonym(alice, IN_REVIEWS)) == [False, True]
    assert found(person=pseudonym(alice, IN_EXPORTS)) == [False, False]
    assert found(person=str(alice.pk)) == [False, False]
    assert found(group=str(group.pk)) == [True, False]


def test_a_name_is_revealed_with_a_reason_while_the_opening_lasts(
    ritas: Client, alices: Client, begin: Begin
) -> None:
    hide()
    one, other = begin(), begin()
    for each in (one, other):
        opened(ritas, each.pk)
    assert "alice" in content(revealed(ritas, one.pk))
    assert "alice" not in content(ritas.get(address(other.pk)))
    assert "alice" not in ritas.get(LIST, ALL).text
    event = AuditEvent.objects.get(action="name.revealed")
    assert (event.target, event.detail.values["reason"]) == (str(one.pk), WHY)
    privacy = content(alices.get("/privacy/"))
    assert "learned your name" in privacy
    assert WHY in privacy
    assert "rita" in privacy
    Opening.objects.update(ends_at=event.at)
    assert "alice" not in content(opened(ritas, one.pk))


@pytest.mark.parametrize(("is_open", "reason"), [(False, WHY), (True, " "), (True, "x" * 501)])
def test_no_name_is_revealed_without_an_opening_or_a_reason(
    ritas: Client, begin: Begin, is_open: bool, reason: str
) -> None:
    hide()
    one = begin()
    if is_open:
        opened(ritas, one.pk)
    assert "alice" not in revealed(ritas, one.pk, reason).text
    assert not AuditEvent.objects.filter(action="name.revealed").exists()


def test_a_name_is_revealed_only_to_the_reviewer_who_asked(ritas: Client, begin: Begin) -> None:
    hide()
    one = begin()
    opened(ritas, one.pk)
    revealed(ritas, one.pk)
    rob = signed_in(User.objects.create_user("rob", is_staff=True, reviews=True))
    assert "alice" not in opened(rob, one.pk).text


def test_the_reviewer_is_not_named_if_the_policy_hides_readers(
    ritas: Client, alices: Client, begin: Begin
) -> None:
    hide(names_reader=False)
    one = begin()
    opened(ritas, one.pk)
    revealed(ritas, one.pk)
    privacy = content(alices.get("/privacy/"))
    assert WHY in privacy
    assert "rita" not in privacy


def test_reviewers_see_their_own_name_but_not_who_read_their_chat(
    ritas: Client, begin: Begin
) -> None:
    hide(names_reader=False)
    rita = User.objects.get(username="rita")
    rob = User.objects.create_user("rob", is_staff=True, reviews=True)
    one = begin(rita)
    opened(signed_in(rob), one.pk)
    review = review_of(one)
    review.claim(rob)
    review.decide("fine", rob)
    review.note("Look here.", rob)
    pages = ritas.get(LIST, ALL).text, opened(ritas, one.pk).text
    late = ritas.post(f"{address(one.pk)}claim/", {"version": review.version}, follow=True).text
    for page in (*pages, late):
        assert not has_word(page, "rob")
        assert "A reviewer" in page
    assert "Chat by rita" in content(ritas.get(address(one.pk)))


@pytest.mark.parametrize("asked", [{}, {"pseudonyms": "on"}])
async def test_an_export_never_links_a_name_to_a_review_pseudonym(
    ritas: Client, alice: User, begin: Begin, asked: dict[str, str]
) -> None:
    named = await sync_to_async(begin)()
    await sync_to_async(hide)()
    await sync_to_async(begin)()
    client = AsyncClient(headers={"host": "localhost"})
    client.cookies = ritas.cookies
    answer = await client.get("/review/export/", {"format": "jsonl"} | asked)
    text = b"".join([part async for part in answer.streaming_content])  # type: ignore[attr-defined]
    people = {line["id"]: line["person"] for line in map(json.loads, text.splitlines())}
    name = people.pop(str(named.pk))
    assert name == (pseudonym(alice, IN_EXPORTS) if asked else "alice")
    assert list(people.values()) == [pseudonym(alice, IN_REVIEWS)]
