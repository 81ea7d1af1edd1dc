"""Events: each action that the audit log covers, done through its own page."""

import json
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse

from chatapp.accounts.erasing import erase
from chatapp.accounts.setup_link import setup_token
from chatapp.models import (
    AuditDetail,
    AuditEvent,
    Conversation,
    Installation,
    ReplyImage,
    Suggestion,
    ToolServer,
    Upstream,
    User,
    audit,
)
from chatapp.staff.admin.recorded import RecordedAdmin
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


def test_signing_out_of_the_admin_is_recorded(olives: Client, olive: User) -> None:
    olives.post("/admin/logout/")
    assert verify_newest_event("person.signed_out").actor == olive.pk


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
    "change",
    [
        {"is_staff": "on", "is_superuser": "on"},
        {"is_active": ""},
        {"email": "new@example.org"},
    ],
)
def test_changing_a_role_fails_if_it_cannot_be_recorded(
    olives: Client, alice: User, change: dict[str, str], request: pytest.FixtureRequest
) -> None:
    olives.raise_request_exception = False
    request.getfixturevalue("full")
    fields = {"username": "alice", "is_active": "on"} | change
    fields = {name: value for name, value in fields.items() if value}
    assert olives.post(f"/admin/chatapp/user/{alice.pk}/change/", fields).status_code == 500
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


def test_every_model_admin_records_its_actions() -> None:
    request = HttpRequest()
    request.user = User(is_active=True, is_staff=True, is_superuser=True)
    for model, model_admin in admin.site._registry.items():  # noqa: SLF001 - nothing else lists them
        assert isinstance(model_admin, RecordedAdmin), model
        name = {"user": "person"}.get(model._meta.model_name or "", model._meta.model_name)
        may = {
            "added": model_admin.has_add_permission(request),
            "changed": model_admin.has_change_permission(request),
            "deleted": model_admin.has_delete_permission(request),
        }
        for verb in [verb for verb, is_allowed in may.items() if is_allowed]:
            assert f"{name}.{verb}" in audit.ACTIONS


def test_a_role_change_is_recorded_with_before_and_after(
    olives: Client, olive: User, alice: User
) -> None:
    group = Group.objects.create(name="Readers")
    fields = {"username": "alice", "is_active": "on", "is_staff": "on", "groups": [group.pk]}
    olives.post(f"/admin/chatapp/user/{alice.pk}/change/", fields)
    event = verify_newest_event("role.changed")
    assert (event.actor, event.person) == (olive.pk, alice.pk)
    values = event.detail.values
    assert values["before"] == {"is_staff": False, "groups": []}
    assert values["after"] == {"is_staff": True, "groups": [f"Readers ({group.pk})"]}


def test_a_password_set_by_an_administrator_is_recorded_as_changed(
    olives: Client, alice: User
) -> None:
    fields = {"password1": NEW, "password2": NEW}
    olives.post(f"/admin/chatapp/user/{alice.pk}/password/", fields)
    event = verify_newest_event("password.changed")
    assert event.detail.values["after"] == {"password": "changed"}


def test_an_api_key_is_recorded_as_changed_but_never_stored(
    olives: Client, saved_upstream: Upstream
) -> None:
    fields = {
        "name": "Renamed",
        "base_url": saved_upstream.base_url,
        "new_api_key": "keycanary with spaces",
        "dialect": "auto",
        "parameters": '{"temperature": 0.2}',
        "silence_seconds": "300",
        "image_side": "1568",
        "enabled": "on",
    }
    olives.post(f"/admin/chatapp/upstream/{saved_upstream.pk}/change/", fields)
    event = verify_newest_event("upstream.changed")
    assert event.detail.values["before"]["name"] == "Fake"
    assert event.detail.values["after"]["name"] == "Renamed"
    assert event.detail.values["after"]["new_api_key"] == "changed"
    assert event.detail.values["after"]["parameters"] == {"temperature": 0.2}
    assert "canary" not in "".join(AuditDetail.objects.values_list("content", flat=True))


def test_a_tool_servers_secrets_are_recorded_as_changed(olives: Client) -> None:
    fields = {
        "name": "wiki",
        "transport": "http",
        "url": "http://wiki/mcp?token=abc",
        "new_secrets": "Authorization: Bearer keycanary",
        "timeout_seconds": "30",
        "result_limit_kb": "100",
    }
    olives.post("/admin/chatapp/toolserver/add/", fields)
    server = ToolServer.objects.get()
    assert (
        verify_newest_event("toolserver.added").detail.values["after"]["new_secrets"] == "changed"
    )
    olives.post(f"/admin/chatapp/toolserver/{server.pk}/delete/", {"post": "yes"})
    assert verify_newest_event("toolserver.deleted").target == str(server.pk)
    assert "canary" not in "".join(AuditDetail.objects.values_list("content", flat=True))


def test_groups_suggestions_and_the_installation_are_recorded(
    olives: Client, saved_upstream: Upstream
) -> None:
    olives.post("/admin/auth/group/add/", {"name": "Readers"})
    assert verify_newest_event("group.added").detail.values["after"] == {"name": "Readers"}
    olives.post("/admin/chatapp/suggestion/add/", {"text": "Explain", "position": "0"})
    suggestion = Suggestion.objects.get()
    chosen = {"action": "delete_selected", "_selected_action": suggestion.pk, "post": "yes"}
    olives.post("/admin/chatapp/suggestion/", chosen)
    assert verify_newest_event("suggestion.deleted").detail.values["about"] == "Explain"
    fields = {"title_upstream": saved_upstream.pk, "title_model": "small"}
    olives.post("/settings/", fields)
    after = verify_newest_event("installation.changed").detail.values["after"]
    assert after == {"title_model": "small", "title_upstream": f"Fake ({saved_upstream.pk})"}
    assert Installation.load().title_model == "small"


def test_disabling_the_demo_is_recorded(olives: Client) -> None:
    Upstream.connect_environment("Demo", "http://127.0.0.1:9/v1", "")
    fields = {"name": "Real", "base_url": "http://real/v1", "dialect": "auto", "enabled": "on"}
    fields |= {"parameters": "{}", "silence_seconds": "300", "image_side": "1568"}
    olives.post("/admin/chatapp/upstream/add/", fields)
    event = verify_newest_event("upstream.changed")
    assert event.detail.values["about"] == "Demo"
    assert event.detail.values["after"] == {"enabled": False}
    assert verify_newest_event("upstream.added")


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
    olives.post(f"/admin/chatapp/user/{pk}/delete/", {"post": "yes"})
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
