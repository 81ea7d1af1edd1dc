"""Text search in the review: it needs a reason, is recorded first, and shows rows only."""

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from django.utils import timezone

from chatapp.models import (
    AuditEvent,
    Conversation,
    ReviewPolicy,
    ReviewSearch,
    Upstream,
    User,
    reindex,
)
from chatapp.models.search import full_text_everywhere
from chatapp.models.search.full_text_everywhere import find_everywhere
from chatapp.text.indexing import terms
from tests.search.conftest import write_chat
from tests.staff.review.test_exports import parts
from tests.support.page import parse
from tests.support.reviewer import list_keys

pytestmark = pytest.mark.django_db

LIST, SEARCH = "/review/", "/review/search/"
REASON = "A <i>complaint</i>"


def start_search(client: Client, words: str, **fields: Any) -> Any:
    return client.post(SEARCH, {"words": words, "reason": REASON} | fields)


def search_keys(client: Client, words: str, **fields: Any) -> list[str]:
    return list_keys(client.get(start_search(client, words, **fields)["Location"]).text)


def test_a_search_needs_a_reason_and_puts_nothing_in_the_url(
    ritas: Client, alice: User, bob: User, saved_upstream: Upstream
) -> None:
    first = write_chat(alice, saved_upstream, "One", "Of the qcanaryq")
    second = write_chat(bob, saved_upstream, "qcanaryq", "Of nothing")
    write_chat(bob, saved_upstream, "Three", "Of the nightingale")
    answer = start_search(ritas, "QCánaryq")
    assert answer.status_code == 302
    assert "anaryq" not in answer["Location"]
    assert "complaint" not in answer["Location"]
    [event] = AuditEvent.objects.filter(action="conversations.searched").select_related("detail")
    assert (event.detail.values["words"], event.detail.values["reason"]) == ("QCánaryq", REASON)
    assert event.actor == User.objects.get(username="rita").pk
    page = ritas.get(answer["Location"]).text
    assert list_keys(page) == [str(second.pk), str(first.pk)]
    assert "Of the" not in page
    assert "QCánaryq" in page  # what rita typed
    assert search_keys(ritas, "qcanaryq nothing") == []
    assert search_keys(ritas, "qcanaryq the") == [str(first.pk)]


def test_what_reviewers_may_not_read_is_not_found(
    ritas: Client, alice: User, saved_upstream: Upstream
) -> None:
    trashed, temporary, deleted, visible = (
        write_chat(alice, saved_upstream, "One", "Of the canary") for _ in range(4)
    )
    Conversation.objects.filter(pk=trashed.pk).update(trashed_at=timezone.now())
    Conversation.objects.filter(pk=temporary.pk).update(is_temporary=True)
    deleted.messages.update(deleted_at=timezone.now())
    ReviewPolicy.objects.create(scope="flagged")
    write_chat(alice, saved_upstream, "One", "Of the canary")
    assert search_keys(ritas, "canary") == [str(visible.pk)]


def test_a_search_combines_with_the_other_filters(
    ritas: Client, alice: User, bob: User, saved_upstream: Upstream
) -> None:
    first = write_chat(alice, saved_upstream, "One", "Of the canary")
    write_chat(bob, saved_upstream, "Two", "Of the canary")
    assert search_keys(ritas, "canary", person="alice") == [str(first.pk)]
    where = start_search(ritas, "canary")["Location"]
    assert list_keys(ritas.get(f"{where}&person=alice").text) == [str(first.pk)]
    assert list_keys(ritas.get(f"{where}&flagged=any").text) == []
    page = ritas.get(f"{where}&person=alice").text
    search = ReviewSearch.objects.latest("ends_at")
    assert f'name="search" value="{search.pk}"' in page


@pytest.mark.django_db(transaction=True)
def test_an_export_has_the_results_of_the_search(
    ritas: Client, alice: User, saved_upstream: Upstream
) -> None:
    write_chat(alice, saved_upstream, "One", "Of the canary")
    write_chat(alice, saved_upstream, "Two", "Of the nightingale")
    where = start_search(ritas, "canary")["Location"].removeprefix(LIST)
    answer = ritas.get(f"/review/export/{where}&format=jsonl")
    assert len(async_to_sync(parts)(answer)) == 1


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"words": "canary"}, "Enter a reason first."),
        ({"reason": "So"}, "Enter the words to search for."),
        ({"words": "…", "reason": "So"}, "There are no words in this."),
        ({"words": "x" * 201, "reason": "So"}, "at most 200"),
        ({"words": "x", "reason": "x" * 501}, "at most 500"),
        ({"words": "a\0b", "reason": "So"}, "Null characters"),
    ],
)
def test_without_words_and_a_reason_nothing_is_searched(
    ritas: Client, fields: dict[str, str], error: str
) -> None:
    page = ritas.post(SEARCH, fields, follow=True)
    assert error in page.text
    assert not ReviewSearch.objects.exists()
    assert not AuditEvent.objects.filter(action="conversations.searched").exists()


def test_a_search_belongs_to_its_reviewer_and_expires(
    ritas: Client, olives: Client, alices: Client, alice: User, saved_upstream: Upstream
) -> None:
    write_chat(alice, saved_upstream, "One", "Of the canary")
    assert start_search(alices, "canary").status_code == 403
    where = start_search(ritas, "canary")["Location"]
    assert len(list_keys(ritas.get(where).text)) == 1
    for client in (olives, ritas):
        if client is ritas:
            ReviewSearch.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
        page = client.get(where).text
        assert "This search has expired" in page
        assert list_keys(page) == []
    assert "This search has expired" in ritas.get(f"{LIST}?search=odd").text
    start_search(ritas, "canary")
    assert ReviewSearch.objects.count() == 1


def test_results_have_pages(
    ritas: Client, alice: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.staff.review.lists.pages.PAGE", 2)
    several = [str(write_chat(alice, saved_upstream, "A", "Of the canary").pk) for _ in range(3)]
    where = start_search(ritas, "canary")["Location"]
    page = ritas.get(where).text
    assert list_keys(page) == several[:0:-1]
    older = parse(page).find("a", rel="next").attributes["href"]
    assert list_keys(ritas.get(older).text) == several[:1]


def test_a_search_for_a_common_word_finds_the_newest_and_says_so(
    ritas: Client, alice: User, bob: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = [
        write_chat(person, saved_upstream, "A", "Of the canary") for person in (alice, bob) * 2
    ]
    for name, count in {"NEWEST": 3, "MAX_ENTRIES": 3, "COMMON": 2}.items():
        monkeypatch.setattr(full_text_everywhere, name, count)
    everywhere = find_everywhere(terms("canary"))
    assert everywhere.is_cut
    assert set(everywhere.conversations) < {chat.pk for chat in several}
    page = ritas.get(start_search(ritas, "canary")["Location"]).text
    assert "only the newest were searched" in " ".join(page.split())
    monkeypatch.undo()
    assert not find_everywhere(terms("canary")).is_cut
    of_bob = find_everywhere(terms("canary"), bob.pk)
    assert set(of_bob.conversations) == {chat.pk for chat in several if chat.user_id == bob.pk}


@pytest.mark.parametrize("common", [1, 9])
def test_an_earlier_end_day_finds_older_chats(
    common: int,
    ritas: Client,
    alice: User,
    saved_upstream: Upstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = (write_chat(alice, saved_upstream, "A", "Of the canary") for _ in range(2))
    month_ago = timezone.now() - timedelta(days=30)
    Conversation.objects.filter(pk=old.pk).update(created_at=month_ago, updated_at=month_ago)
    old.messages.update(created_at=month_ago)
    assert list(reindex())
    for name, count in {"NEWEST": 2, "MAX_ENTRIES": 1, "COMMON": common}.items():
        monkeypatch.setattr(full_text_everywhere, name, count)
    where = start_search(ritas, "canary")["Location"]
    assert list_keys(ritas.get(where).text) == [str(new.pk)]
    assert list_keys(ritas.get(f"{where}&until={month_ago:%Y-%m-%d}").text) == [str(old.pk)]


@pytest.mark.parametrize("common", [1, 6, 9])
def test_every_word_has_to_match_whichever_is_common(
    common: int,
    ritas: Client,
    alice: User,
    bob: User,
    saved_upstream: Upstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight entries have one word, five the other, and some both."""
    monkeypatch.setattr(full_text_everywhere, "COMMON", common)
    monkeypatch.setattr(full_text_everywhere, "COMMON_OF_ONE", common)
    both = write_chat(bob, saved_upstream, "canary", "canary nightingale")
    of_bob = write_chat(bob, saved_upstream, "canary", "canary")
    write_chat(alice, saved_upstream, "A", "canary")
    write_chat(alice, saved_upstream, "nightingale", "nightingale")
    assert search_keys(ritas, "canary nightingale") == [str(both.pk)]
    assert search_keys(ritas, "nightingale canary", person="bob") == [str(both.pk)]
    assert search_keys(ritas, "nightingale canary", person="alice") == []
    both.messages.update(deleted_at=timezone.now())
    assert search_keys(ritas, "canary nightingale") == []
    of_titles = search_keys(ritas, "canary", person="bob")
    assert of_titles == [str(of_bob.pk), str(both.pk)]
