"""People erase their own accounts, as an administrator could."""

import pytest
from django.contrib.auth.signals import user_logged_out
from django.test import Client, RequestFactory

from chatapp.models import AuditDetail, AuditEvent, Conversation, LegalHold, Upstream, User
from tests.conftest import confirm_password, signed_in
from tests.support.stored import new_conversation, store_turn

pytestmark = pytest.mark.django_db

ERASE = "/privacy/erase/"


@pytest.fixture
def alices(alices: Client) -> Client:
    """Alice, who has just confirmed her password."""
    return confirm_password(alices)


def test_erasing_deletes_everything_and_reports_it(
    alice: User, alices: Client, saved_upstream: Upstream
) -> None:
    store_turn(new_conversation(alice), saved_upstream, "Of the canary")
    page = alices.get(ERASE).text
    assert "1 chat with 2 messages" in " ".join(page.split())
    answer = alices.post(ERASE, {"name": "Alice"})
    text = " ".join(answer.text.split())
    assert "Your account was erased" in text
    assert "<dt>Messages</dt><dd>2</dd>" in text.replace("> <", "><")
    assert not User.objects.filter(pk=alice.pk).exists()
    assert not Conversation.objects.exists()
    assert alices.get("/privacy/").status_code == 302
    event = AuditEvent.objects.filter(action="person.deleted").latest("sequence")
    assert event.target == str(alice.pk)
    assert AuditEvent.objects.latest("sequence").action == "person.erased"


def test_signing_out_in_another_tab_meanwhile_leaves_no_trace(
    alice: User, alices: Client, rf: RequestFactory
) -> None:
    request = rf.post("/accounts/logout/", REMOTE_ADDR="203.0.113.7")
    there = User.objects.get(pk=alice.pk)
    alices.post(ERASE, {"name": "alice"})
    user_logged_out.send(sender=User, request=request, user=there)
    event = AuditEvent.objects.latest("sequence")
    assert (event.action, event.actor) == ("person.signed_out", there.pk)
    details = "".join(AuditDetail.objects.values_list("content", flat=True))
    assert "alice" not in details
    assert "203.0.113.7" not in details


def test_the_audit_log_does_not_name_an_erased_person(alices: Client, olive: User) -> None:
    alices.post(ERASE, {"name": "alice"})
    last = AuditEvent.objects.latest("sequence")
    assert last.action == "person.erased"
    assert not [detail for detail in AuditDetail.objects.all() if "alice" in detail.content]


@pytest.mark.parametrize("name", ["", "bob", "alice\0", "<b>alice</b>", "a" * 10**6])
def test_another_name_erases_nothing(alice: User, alices: Client, name: str) -> None:
    answer = alices.post(ERASE, {"name": name})
    assert (answer.status_code, 'role="alert"' in answer.text) == (200, True)
    assert "<b>alice" not in answer.text
    assert User.objects.filter(pk=alice.pk, is_active=True).exists()


def test_a_legal_hold_prevents_erasure_and_is_shown(
    alice: User, alices: Client, olive: User
) -> None:
    LegalHold.objects.create(user=alice, reason="A case", set_by=olive)
    assert "Your data is under a legal hold" in alices.get(ERASE).text
    answer = alices.post(ERASE, {"name": "alice"})
    assert "hold" in answer.text
    assert User.objects.filter(pk=alice.pk, is_active=True).exists()


def test_the_last_administrator_cannot_erase_themselves(olive: User) -> None:
    olives = signed_in(olive, confirmed=True)
    User.objects.exclude(pk=olive.pk).filter(is_superuser=True).delete()
    answer = olives.post(ERASE, {"name": olive.username})
    assert "You are the last administrator" in answer.text
    assert User.objects.filter(pk=olive.pk).exists()


def test_erasing_requires_a_recent_confirmation(alice: User) -> None:
    answer = signed_in(alice).get(ERASE)
    assert (answer.status_code, "/accounts/reauthenticate/" in answer.headers["Location"]) == (
        302,
        True,
    )
    assert signed_in(alice).post(ERASE, {"name": "alice"}).status_code == 302
    assert User.objects.filter(pk=alice.pk).exists()
