"""The review policy: administrators set it, each chat keeps it, and people can read it."""

from datetime import timedelta
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client
from django.utils import timezone

from chatapp.models import AuditEvent, Conversation, ReplyImage, ReviewPolicy, Upstream, User
from tests.conftest import confirm_password, signed_in
from tests.support.page import parse
from tests.support.reviewer import LIST, open_for_review
from tests.support.stored import build_reply, end

FLAGGED = "Reviewers may read this chat if moderation, a rule or your thumbs down flags it."

pytestmark = pytest.mark.django_db


def start_chat(alice: User, upstream: Upstream, title: str) -> Conversation:
    """Start a conversation whose reply has an image."""
    conversation = alice.conversations.create(title=title)
    _, reply = conversation.ask(uuid4(), "Why?", None, upstream, "one", uuid4())
    end(reply, build_reply("So."))
    ReplyImage.objects.create(message=reply, position=0, media_type="image/gif", data=b"GIF89a")
    return conversation


def set_policy(olives: Client, scope: str, **fields: str) -> None:
    answer = confirm_password(olives).post("/policy/", {"scope": scope} | fields)
    assert answer.status_code == 302


def image(conversation: Conversation) -> str:
    return f"/replies/{conversation.messages.get(role='assistant').pk}/images/0/"


def readable(client: Client, conversation: Conversation) -> list[bool]:
    """Whether a client can read it: in the list, on its page, and an image of it."""
    page = client.get(LIST, {"show": "all"})
    read = open_for_review(client, conversation.pk)
    return [
        str(conversation.pk) in page.text,
        read.status_code == 200 and "Why?" in read.text,
        client.get(image(conversation)).status_code == 200,
    ]


def test_each_chat_keeps_the_policy_it_was_started_under(
    olives: Client, alices: Client, alice: User, saved_upstream: Upstream
) -> None:
    before = start_chat(alice, saved_upstream, "Before any")
    set_policy(olives, "nothing", names_reader="on")
    closed = start_chat(alice, saved_upstream, "Closed")
    assert readable(olives, before) == [True] * 3
    assert readable(olives, closed) == [False] * 3
    assert not AuditEvent.objects.filter(target=str(closed.pk)).exists()
    set_policy(olives, "all", names_reader="on")
    opened = start_chat(alice, saved_upstream, "Opened")
    assert readable(olives, opened) == [True] * 3
    assert readable(olives, closed) == [False] * 3
    assert readable(alices, closed)[2]  # her own image


def test_under_the_flagged_policy_only_flagged_chats_can_be_read(
    olives: Client, alice: User, saved_upstream: Upstream
) -> None:
    set_policy(olives, "flagged", names_reader="on")
    conversation = start_chat(alice, saved_upstream, "Perhaps")
    assert readable(olives, conversation) == [False] * 3
    conversation.messages.filter(role="assistant").update(is_flagged=True)
    assert readable(olives, conversation) == [True] * 3
    conversation.messages.filter(role="assistant").update(deleted_at=timezone.now())
    assert readable(olives, conversation) == [False] * 3


def test_the_reader_is_named_if_the_policy_of_the_chat_says_so(
    olives: Client, alices: Client, alice: User, saved_upstream: Upstream
) -> None:
    named = start_chat(alice, saved_upstream, "Named")
    set_policy(olives, "all")
    unnamed = start_chat(alice, saved_upstream, "Unnamed")
    for chat in (named, unnamed):
        assert open_for_review(olives, chat.pk).status_code == 200
    page = " ".join(alices.get("/privacy/").text.split())
    assert page.count("olive, as a reviewer") == page.count("A reviewer") == 1
    unnamed.erase()
    assert "A reviewer" in alices.get("/privacy/").text


def test_a_new_policy_is_logged_once_and_shown_at_sign_in(
    olives: Client, alices: Client, client: Client
) -> None:
    assert "Reviewers may read the chats here." in client.get("/accounts/login/").text
    set_policy(olives, "nothing", names_reader="on")
    set_policy(olives, "nothing", names_reader="on")
    [event] = AuditEvent.objects.filter(action="policy.changed")
    assert event.detail.values["before"].startswith("Reviewers may read every chat")
    assert event.detail.values["after"].startswith("Nobody reviews")
    assert ReviewPolicy.objects.count() == 1
    assert "Nobody reviews the chats" in " ".join(client.get("/accounts/login/").text.split())
    assert "nobody reviews them" in alices.get("/privacy/").text
    assert "Nobody reviews" in olives.get("/policy/").text


def test_an_unknown_policy_is_refused(olives: Client) -> None:
    answer = confirm_password(olives).post("/policy/", {"scope": "everything"})
    assert "Select a valid choice" in answer.text
    assert not ReviewPolicy.objects.exists()


def test_only_administrators_can_set_the_policy(alice: User, alices: Client) -> None:
    assert alices.post("/policy/", {"scope": "nothing"}).status_code == 403
    reviewer = User.objects.create_user("rita", password="x", is_staff=True, reviews=True)
    assert signed_in(reviewer).post("/policy/", {"scope": "all"}).status_code == 403
    assert not ReviewPolicy.objects.exists()


def test_the_privacy_page_lists_earlier_policies_back_to_the_first_chat(
    alices: Client, alice: User, saved_upstream: Upstream
) -> None:
    for days, scope in ((3, "nothing"), (2, "flagged"), (1, "all")):
        ReviewPolicy.objects.create(scope=scope, begins_at=timezone.now() - timedelta(days=days))
    conversation = start_chat(alice, saved_upstream, "Old")
    moment = timezone.now() - timedelta(days=1.5)
    Conversation.objects.filter(pk=conversation.pk).update(created_at=moment)
    page = " ".join(parse(alices.get("/privacy/").text).text.split())
    assert "Chats that you start now: reviewers may read all that are kept" in page
    assert "those that are flagged" in page
    assert "nobody reviews them" not in page


async def test_the_policy_of_the_chat_is_shown_next_to_the_message_box(
    anyone: AsyncClient, alice: User, saved_upstream: Upstream
) -> None:
    await anyone.aforce_login(alice)
    before = await sync_to_async(start_chat)(alice, saved_upstream, "Before any")
    await ReviewPolicy.objects.acreate(scope="flagged")
    flagged = await sync_to_async(start_chat)(alice, saved_upstream, "Flagged")
    await ReviewPolicy.objects.acreate(scope="nothing")
    for path, expected in (
        (f"/c/{before.pk}/", "Reviewers may read this chat."),
        (f"/c/{flagged.pk}/", FLAGGED),
        ("/", "Nobody reviews this chat."),
    ):
        hint = parse((await anyone.get(path)).content.decode()).find("p", class_="hint")
        assert hint.find("a", href="/privacy/").text == expected
