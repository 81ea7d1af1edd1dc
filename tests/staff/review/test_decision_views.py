"""Decisions of reviewers: recorded, and refused from a page that is out of date."""

from collections.abc import Iterable
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from chatapp.models import (
    AuditDetail,
    AuditEvent,
    Conversation,
    Opening,
    Review,
    ReviewLabel,
    ReviewNote,
)
from chatapp.models.review.reviews import CLAIMED_FOR
from tests.staff.review.conftest import Begin
from tests.support.page import parse
from tests.support.reviewer import address, open_for_review

pytestmark = pytest.mark.django_db

MARKUP = '<img src=x onerror="alert(1)">'


@pytest.fixture
def conversation(begin: Begin) -> Conversation:
    return begin()


def post_decision(client: Client, conversation: Conversation, act: str, **fields: Any) -> str:
    """Send an act from an up-to-date page, unless a version is given; return the page after it."""
    review = Review.objects.filter(pk=conversation.pk).first()
    sent = {"version": review.version if review else 0, "unopened": "all"} | fields
    answer = client.post(f"{address(conversation.pk)}{act}/", sent, follow=True)
    return " ".join(parse(answer.text).find("main").text.split())


def get_review(conversation: Conversation) -> Review:
    return Review.objects.get(pk=conversation.pk)


def actions() -> list[str]:
    acts = AuditEvent.objects.filter(action__startswith="review.").order_by("sequence")
    return list(acts.values_list("action", flat=True))


def test_a_verdict_is_set_changed_and_removed(ritas: Client, conversation: Conversation) -> None:
    assert "By rita" in post_decision(ritas, conversation, "verdict", verdict="minor")
    assert "Minor issue → Serious issue" in post_decision(
        ritas, conversation, "verdict", verdict="serious"
    )
    assert get_review(conversation).verdict == "serious"
    post_decision(ritas, conversation, "verdict", verdict="serious")
    review = get_review(conversation)
    assert (review.verdict, review.decided_by, review.decided_at) == ("", None, None)
    assert "That verdict doesn't exist" in post_decision(
        ritas, conversation, "verdict", verdict="guilty"
    )
    assert actions() == ["review.decided"] * 3
    event = AuditEvent.objects.filter(action="review.decided").latest("sequence")
    assert (event.target, event.person) == (str(conversation.pk), conversation.user_id)


def test_a_claim_lasts_until_released_or_for_an_hour(
    ritas: Client, olives: Client, conversation: Conversation
) -> None:
    assert "Claimed by you until" in post_decision(ritas, conversation, "claim")
    page = post_decision(olives, conversation, "claim")
    assert "rita has claimed this chat until" in page
    assert "Claimed by rita until" in page
    assert "claimed this chat" in post_decision(olives, conversation, "release")
    assert actions() == ["review.claimed"]
    expired = timezone.now() - CLAIMED_FOR + timedelta(minutes=1)
    Review.objects.update(claimed_until=expired)
    assert "Claimed by you until" in post_decision(olives, conversation, "claim")
    assert "Unclaimed" in post_decision(olives, conversation, "release")
    assert actions() == ["review.claimed", "review.claimed", "review.released"]


def test_saving_labels_replaces_them(ritas: Client, conversation: Conversation) -> None:
    names = ["odd", f"odder {MARKUP}"]
    odd, odder = (ReviewLabel.objects.create(name=name) for name in names)
    absurd = ["x", 99, "9" * 30, "9" * 5000]
    post_decision(ritas, conversation, "labels", labels=[odd.pk, odder.pk, *absurd])
    assert [label.name for label in get_review(conversation).labels.all()] == names
    page = ritas.get(address(conversation.pk)).text
    assert parse(page).find_all("img", src="x") == []
    assert f"{', '.join(names)} → odd" in post_decision(
        ritas, conversation, "labels", labels=[odd.pk]
    )
    event = AuditEvent.objects.filter(action="review.labelled").latest("sequence")
    assert event.detail.values["after"] == {"labels": ["odd"]}


def test_a_note_can_point_at_a_message_and_is_not_in_the_audit_log(
    ritas: Client, conversation: Conversation, begin: Begin
) -> None:
    reply = conversation.messages.get(role="assistant")
    post_decision(ritas, conversation, "notes", text=f"Odd {MARKUP}", message=reply.pk)
    note = ReviewNote.objects.get()
    assert (note.text, note.message_id) == (f"Odd {MARKUP}", reply.pk)
    page = ritas.get(address(conversation.pk)).text
    assert parse(page).find_all("img", src="x") == []
    assert f"#m-{reply.pk}" not in page, "no link into a chat that is not open"
    ritas.post(f"{address(conversation.pk)}open/", {"reason": "A matter"})
    assert f'href="#m-{reply.pk}"' in ritas.get(address(conversation.pk)).text
    event = AuditEvent.objects.get(action="review.noted")
    assert event.person == conversation.user_id
    assert "Odd" not in "".join(AuditDetail.objects.values_list("content", flat=True))
    other = begin().messages.get(role="assistant").pk
    assert "no longer exists" in post_decision(
        ritas, conversation, "notes", text="x", message=other
    )
    assert "Write the note first." in post_decision(ritas, conversation, "notes", text=" ")
    assert "at most 2000" in post_decision(ritas, conversation, "notes", text="x" * 2001)
    assert ReviewNote.objects.count() == 1
    reply.delete()
    assert ReviewNote.objects.get().message_id is None


@pytest.mark.parametrize(
    ("act", "fields"),
    [("claim", {}), ("verdict", {"verdict": "fine"}), ("labels", {}), ("notes", {"text": "x"})],
)
def test_a_decision_from_an_outdated_page_is_refused(
    ritas: Client, olives: Client, conversation: Conversation, act: str, fields: dict[str, str]
) -> None:
    post_decision(olives, conversation, "verdict", verdict="minor")
    before = Review.objects.values().get()
    page = post_decision(ritas, conversation, act, version=0, **fields)
    assert "Nothing was saved, because this chat's review has changed." in page
    assert "What changed: olive set the verdict at" in page
    assert Review.objects.values().get() == before
    assert actions() == ["review.decided"]
    assert not ReviewNote.objects.exists()


def test_a_refused_decision_lists_only_changes_since_the_page_was_loaded(
    ritas: Client, olives: Client, conversation: Conversation
) -> None:
    post_decision(ritas, conversation, "verdict", verdict="fine")
    post_decision(olives, conversation, "notes", text="x")
    post_decision(olives, conversation, "claim")
    page = post_decision(ritas, conversation, "verdict", version=1, verdict="fine")
    message, _, _ = page.partition(" Check the page")
    assert "olive claimed it at" in message
    assert "olive added a note at" in message
    assert "rita" not in message.partition("What changed:")[2]
    for odd in ("", "x", "-1", "99", "9" * 5000):
        page = post_decision(ritas, conversation, "claim", version=odd)
        assert "Nothing was saved, because this chat's review has changed." in page
    assert get_review(conversation).verdict == "fine"


def test_a_refused_note_keeps_its_text_in_the_form(
    ritas: Client, olives: Client, conversation: Conversation
) -> None:
    post_decision(olives, conversation, "claim")
    reply = conversation.messages.get(role="assistant")
    note = {"version": 0, "text": f"Long {MARKUP}", "message": str(reply.pk)}
    answer = ritas.post(f"{address(conversation.pk)}notes/", note)
    assert answer.status_code == 409
    page = parse(answer.text)
    form = page.find("form", action=f"{address(conversation.pk)}notes/")
    assert form.find("textarea").text.strip() == f"Long {MARKUP}"
    assert page.find_all("img", src="x") == []
    sent = {
        field.attributes["name"]: field.attributes.get("value", "")
        for field in form.find_all("input")
    }
    assert (sent["version"], sent["message"]) == ("1", str(reply.pk))
    post_decision(ritas, conversation, "notes", text=note["text"], message=sent["message"])
    assert ReviewNote.objects.get().message_id == reply.pk


def test_polling_for_changes_does_not_extend_the_session(
    ritas: Client, conversation: Conversation
) -> None:
    ends_at = timezone.now() + timedelta(hours=1)
    Session.objects.update(expire_date=ends_at)
    assert ritas.get(f"{address(conversation.pk)}changes/", {"version": "0"}).status_code == 200
    assert Session.objects.get().expire_date == ends_at
    ritas.get(address(conversation.pk))
    assert Session.objects.get().expire_date > ends_at


def test_polling_reports_another_reviewers_change_to_an_older_version(
    ritas: Client, olives: Client, conversation: Conversation
) -> None:
    changes = f"{address(conversation.pk)}changes/"
    assert ritas.get(changes, {"version": "0"}).json() == {"told": ""}
    post_decision(olives, conversation, "claim")
    assert ritas.get(changes, {"version": "0"}).json()["told"].startswith("olive claimed it at")
    assert ritas.get(changes, {"version": "1"}).json() == {"told": ""}
    assert ritas.get(changes, {"version": "x"}).json()["told"]
    assert actions() == ["review.claimed"]


def test_a_review_is_deleted_with_its_conversation(
    ritas: Client, conversation: Conversation
) -> None:
    post_decision(ritas, conversation, "notes", text="x")
    conversation.erase()
    assert not Review.objects.exists()
    assert not ReviewNote.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_label_deleted_while_it_is_being_set_is_reported(
    ritas: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = ReviewLabel.objects.create(name="odd")
    original = Review.label

    def label_and_lose(review: Review, labels: Iterable[ReviewLabel]) -> None:
        original(review, labels)
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM chatapp_reviewlabel")

    monkeypatch.setattr(Review, "label", label_and_lose)
    page = post_decision(ritas, conversation, "labels", labels=[odd.pk])
    assert "something this refers to was just deleted" in page
    assert "No one has opened this chat yet." in page
    assert actions() == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_deleting_a_conversation_waits_for_a_decision_in_progress(
    ritas: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    post_decision(ritas, conversation, "claim")
    deleting = Thread(target=erase_in_thread, args=[conversation])
    write = Review.note

    def write_slowly(review: Review, *arguments: Any) -> ReviewNote:
        note = write(review, *arguments)
        deleting.start()
        deleting.join(0.5)
        assert deleting.is_alive()
        return note

    monkeypatch.setattr(Review, "note", write_slowly)
    assert ritas.post(f"{address(conversation.pk)}notes/", {"version": 1, "text": "x"})
    deleting.join()
    assert not Conversation.objects.exists()
    answer = ritas.post(f"{address(conversation.pk)}claim/", {"version": 2})
    assert answer.status_code == 404


def erase_in_thread(conversation: Conversation) -> None:
    try:
        conversation.erase()
    finally:
        connection.close()


def test_a_verdict_without_opening_asks_first_and_is_marked(
    ritas: Client, conversation: Conversation
) -> None:
    page = post_decision(ritas, conversation, "verdict", verdict="fine", unopened="")
    assert "You have not opened this chat" in page
    assert not Review.objects.exclude(verdict="").exists()
    page = post_decision(ritas, conversation, "verdict", verdict="fine")
    assert "set the verdict without opening it" in page
    assert get_review(conversation).decided_unopened
    event = AuditEvent.objects.get(action="review.decided")
    assert event.detail.values["unopened"] is True
    post_decision(ritas, conversation, "verdict", verdict="fine", unopened="")
    assert (get_review(conversation).verdict, get_review(conversation).decided_unopened) == (
        "",
        False,
    )


def test_the_question_sends_the_same_verdict_again(
    ritas: Client, conversation: Conversation
) -> None:
    path = f"{address(conversation.pk)}verdict/"
    page = parse(ritas.post(path, {"verdict": MARKUP, "version": "0"}, follow=True).text)
    assert "doesn't exist" in page.text
    page = parse(ritas.post(path, {"verdict": "minor", "version": "0"}).text)
    form = page.find("main").find("form")
    sent = {field.attributes["name"]: field.attributes["value"] for field in form.find_all("input")}
    ritas.post(form.attributes["action"], sent | {"unopened": "all"})
    assert get_review(conversation).verdict == "minor"


def test_a_verdict_on_a_chat_that_was_opened_once_asks_nothing(
    ritas: Client, conversation: Conversation
) -> None:
    open_for_review(ritas, conversation.pk)
    Opening.objects.update(ends_at=timezone.now())
    assert "By rita" in post_decision(ritas, conversation, "verdict", verdict="fine", unopened="")
    assert not get_review(conversation).decided_unopened
    assert "unopened" not in AuditEvent.objects.get(action="review.decided").detail.values
