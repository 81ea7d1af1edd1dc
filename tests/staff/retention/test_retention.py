"""Retention: administrators preview deletions before they set it, and people can read it."""

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from chatapp.models import AuditEvent, Conversation, LegalHold, Message, Retention, User
from tests.conftest import signed_in
from tests.support.page import parse

pytestmark = pytest.mark.django_db

NAMES = ("conversation_days", "file_days", "audit_detail_days")


def old_chat(person: User, **fields: object) -> Conversation:
    chat = person.conversations.create(
        title="Old", updated_at=timezone.now() - timedelta(days=40), **fields
    )
    Message.objects.create(conversation=chat, role="user", content="Why?")
    return chat


def read_preview_form(client: Client, **days: int) -> dict[str, str]:
    """Return what the page's second form would post."""
    values = {name: str(days.get(name, "")) for name in NAMES}
    page = parse(client.get("/retention/", values).text)
    form = page.find("form", action="/retention/", method="post")
    return {
        name: form.find("input", name=name).attributes["value"] or "" for name in (*NAMES, "seal")
    }


def words(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_the_preview_counts_and_sets_nothing(olives: Client, alice: User) -> None:
    old_chat(alice)
    page = words(olives.get("/retention/", {"conversation_days": "30"}).text)
    used = timezone.now() - timedelta(days=40)
    assert f"1 chat with 1 message of 1 person, from {used.day} {used:%b %Y}." in page
    assert "within an hour" in page
    assert Retention.now() == Retention()


def test_the_preview_says_if_nothing_expires_and_what_is_held(
    olives: Client, alice: User, bob: User, olive: User
) -> None:
    query = {"conversation_days": "30"}
    assert "Nothing at the moment." in words(olives.get("/retention/", query).text)
    old_chat(alice)
    LegalHold.begin(alice, None, "a matter", olive)
    page = words(olives.get("/retention/", query).text)
    assert "Nothing at the moment: what has expired is under a legal hold." in page
    old_chat(bob)
    page = words(olives.get("/retention/", query).text)
    assert "1 chat with 1 message of 1 person" in page
    assert "; 1 more kept under a legal hold." in page


def test_what_was_saved_is_said_next_to_the_form(olives: Client) -> None:
    answer = olives.post("/retention/", read_preview_form(olives, conversation_days=30))
    assert answer.headers["location"] == "/retention/#said"
    [status] = parse(olives.get("/retention/").text).find_all("[role=status]")
    assert status.attributes["id"] == "said"


def test_previewed_periods_are_saved_and_logged_once(olives: Client, alice: User) -> None:
    chat = old_chat(alice)
    sent = read_preview_form(olives, conversation_days=30, file_days=7)
    for _ in range(2):
        answer = olives.post("/retention/", sent, follow=True)
        assert "deleted at the next housekeeping" in answer.text
    assert Retention.now() == Retention(30, 7)
    assert Conversation.objects.filter(pk=chat.pk).exists()
    [event] = AuditEvent.objects.filter(action="retention.changed")
    assert event.detail.values["before"] == dict.fromkeys(NAMES)
    assert event.detail.values["after"] == dict(zip(NAMES, (30, 7, None), strict=True))


@pytest.mark.parametrize("seal", ["", "nonsense", "\0:é:1"])
def test_saving_without_a_preview_shows_the_preview_first(
    olives: Client, alice: User, seal: str
) -> None:
    old_chat(alice)
    answer = olives.post("/retention/", {"conversation_days": "30", "seal": seal}, follow=True)
    assert "Nothing was changed yet" in answer.text
    assert "1 chat with 1 message" in words(answer.text)
    assert Retention.now() == Retention()


def test_values_other_than_the_previewed_ones_are_not_saved(olives: Client) -> None:
    sent = read_preview_form(olives, conversation_days=3000) | {"conversation_days": "3"}
    assert "conversation_days=3&" in olives.post("/retention/", sent).headers["location"]
    assert Retention.now() == Retention()


@pytest.mark.parametrize("days", ["0", "-1", "36501", "soon", "9" * 30])
def test_invalid_numbers_of_days_are_refused(olives: Client, days: str) -> None:
    for answer in (
        olives.get("/retention/", {"conversation_days": days}),
        olives.post("/retention/", {"conversation_days": days}),
    ):
        assert parse(answer.text).find("div", class_="errors")
        assert "What would be deleted" not in answer.text
    assert Retention.now() == Retention()


def test_empty_values_remove_the_periods(olives: Client) -> None:
    Retention(30, 7, 90).store()
    assert 'value="30"' in olives.get("/retention/").text
    olives.post("/retention/", read_preview_form(olives))
    assert Retention.now() == Retention()


def test_only_administrators_can_set_retention(alices: Client) -> None:
    reviewer = User.objects.create_user("rita", password="x", is_staff=True, reviews=True)
    for client in (alices, signed_in(reviewer)):
        assert client.post("/retention/", {"conversation_days": "1"}).status_code == 403
    assert Retention.now() == Retention()


def test_the_settings_page_has_no_retention_fields(olives: Client) -> None:
    page = olives.get("/settings/").text
    assert "notice" in page
    assert not any(name in page for name in NAMES)


def test_people_can_read_how_long_their_data_is_kept(alices: Client) -> None:
    page = words(alices.get("/privacy/").text)
    assert "Your chats are kept until you delete them." in page
    assert "as long as their chat." in page
    Retention(30, 1, 90).store()
    page = words(alices.get("/privacy/").text)
    assert "permanently deleted 30 days after your last prompt in it" in page
    assert "even if it is pinned, archived" in page
    assert "are kept for one day, but no longer than their chat" in page
    assert "removed from the audit log after 90 days" in page


@pytest.mark.django_db(transaction=True)
def test_the_housekeeping_command_says_what_it_deletes(olives: Client, alice: User) -> None:
    old_chat(alice)
    old_chat(alice, trashed_at=timezone.now() - timedelta(days=31))
    Retention(conversation_days=30).store()
    out = StringIO()
    call_command("housekeeping", "--dry-run", stdout=out)
    assert Conversation.objects.count() == 2
    assert "Conversations in the trash for 30 days or more: 1" in out.getvalue()
    assert "Past their retention: 2 conversations, 2 messages" in out.getvalue()
    out = StringIO()
    call_command("housekeeping", stdout=out)
    assert not Conversation.objects.exists()
    assert "Deleted past their retention: 1 conversations, 1 messages" in out.getvalue()
    assert "Housekeeping" in olives.get("/audit/").text
