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
from tests.staff.review.conftest import Begin, get_or_create_review
from tests.support.page import has_word, parse
from tests.support.reviewer import LIST, address, open_for_review

pytestmark = pytest.mark.django_db

ALL = {"show": "all"}
WHY = "They ask for <b>help</b>"


def hide_names(**fields: bool) -> None:
    ReviewPolicy.objects.create(**{"scope": "all", "hides_names": True} | fields)


def reveal_name(client: Client, conversation: UUID, reason: str = WHY) -> Any:
    client.post(f"{address(conversation)}reveal/", {"reason": reason})
    return client.get(address(conversation))


def content(page: Any) -> str:
    main = parse(page.text).find("main")
    assert main
    return main.text


def test_no_page_shows_the_owners_name(ritas: Client, alice: User, begin: Begin) -> None:
    hide_names()
    chat = begin()
    hidden = pseudonym(alice, IN_REVIEWS)
    for page in (
        ritas.get(LIST, ALL),
        ritas.get(address(chat.pk)),
        open_for_review(ritas, chat.pk),
    ):
        assert hidden in content(page)
        assert "alice" not in page.text
    raw = ritas.get(f"{address(chat.pk)}messages/{chat.messages.get(role='assistant').pk}/")
    assert raw.json()["usage"]["user_id"] == hidden
    assert "alice" not in raw.text


def test_chats_from_before_the_policy_show_their_name(
    ritas: Client, alice: User, begin: Begin
) -> None:
    named = begin()
    hide_names()
    assert "alice" in content(ritas.get(address(named.pk)))


def test_a_name_finds_only_named_chats_and_a_pseudonym_only_hidden_ones(
    ritas: Client, alice: User, begin: Begin
) -> None:
    named = begin()
    hide_names()
    hidden = begin()
    alice.groups.add(group := Group.objects.create(name="of one"))

    def which_are_listed(**filters: str) -> list[bool]:
        text = ritas.get(LIST, filters or ALL).text
        return [str(chat.pk) in text for chat in (named, hidden)]

    assert which_are_listed() == [True, True]
    assert which_are_listed(person="alice") == [True, False]
    assert which_are_listed(person=pseudonym(alice, IN_REVIEWS)) == [False, True]
    assert which_are_listed(person=pseudonym(alice, IN_EXPORTS)) == [False, False]
    assert which_are_listed(person=str(alice.pk)) == [False, False]
    assert which_are_listed(group=str(group.pk)) == [True, False]


def test_a_name_is_revealed_with_a_reason_while_the_opening_lasts(
    ritas: Client, alices: Client, begin: Begin
) -> None:
    hide_names()
    chat, other = begin(), begin()
    for each in (chat, other):
        open_for_review(ritas, each.pk)
    assert "alice" in content(reveal_name(ritas, chat.pk))
    assert "alice" not in content(ritas.get(address(other.pk)))
    assert "alice" not in ritas.get(LIST, ALL).text
    event = AuditEvent.objects.get(action="name.revealed")
    assert (event.target, event.detail.values["reason"]) == (str(chat.pk), WHY)
    privacy = content(alices.get("/privacy/"))
    assert "learned your name" in privacy
    assert WHY in privacy
    assert "rita" in privacy
    Opening.objects.update(ends_at=event.at)
    assert "alice" not in content(open_for_review(ritas, chat.pk))


@pytest.mark.parametrize(("is_open", "reason"), [(False, WHY), (True, " "), (True, "x" * 501)])
def test_no_name_is_revealed_without_an_opening_or_a_reason(
    ritas: Client, begin: Begin, is_open: bool, reason: str
) -> None:
    hide_names()
    chat = begin()
    if is_open:
        open_for_review(ritas, chat.pk)
    assert "alice" not in reveal_name(ritas, chat.pk, reason).text
    assert not AuditEvent.objects.filter(action="name.revealed").exists()


def test_a_name_is_revealed_only_to_the_reviewer_who_asked(ritas: Client, begin: Begin) -> None:
    hide_names()
    chat = begin()
    open_for_review(ritas, chat.pk)
    reveal_name(ritas, chat.pk)
    rob = signed_in(User.objects.create_user("rob", is_staff=True, reviews=True))
    assert "alice" not in open_for_review(rob, chat.pk).text


def test_the_reviewer_is_not_named_if_the_policy_hides_readers(
    ritas: Client, alices: Client, begin: Begin
) -> None:
    hide_names(names_reader=False)
    chat = begin()
    open_for_review(ritas, chat.pk)
    reveal_name(ritas, chat.pk)
    privacy = content(alices.get("/privacy/"))
    assert WHY in privacy
    assert "rita" not in privacy


def test_reviewers_see_their_own_name_but_not_who_read_their_chat(
    ritas: Client, begin: Begin
) -> None:
    hide_names(names_reader=False)
    rita = User.objects.get(username="rita")
    rob = User.objects.create_user("rob", is_staff=True, reviews=True)
    chat = begin(rita)
    open_for_review(signed_in(rob), chat.pk)
    review = get_or_create_review(chat)
    review.claim(rob)
    review.decide("fine", rob)
    review.note("Look here.", rob)
    pages = ritas.get(LIST, ALL).text, open_for_review(ritas, chat.pk).text
    late = ritas.post(f"{address(chat.pk)}claim/", {"version": review.version}, follow=True).text
    for page in (*pages, late):
        assert not has_word(page, "rob")
        assert "A reviewer" in page
    assert "Chat by rita" in content(ritas.get(address(chat.pk)))


@pytest.mark.parametrize("filters", [{}, {"pseudonyms": "on"}])
async def test_an_export_never_links_a_name_to_a_review_pseudonym(
    ritas: Client, alice: User, begin: Begin, filters: dict[str, str]
) -> None:
    named = await sync_to_async(begin)()
    await sync_to_async(hide_names)()
    await sync_to_async(begin)()
    client = AsyncClient(headers={"host": "localhost"})
    client.cookies = ritas.cookies
    answer = await client.get("/review/export/", {"format": "jsonl"} | filters)
    text = b"".join([part async for part in answer.streaming_content])  # type: ignore[attr-defined]
    people = {line["id"]: line["person"] for line in map(json.loads, text.splitlines())}
    name = people.pop(str(named.pk))
    assert name == (pseudonym(alice, IN_EXPORTS) if filters else "alice")
    assert list(people.values()) == [pseudonym(alice, IN_REVIEWS)]
