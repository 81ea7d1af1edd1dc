"""Events: each action that the audit log covers, done through its own page."""

import json
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from chatapp.accounts.setup_link import setup_token
from chatapp.erasure.people import erase
from chatapp.models import (
    AuditDetail,
    AuditEvent,
    Conversation,
    Installation,
    ReplyImage,
    Upstream,
    User,
    audit,
)
from tests.conftest import PASSWORD
from tests.support import stored
from tests.support.reviewer import LIST, address, open_for_review

pytestmark = pytest.mark.django_db

LOGIN = "/accounts/login/"
NEW = "another hard-to-guess phrase"


class LogIsFull(Exception):
    """Raised by a log that can record nothing."""


@pytest.fixture
def stranger() -> Client:
    cache.clear()
    return Client(headers={"host": "localhost"}, raise_request_exception=False)


@pytest.fixture
def conversation(alice: User, saved_upstream: Upstream) -> Conversation:
    conversation = alice.conversations.create(title="canary title")
    _, reply = conversation.ask(uuid4(), "canary prompt", None, saved_upstream, "m", uuid4())
    stored.end(reply, stored.build_reply("canary answer"))
    ReplyImage.objects.create(message=reply, position=0, media_type="image/gif", data=b"GIF89a")
    return conversation


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every attempt to record an event fail."""

    def refuse(*_: object, **__: object) -> None:
        raise LogIsFull

    monkeypatch.setattr("chatapp.models.audit.chain.signature", refuse)


def verify_newest_event(action: str) -> AuditEvent:
    """Verify the log and return the newest event with this action."""
    audit.verify()
    event = AuditEvent.objects.filter(action=action).first()
    assert event, list(AuditEvent.objects.values_list("action", flat=True))
    return event


def actions() -> set[str]:
    return set(AuditEvent.objects.values_list("action", flat=True))


# Signing in and out


def test_signing_in_and_out_is_recorded(stranger: Client, alice: User) -> None:
    stranger.post(LOGIN, {"login": "alice", "password": PASSWORD})
    event = verify_newest_event("person.signed_in")
    assert (event.actor, event.person, event.target) == (alice.pk, alice.pk, str(alice.pk))
    assert event.detail.values["ip"] == "127.0.0.1"
    stranger.post("/accounts/logout/")
    assert verify_newest_event("person.signed_out").actor == alice.pk


@pytest.mark.parametrize(
    "login", ["alice", "nobody", "<script>alert(1)</script>", "sk-verysecretkey", "x" * 1_500_000]
)
def test_a_failed_sign_in_records_the_account_and_nothing_that_was_typed(
    stranger: Client, alice: User, login: str
) -> None:
    stranger.post(LOGIN, {"login": login, "password": "wrong password canary"})
    event = verify_newest_event("person.sign_in_failed")
    assert event.actor is None
    assert event.person == (alice.pk if login == "alice" else None)
    content = AuditDetail.objects.get(event=event).content
    assert json.loads(content) == {"ip": "127.0.0.1"}


@pytest.mark.parametrize("login", ["\0", "al\0ice", "\ud800".encode("utf-8", "surrogatepass")])
def test_a_login_that_no_database_can_store_breaks_nothing(
    stranger: Client, alice: User, login: str | bytes
) -> None:
    answer = stranger.post(LOGIN, {"login": login, "password": "wrong"})
    assert answer.status_code < 500
    audit.verify()


def test_a_wrong_password_at_reauthentication_has_its_own_action(
    alices: Client, alice: User
) -> None:
    cache.clear()
    alices.post("/accounts/reauthenticate/", {"password": "wrong"})
    assert verify_newest_event("person.confirmation_failed").actor == alice.pk
    assert "person.sign_in_failed" not in actions()


def test_creating_the_first_account_is_recorded(stranger: Client) -> None:
    fields = {"username": "ada", "email": "", "password1": NEW, "password2": NEW}
    stranger.post(f"/setup/{setup_token()}/", fields)
    assert verify_newest_event("person.added").detail.values["after"]["is_superuser"] is True
    assert verify_newest_event("person.signed_in")


def test_a_new_password_is_recorded(alices: Client, alice: User) -> None:
    cache.clear()
    fields = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    alices.post(reverse("account_change_password"), fields)
    event = verify_newest_event("password.changed")
    assert (event.actor, event.person) == (alice.pk, alice.pk)
    assert not AuditDetail.objects.filter(event=event).exists()


# An action that cannot be recorded is not done


def test_signing_in_fails_if_it_cannot_be_recorded(
    stranger: Client, alice: User, full: None
) -> None:
    answer = stranger.post(LOGIN, {"login": "alice", "password": PASSWORD})
    assert answer.status_code == 500
    assert not [
        session for session in Session.objects.all() if "_auth_user_id" in session.get_decoded()
    ]
    assert stranger.get("/").status_code == 302


def test_changing_a_password_fails_if_it_cannot_be_recorded(
    alices: Client, alice: User, request: pytest.FixtureRequest
) -> None:
    cache.clear()
    alices.raise_request_exception = False
    request.getfixturevalue("full")
    fields = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    assert alices.post(reverse("account_change_password"), fields).status_code == 500
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        ("roles", {"administers": "on"}),
        ("active", {}),
        ("name", {"username": "alice", "email": "new@example.org"}),
    ],
)
def test_changing_a_person_fails_if_it_cannot_be_recorded(
    olives: Client,
    alice: User,
    what: str,
    fields: dict[str, str],
    request: pytest.FixtureRequest,
) -> None:
    olives.raise_request_exception = False
    request.getfixturevalue("full")
    assert olives.post(f"/people/{alice.pk}/{what}/", fields).status_code == 500
    unchanged = User.objects.get(pk=alice.pk)
    assert (unchanged.is_staff, unchanged.is_superuser, unchanged.is_active) == (False, False, True)
    assert unchanged.email == ""


def test_opening_a_conversation_fails_if_it_cannot_be_recorded(
    olives: Client, conversation: Conversation, request: pytest.FixtureRequest
) -> None:
    olives.raise_request_exception = False
    request.getfixturevalue("full")
    answer = olives.post(f"{address(conversation.pk)}open/", {"reason": "A matter"})
    assert answer.status_code == 500
    assert "canary" not in olives.get(address(conversation.pk)).text
    assert olives.get(LIST).status_code == 500


@pytest.mark.parametrize("path", ["/conversations/export/", "/audit/export/"])
def test_an_export_fails_if_it_cannot_be_recorded(
    olives: Client, olive: User, path: str, request: pytest.FixtureRequest
) -> None:
    own = olive.conversations.create(title="Own")
    olives.raise_request_exception = False
    request.getfixturevalue("full")
    assert olives.post(path, {"ids": [str(own.pk)]}).status_code == 500


# What staff change


def test_a_role_change_is_recorded_with_before_and_after(
    olives: Client, olive: User, alice: User
) -> None:
    olives.post(f"/people/{alice.pk}/roles/", {"reviews": "on"})
    event = verify_newest_event("role.changed")
    assert (event.actor, event.person) == (olive.pk, alice.pk)
    values = event.detail.values
    assert (values["before"], values["after"]) == (["Member"], ["Reviewer"])


def test_an_api_key_is_recorded_as_changed_but_never_stored(
    olives: Client, saved_upstream: Upstream
) -> None:
    fields = {
        "name": "Renamed",
        "base_url": saved_upstream.base_url,
        "new_api_key": "keycanary with spaces",
    }
    olives.post(f"/settings/models/{saved_upstream.pk}/address/", fields)
    event = verify_newest_event("upstream.changed")
    assert event.detail.values["before"] == {"name": "Fake"}
    assert event.detail.values["after"] == {"name": "Renamed", "new_api_key": "changed"}
    assert "canary" not in "".join(AuditDetail.objects.values_list("content", flat=True))


def test_groups_suggestions_and_the_installation_are_recorded(
    olives: Client, saved_upstream: Upstream
) -> None:
    olives.post("/people/groups/", {"name": "Readers"})
    assert verify_newest_event("group.added").detail.values["about"] == "Readers"
    fields = {"title_upstream": saved_upstream.pk, "title_model": "small"}
    olives.post("/settings/", fields | {"suggestions": "Explain"})
    after = verify_newest_event("installation.changed").detail.values["after"]
    assert after == {
        "title_model": "small",
        "title_upstream": f"Fake ({saved_upstream.pk})",
        "suggestions": ["Explain"],
    }
    assert Installation.load().title_model == "small"


# Reading and exporting


def test_each_opening_of_a_conversation_is_recorded_without_its_text(
    olives: Client, olive: User, conversation: Conversation, alice: User
) -> None:
    for number in (1, 2):
        assert "canary" in open_for_review(olives, conversation.pk, "A matter").text
        assert AuditEvent.objects.filter(action="conversation.opened").count() == number
    event = verify_newest_event("conversation.opened")
    assert event.detail.values["reason"] == "A matter"
    assert (event.actor, event.person, event.target) == (
        olive.pk,
        alice.pk,
        str(conversation.pk),
    )
    assert "canary" not in "".join(AuditDetail.objects.values_list("content", flat=True))


def test_a_filter_of_the_review_list_is_recorded_with_its_values(
    olives: Client, conversation: Conversation
) -> None:
    olives.get("/review/?tool=dismissal")
    assert verify_newest_event("conversations.listed").detail.values["asked"] == {
        "tool": "dismissal"
    }


def test_viewing_an_image_is_recorded_unless_it_is_ones_own(
    olives: Client, alices: Client, conversation: Conversation, olive: User
) -> None:
    image = ReplyImage.objects.get()
    path = f"/replies/{image.message_id}/images/0/"
    assert alices.get(path).status_code == 200
    assert "image.opened" not in actions()
    assert olives.get(path).status_code == 404
    open_for_review(olives, conversation.pk)
    assert olives.get(path).status_code == 200
    event = verify_newest_event("image.opened")
    assert (event.actor, event.target) == (olive.pk, str(conversation.pk))


def test_a_forbidden_attempt_leaves_no_event(
    bobs: Client, conversation: Conversation, olive: User
) -> None:
    assert bobs.get(address(conversation.pk)).status_code == 403
    assert bobs.post(f"{address(conversation.pk)}open/", {"reason": "x"}).status_code == 403
    assert "conversation.opened" not in actions()


def test_exporting_ones_own_chats_is_recorded(alices: Client, conversation: Conversation) -> None:
    alices.post("/conversations/export/", {"ids": [str(conversation.pk)]})
    assert verify_newest_event("conversations.exported").detail.values["conversations"] == 1


# Erasing


@pytest.mark.django_db(transaction=True)
def test_an_erased_person_is_named_nowhere_in_the_log(
    olives: Client, olive: User, alice: User, stranger: Client
) -> None:
    stranger.post(LOGIN, {"login": "ALICE", "password": "wrong"})
    stranger.post(LOGIN, {"login": "ALICE", "password": PASSWORD})
    pk = alice.pk
    olives.post(f"/people/{pk}/delete/")
    assert not User.objects.filter(pk=pk).exists()
    event = verify_newest_event("person.erased")
    assert (event.actor, event.person) == (olive.pk, pk)
    assert audit.verify().erased >= 2
    assert "alice" not in "".join(AuditDetail.objects.values_list("content", flat=True)).lower()


def test_erasing_a_person_fails_if_it_cannot_be_recorded(
    olive: User, alice: User, full: None
) -> None:
    with pytest.raises(LogIsFull):
        erase([alice], olive)
    assert User.objects.filter(username="alice").exists()
