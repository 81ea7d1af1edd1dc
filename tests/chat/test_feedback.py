"""Ratings of replies: who may give them, what is refused, and who sees them."""

from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from chatapp.chat.thread_views import render_thread_page
from chatapp.models import Conversation, Feedback, Message, Upstream, User
from chatapp.models.conversations.chats.feedback import get_loaded_feedback
from tests.support.page import Element, parse
from tests.support.reviewer import open_for_review
from tests.support.stored import begin_turn, fork_conversation, new_conversation, store_turn

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
MARKUP = "</textarea><img src=x onerror=alert(1)>"


@pytest.fixture
def reply(alice: User, saved_upstream: Upstream) -> Message:
    return store_turn(new_conversation(alice), saved_upstream, "Why blue?")[1]


def address(message: Message) -> str:
    return f"/replies/{message.pk}/feedback/"


def give(client: Client, reply: Message, rating: str, **note: str) -> Element:
    """Rate a reply and return the thumbs in the response."""
    answer = client.post(address(reply), {"rating": rating, **note}, headers=HTMX)
    assert answer.status_code == 200, answer.content.decode()
    return parse(answer.content.decode()).find("form")


def render_thread(conversation: Conversation) -> Element:
    """Return the thread as its page has it."""
    return parse(render_thread_page(Conversation.objects.get(pk=conversation.pk).view()))


def find_pressed(thumbs: Element) -> dict[str, str]:
    """Return whether each thumb is pressed, by its accessible name."""
    buttons = [element.attributes for element in thumbs.find_all("button")]
    return {
        button["aria-label"]: button["aria-pressed"]
        for button in buttons
        if "aria-pressed" in button
    }


def is_open(thumbs: Element) -> bool:
    return "open" in thumbs.find("details").attributes


def test_a_rating_can_be_given_changed_and_withdrawn(alices: Client, reply: Message) -> None:
    thumbs = give(alices, reply, "up")
    assert find_pressed(thumbs) == {"Good reply": "true", "Bad reply": "false"}
    assert thumbs.find("details").text.strip().startswith("What was good?")
    thumbs = give(alices, reply, "down")
    assert find_pressed(thumbs) == {"Good reply": "false", "Bad reply": "true"}
    assert thumbs.find("details").text.strip().startswith("What was wrong?")
    assert Feedback.objects.get().rating == "down"
    thumbs = give(alices, reply, "none", note="so what")
    assert find_pressed(thumbs) == {"Good reply": "false", "Bad reply": "false"}
    assert thumbs.find_all("details") == []
    assert not Feedback.objects.exists()


def test_a_thumb_sends_the_rating_it_will_set(alices: Client, reply: Message) -> None:
    """So pressing it twice, or in two tabs, has the same effect as once."""
    values = [button.attributes["value"] for button in give(alices, reply, "up").find_all("button")]
    assert values == ["none", "down", "up"]  # the last one saves the note
    assert find_pressed(give(alices, reply, "up"))["Good reply"] == "true"


def test_the_note_is_open_after_rating_and_folded_once_saved(
    alices: Client, reply: Message
) -> None:
    assert is_open(give(alices, reply, "up"))
    assert not is_open(give(alices, reply, "up", note=" Short.\r\nTrue. "))
    assert Feedback.objects.get().note == "Short.\nTrue."
    other = give(alices, reply, "down")
    assert is_open(other)
    assert other.find("textarea").text == "Short.\nTrue."


def test_a_reload_shows_the_rating_and_a_fork_does_not(
    alice: User, alices: Client, reply: Message
) -> None:
    page = render_thread(reply.conversation)
    assert page.find_all("details", class_="note") == []
    give(alices, reply, "up", note="Short.")
    page = render_thread(reply.conversation)
    thumbs = page.find("form", class_="feedback")
    assert find_pressed(thumbs)["Good reply"] == "true"
    assert not is_open(thumbs)
    assert thumbs.find("textarea").text == "Short."
    fork = fork_conversation(alice, reply.pk)
    thumbs = render_thread(fork).find("form", class_="feedback")
    assert set(find_pressed(thumbs).values()) == {"false"}


def test_markup_in_a_note_is_text(alices: Client, olives: Client, reply: Message) -> None:
    give(alices, reply, "down")
    response = give(alices, reply, "down", note=MARKUP)
    page = render_thread(reply.conversation)
    for place in (response, page):
        field = place.find("textarea", name="note")
        assert field.text == MARKUP
        assert "hx-ignore" in field.attributes
        assert place.find_all("img", src="x") == []
    review_page = parse(open_for_review(olives, reply.conversation_id).text)
    note = review_page.find("p", class_="review-note")
    assert (note.text, note.attributes["dir"]) == (MARKUP, "auto")
    assert "hx-ignore" in note.attributes
    assert review_page.find_all("img", src="x") == []


def test_the_longest_note_is_saved_and_a_longer_one_refused(alices: Client, reply: Message) -> None:
    longest = "\n".join(["x" * 499, "\N{PILE OF POO}" * 500])
    give(alices, reply, "up", note=longest.replace("\n", "\r\n"))
    answer = alices.post(address(reply), {"rating": "up", "note": "x" * 1001}, headers=HTMX)
    assert (answer.status_code, answer.text) == (422, "A note has at most 1,000 characters.")
    assert answer.headers["content-type"].startswith("text/plain")
    assert Feedback.objects.get().note == longest


def test_a_note_over_the_storage_limit_is_refused_and_the_old_one_kept(
    alices: Client, reply: Message, settings: Settings
) -> None:
    give(alices, reply, "up", note="Short.")
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 10
    answer = alices.post(address(reply), {"rating": "up", "note": "x" * 11}, headers=HTMX)
    assert answer.status_code == 422
    assert "Delete some that you no longer need" in answer.text
    assert Feedback.objects.get().note == "Short."
    give(alices, reply, "up", note="x" * 10)
    give(alices, reply, "down")


@pytest.mark.parametrize("fields", [{}, {"rating": ""}, {"rating": "sideways"}, {"note": "x"}])
def test_an_invalid_rating_is_refused(
    alices: Client, reply: Message, fields: dict[str, str]
) -> None:
    answer = alices.post(address(reply), fields, headers=HTMX)
    assert (answer.status_code, answer.text) == (422, "This page is out of date. Reload it.")
    assert not Feedback.objects.exists()


def test_only_a_finished_reply_can_be_rated(
    alices: Client, reply: Message, saved_upstream: Upstream
) -> None:
    prompt, running = begin_turn(reply.conversation, saved_upstream, "And at night?", reply)
    reasons = {prompt: "Only replies can be rated.", running: "Rate it when it has finished."}
    for message, why in reasons.items():
        for rating in ("up", "none"):
            answer = alices.post(address(message), {"rating": rating}, headers=HTMX)
            assert answer.status_code == 422
            assert answer.text.endswith(why)
    assert not Feedback.objects.exists()


def test_only_the_owner_can_rate_a_reply(
    alices: Client, bobs: Client, olives: Client, reply: Message
) -> None:
    give(alices, reply, "up", note="Mine.")
    for client in (bobs, olives):
        assert client.post(address(reply), {"rating": "down"}, headers=HTMX).status_code == 404
        assert client.post(address(reply), {"rating": "none"}, headers=HTMX).status_code == 404
    assert alices.post(f"/replies/{uuid4()}/feedback/", {"rating": "up"}).status_code == 404
    nobody = Client(headers={"host": "localhost"})
    assert nobody.post(address(reply), {"rating": "up"}).status_code == 302
    assert Feedback.objects.get().note == "Mine."


@pytest.mark.parametrize("gone", ["deleted", "in the trash"])
def test_a_deleted_reply_cannot_be_rated(alices: Client, reply: Message, gone: str) -> None:
    if gone == "deleted":
        Message.objects.filter(pk=reply.pk).update(deleted_at=timezone.now())
    else:
        Conversation.objects.filter(pk=reply.conversation_id).trash()
    assert alices.post(address(reply), {"rating": "up"}, headers=HTMX).status_code == 404


def test_rating_without_htmx_redirects_to_the_conversation(alices: Client, reply: Message) -> None:
    answer = alices.post(address(reply), {"rating": "up"})
    assert (answer.status_code, answer.headers["location"]) == (
        302,
        reply.conversation.get_absolute_url(),
    )


def test_feedback_is_deleted_with_its_message(alices: Client, reply: Message) -> None:
    give(alices, reply, "up")
    reply.conversation.erase()
    assert not Feedback.objects.exists()


def test_drawing_a_thread_makes_no_queries_for_feedback(
    alices: Client, reply: Message, saved_upstream: Upstream
) -> None:
    """It is loaded with the messages; if it was not loaded, no query is made for it."""

    def count_queries() -> int:
        with CaptureQueriesContext(connection) as queries:
            render_thread(reply.conversation)
        return len(queries)

    count_queries()  # fills the caches
    before = count_queries()
    second = store_turn(reply.conversation, saved_upstream, "And at night?", reply)[1]
    for rated_reply in (reply, second):
        give(alices, rated_reply, "up", note="Yes.")
    assert count_queries() == before
    with CaptureQueriesContext(connection) as queries:
        assert get_loaded_feedback(Message.objects.get(pk=reply.pk)) is None
    assert len(queries) == 1
