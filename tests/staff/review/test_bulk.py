"""Bulk actions: each change is recorded, and what someone else has changed is skipped."""

import pytest
from django.test import Client

from chatapp.models import AuditEvent, Conversation, Review, ReviewLabel, User
from tests.conftest import signed_in
from tests.staff.review.conftest import Begin, get_or_create_review
from tests.staff.review.told import read_messages
from tests.support.page import parse
from tests.support.reviewer import open_for_review

pytestmark = pytest.mark.django_db

BULK = "/review/bulk/"


@pytest.fixture
def three(begin: Begin) -> list[Conversation]:
    return [begin() for _ in range(3)]


def post_bulk_act(
    client: Client, act: str, selected: list[Conversation], version: int = 0, **more: str
) -> str:
    """Send a bulk action, on chats opened or not, and return the message."""
    rows = [f"{chat.pk} {version}" for chat in selected]
    sent = {"act": act, "rows": rows, "unopened": "all", **more}
    answer = client.post(BULK, sent, follow=True)
    assert answer.redirect_chain[0][1] == 302
    return read_messages(answer.text)


def test_a_bulk_verdict_applies_to_all_and_records_each(
    ritas: Client, three: list[Conversation]
) -> None:
    assert post_bulk_act(ritas, "verdict fine", three) == "3 chats updated."
    assert [review.verdict for review in Review.objects.all()] == ["fine"] * 3
    events = AuditEvent.objects.filter(action="review.decided")
    assert {event.target for event in events} == {str(chat.pk) for chat in three}
    assert all(event.detail.values["in_bulk"] is True for event in events)
    assert events[0].detail.values["after"] == {"verdict": "fine"}


def test_chats_are_claimed_and_released_in_bulk(ritas: Client, three: list[Conversation]) -> None:
    assert post_bulk_act(ritas, "claim", three[:2]) == "2 chats updated."
    assert [str(get_or_create_review(chat).claimant) for chat in three] == ["rita", "rita", "None"]
    assert post_bulk_act(ritas, "release", three[:2], version=1) == "2 chats updated."
    assert Review.objects.filter(claimed_by=None).count() == 3


def test_chats_that_a_colleague_claimed_or_changed_are_skipped(
    ritas: Client, three: list[Conversation]
) -> None:
    first, second, third = three
    bob = signed_in(User.objects.create_user("bob", is_staff=True, reviews=True))
    assert post_bulk_act(bob, "claim", [first]) == "1 chat updated."
    message = post_bulk_act(ritas, "verdict fine", three)
    assert message == "2 chats updated. 1 skipped: someone else has changed it."
    assert get_or_create_review(first).verdict == ""
    rows = [f"{first.pk} 1", f"{second.pk} 1", f"{third.pk} 0"]
    answer = ritas.post(BULK, {"act": "claim", "rows": rows}, follow=True)
    message = read_messages(answer.text)
    assert message.startswith("1 chat updated. 1 skipped: bob has claimed this chat until ")
    assert message.endswith("1 skipped: someone else has changed it.")


def test_a_label_is_added_and_removed_without_touching_other_labels(
    ritas: Client, three: list[Conversation]
) -> None:
    odd, kept_label = (ReviewLabel.objects.create(name=name) for name in ("odd", "kept"))
    get_or_create_review(three[0]).label([kept_label])
    assert (
        post_bulk_act(ritas, "label", three[:1], version=1, label=str(odd.pk)) == "1 chat updated."
    )
    assert {label.name for label in get_or_create_review(three[0]).labels.all()} == {"odd", "kept"}
    assert (
        post_bulk_act(ritas, "unlabel", three[:1], version=2, label=str(odd.pk))
        == "1 chat updated."
    )
    assert [label.name for label in get_or_create_review(three[0]).labels.all()] == ["kept"]
    assert post_bulk_act(ritas, "label", three, label="") == "Choose a label first."


def test_invalid_requests_change_nothing(ritas: Client, three: list[Conversation]) -> None:
    assert "That verdict doesn't exist" in post_bulk_act(ritas, "verdict <b>", three)
    assert "choose an action" in post_bulk_act(ritas, "drop", three)
    assert post_bulk_act(ritas, "claim", []).startswith("Select chats first")
    answer = ritas.post(BULK, {"act": "claim", "rows": "\0 0"}, follow=True)
    assert "these aren" in answer.text
    assert "select at most 50 chats" in post_bulk_act(
        ritas, "claim", [Conversation() for _ in range(51)]
    )
    assert (
        post_bulk_act(ritas, "claim", [Conversation()])
        == "0 chats updated. 1 skipped: it no longer exists."
    )
    assert not Review.objects.exclude(version=0).exists()


def test_the_list_keeps_its_filter_after_a_bulk_action(
    ritas: Client, three: list[Conversation]
) -> None:
    query = "model=one&verdict=none&next=//evil.example&csrfmiddlewaretoken=x"
    rows = [f"{three[0].pk} 0"]
    answer = ritas.post(BULK, {"act": "claim", "rows": rows, "asked": query})
    assert answer.headers["Location"] == "/review/?model=one&verdict=none"


def test_only_reviewers_can_use_bulk_actions(alices: Client, three: list[Conversation]) -> None:
    rows = [f"{chat.pk} 0" for chat in three]
    assert alices.post(BULK, {"act": "verdict fine", "rows": rows}).status_code in (302, 403, 404)
    assert not Review.objects.exists()


def test_verdicts_on_chats_that_were_not_opened_ask_first(
    ritas: Client, three: list[Conversation]
) -> None:
    open_for_review(ritas, three[0].pk)
    sent = {"act": "verdict fine", "rows": [f"{chat.pk} 0" for chat in three], "asked": "model=one"}
    page = parse(ritas.post(BULK, sent).text).find("main")
    assert "You have not opened 2 of these 3 chats" in " ".join(page.text.split())
    assert not Review.objects.exclude(verdict="").exists()
    form = page.find("form")
    fields = [
        (field.attributes["name"], field.attributes["value"]) for field in form.find_all("input")
    ]
    assert [value for name, value in fields if name == "rows"] == sent["rows"]
    assert page.find_all("a")[-1].attributes["href"] == "/review/?model=one"
    assert post_bulk_act(ritas, "verdict fine", three, unopened="opened") == "1 chat updated."
    assert post_bulk_act(ritas, "verdict minor", three[1:]) == "2 chats updated."
    marked = Review.objects.filter(decided_unopened=True).values_list("pk", flat=True)
    assert set(marked) == {chat.pk for chat in three[1:]}
    assert "Minor issue, not opened" in ritas.get("/review/", {"show": "decided"}).text


def test_the_question_says_nothing_about_chats_that_reviewers_may_not_read(
    ritas: Client, three: list[Conversation]
) -> None:
    Conversation.objects.update(is_temporary=True)
    answer = post_bulk_act(ritas, "verdict fine", three, unopened="")
    assert answer == "0 chats updated. 3 skipped: it no longer exists."
