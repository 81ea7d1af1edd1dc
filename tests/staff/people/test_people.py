"""The People pages: the list, roles, and changes to a person."""

import html
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.core import mail
from django.test import Client
from pytest_django import Settings

from chatapp.models import AuditEvent, Device, User
from chatapp.staff.people import queries
from tests.conftest import PASSWORD, signed_in
from tests.support.allowed import limit
from tests.support.page import parse

pytestmark = pytest.mark.django_db

NEW = "four wild geese at dawn"
MARKUP = '<img src=x onerror="alert(1)">'


@pytest.fixture
def otto(db: None) -> User:
    """Another administrator, who is not a reviewer."""
    return User.objects.create_superuser("otto", password=PASSWORD, reviews=False)


def post_change(client: Client, person: User, what: str, **fields: Any) -> str:
    answer = client.post(f"/people/{person.pk}/{what}/", fields, follow=True)
    assert answer.status_code == 200, answer.status_code
    return answer.text


def names(page: str) -> list[str]:
    return [cell.text.strip() for cell in parse(page).find_all("tbody th")]


# The list


def test_the_list_is_searched_and_filtered(olives: Client, alice: User, bob: User) -> None:
    writers = Group.objects.create(name="Writers")
    alice.groups.add(writers)
    User.objects.filter(pk=bob.pk).update(is_active=False, email="bob@example.org")
    assert names(olives.get("/people/").text) == ["alice", "bob", "olive"]
    for query, expected in {
        "q=LIC": ["alice"],
        "q=example.org": ["bob"],
        "q=bob+alice": [],
        "role=administrator": ["olive"],
        "role=reviewer": ["olive"],
        "role=member": ["alice", "bob"],
        f"group={writers.pk}": ["alice"],
        "state=off": ["bob"],
        "state=never&q=alice": ["alice"],
        "role=nonsense&group=99&state=x": ["alice", "bob", "olive"],
        "q=" + "x" * 5000: ["alice", "bob", "olive"],
    }.items():
        assert names(olives.get(f"/people/?{query}").text) == expected, query


def test_the_list_is_paginated(
    olives: Client, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PAGE", 2)
    first = olives.get("/people/?role=").text
    [more] = [a for a in parse(first).find_all("a") if a.text == "More people"]
    assert names(first) == ["alice", "bob"]
    assert names(
        olives.get(f"/people/{str(more.attributes['href']).removeprefix('/people/')}").text
    ) == ["olive"]


def test_names_are_escaped(olives: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(first_name=MARKUP, username=MARKUP, email="a@x.test")
    Group.objects.create(name=MARKUP)
    alices = signed_in(User.objects.get(pk=alice.pk))
    alices.get("/help/", headers={"User-Agent": MARKUP})
    for path in ("/people/", f"/people/{alice.pk}/", f"/people/{alice.pk}/delete/"):
        assert "<img" not in olives.get(path).text, path


def test_the_list_shows_second_factors_and_open_invitations(
    olives: Client, alice: User, django_assert_max_num_queries: Any
) -> None:
    Authenticator.objects.create(user=alice, type=Authenticator.Type.TOTP, data={})
    codes = Authenticator.Type.RECOVERY_CODES
    Authenticator.objects.create(user=User.objects.get(username="olive"), type=codes, data={})
    olives.post("/people/invitations/", {"days": 1, "uses": 1, "addresses": "eve@example.org"})
    with django_assert_max_num_queries(11):
        page = parse(olives.get("/people/").text)
    rows = {row.find("th").text.strip(): row for row in page.find_all("tbody tr")}
    factors = {name: row.find_all("td")[2].text.strip() for name, row in rows.items()}
    assert factors == {"alice": "Yes", "olive": "No"}
    assert "eve@example.org" in page.find("ul", class_="plain-list").text
    assert "eve@example.org" not in olives.get("/people/?q=alice").text


# A person's page


def read_rows(page: str) -> dict[str, str]:
    """Return what each row of a person's page says is set, by its title."""
    page = page.replace("\u2019", "'")
    return {
        row.find("span", class_="title").text.strip(): " ".join(
            row.find("span", class_="value").text.split()
        )
        for row in parse(page).find_all("div.row")
    }


def test_the_page_says_at_a_glance_what_is_set(olives: Client, alice: User, olive: User) -> None:
    alice.groups.add(Group.objects.create(name="Writers"))
    alice.conversations.create(title="Hers")
    for kind in (Authenticator.Type.TOTP, *[Authenticator.Type.WEBAUTHN] * 2):
        Authenticator.objects.create(user=alice, type=kind, data={})
    SocialAccount.objects.create(user=alice, provider="oidc", uid="1")
    signed_in(alice).get("/help/", headers={"User-Agent": "X11; Linux Firefox/9"})
    limit(1000, user=alice)
    rows = read_rows(olives.get(f"/people/{alice.pk}/").text)
    assert rows.pop("Devices").startswith("1 device, last seen ")
    assert rows == {
        "Name and email": "Not entered",
        "Role": "Member",
        "Groups": "Writers",
        "Password": "Set",
        "Second factor": "Authenticator app, 2 passkeys",
        "Organisation's sign-in": "Connected",
        "Limits": "1,000 tokens in total: 100% left",
        "Usage this month": "0 tokens",
        "Review": "1 chat. Reviewers may read every chat.",
        "Legal hold": "None: chats can be deleted",
        "Deactivate": "They can't sign in any more. Their chats are kept.",
        "Delete": "The account and all of its chats are erased. This can't be undone.",
    }


@pytest.mark.parametrize(
    ("what", "fields", "section"),
    [
        ("name", {"username": "alice", "first_name": "A"}, "name"),
        ("roles", {"reviews": "on"}, "roles"),
        ("second-factor", {}, "second-factor"),
        ("hold", {"reason": "a matter"}, "hold"),
        ("end-hold", {"hold": "99"}, "hold"),
        ("active", {}, "active"),
    ],
)
def test_a_change_returns_to_its_row_which_says_what_was_done_once(
    olives: Client, alice: User, what: str, fields: dict[str, str], section: str
) -> None:
    answer = olives.post(f"/people/{alice.pk}/{what}/", fields)
    assert answer.headers["location"] == f"/people/{alice.pk}/#{section}"
    page = parse(olives.get(f"/people/{alice.pk}/").text)
    [message] = page.find_all("p.said")
    assert message.text in page.find(id=section).text
    assert not page.find_all("div.messages")


def test_an_invalid_form_is_shown_in_its_open_row(olives: Client, alice: User) -> None:
    page = parse(post_change(olives, alice, "name", email="no address"))
    [row] = page.find_all("details[open]")
    assert "valid email address" in row.text


# Roles


def test_roles_are_given_and_removed(olives: Client, alice: User, olive: User) -> None:
    page = post_change(olives, alice, "roles", administers="on", reviews="on")
    assert "alice is now an administrator and a reviewer." in page
    alice.refresh_from_db()
    assert (alice.administers, alice.reviews, alice.is_staff) == (True, True, True)
    post_change(olives, alice, "roles")
    alice.refresh_from_db()
    assert (alice.administers, alice.reviews, alice.is_staff) == (False, False, False)


def test_nobody_can_give_themselves_a_role(otto: User, olive: User) -> None:
    ottos = signed_in(otto, confirmed=True)
    page = post_change(ottos, otto, "roles", administers="on", reviews="on")
    otto.refresh_from_db()
    assert not otto.reviews
    assert "give yourself a role" in page


def test_people_can_remove_their_own_role_unless_they_are_the_last_administrator(
    olives: Client, olive: User
) -> None:
    post_change(olives, olive, "roles", administers="on")
    olive.refresh_from_db()
    assert (olive.administers, olive.reviews) == (True, False)
    for what in ("roles", "active"):
        assert "This is the last account" in post_change(olives, olive, what)
    assert "This is the last account" in post_change(olives, olive, "delete")
    olive.refresh_from_db()
    assert (olive.administers, olive.is_active) == (True, True)


def test_an_administrator_who_is_not_a_reviewer_reads_nothing(otto: User, alice: User) -> None:
    conversation = alice.conversations.create(title="Alice's own words")
    ottos = signed_in(otto, confirmed=True)
    for path in ("", f"{conversation.pk}/", "export/?format=csv"):
        assert ottos.get(f"/review/{path}").status_code == 403, path
    assert "Alice's own words" not in ottos.get(f"/people/{alice.pk}/").text


# Changes to a person


@pytest.mark.parametrize(
    "what", ["name", "roles", "groups", "sign-out", "reset-link", "active", "delete"]
)
def test_every_change_requires_the_password(alice: User, olive: User, what: str) -> None:
    olives = signed_in(olive)
    fields = {"administers": "on", "email": "a@x.test"}
    answer = olives.post(f"/people/{alice.pk}/{what}/", fields)
    assert answer.headers["location"].startswith("/accounts/reauthenticate/")
    before = User.objects.values().get(pk=alice.pk)
    assert (before["is_active"], before["is_superuser"], before["email"]) == (True, False, "")


@pytest.mark.parametrize("headers", [{"HX-Request": "true"}, {"Sec-Fetch-Mode": "cors"}])
def test_requests_from_scripts_are_refused(
    olives: Client, alice: User, headers: dict[str, str]
) -> None:
    for path in (
        f"/people/{alice.pk}/roles/",
        f"/people/{alice.pk}/delete/",
        "/people/invitations/",
    ):
        assert olives.post(path, {"administers": "on"}, headers=headers).status_code == 403


def test_a_deactivated_person_is_signed_out_and_can_be_reactivated(
    olives: Client, alice: User
) -> None:
    alices = signed_in(alice)
    assert "is deactivated" in post_change(olives, alice, "active")
    assert alices.get("/").status_code == 302
    assert "can sign in again" in post_change(olives, alice, "active", active="on")
    assert signed_in(alice).get("/help/").status_code == 200


def test_devices_are_signed_out_one_by_one_or_all_at_once(
    olives: Client, alice: User, bob: User
) -> None:
    phone, laptop, bobs = signed_in(alice), signed_in(alice), signed_in(bob)
    agents = {phone: "Mozilla/5.0 (iPhone) CriOS/1 Safari/1", laptop: "X11; Linux Firefox/9"}
    for client, agent in agents.items():
        client.get("/help/", headers={"User-Agent": agent})
    bobs.get("/help/")
    page = olives.get(f"/people/{alice.pk}/").text
    assert "Chrome on iPhone" in page
    assert "Firefox on Linux" in page
    theirs = Device.objects.get(user=bob)
    post_change(olives, alice, "sign-out", device=theirs.pk)  # which is not one of Alice's
    mine = Device.objects.get(agent__contains="iPhone")
    post_change(olives, alice, "sign-out", device=mine.pk)
    assert [browser.get("/help/").status_code for browser in (phone, laptop, bobs)] == [
        302,
        200,
        200,
    ]
    post_change(olives, alice, "sign-out", device="9" * 40)
    post_change(olives, alice, "sign-out")
    assert [browser.get("/help/").status_code for browser in (laptop, bobs)] == [302, 200]
    assert not Device.objects.filter(user=alice).exists()


def test_ending_a_session_deletes_its_device(alice: User) -> None:
    signed_in(alice).get("/help/")
    assert Device.objects.count() == 1
    Session.objects.all().delete()
    assert not Device.objects.exists()


def test_a_link_sets_a_new_password_once(olives: Client, alice: User) -> None:
    alices = signed_in(alice)
    page = parse(post_change(olives, alice, "reset-link"))
    [field] = page.find_all("#link")
    path = str(field.attributes["value"]).removeprefix("http://localhost")
    stranger = Client(headers={"host": "localhost"})
    assert stranger.get(path).status_code == 200
    assert stranger.get(path).headers["Referrer-Policy"] == "strict-origin"
    short = {"new_password1": "short", "new_password2": "short"}
    assert stranger.post(path, short).status_code == 200
    fields = {"new_password1": NEW, "new_password2": NEW}
    assert stranger.post(path, fields).headers["location"] == "/accounts/login/"
    assert alices.get("/").status_code == 302
    assert stranger.get("/").status_code == 302  # the link signs nobody in
    assert stranger.post(path, fields).status_code == 410
    alice.refresh_from_db()
    assert alice.check_password(NEW)


@pytest.mark.parametrize("path", ["x/y", "MQ/abc-def", "%00/x-y", "__8/z-z", f"{'9' * 90}/a-b"])
def test_a_guessed_link_sets_nothing(alice: User, path: str) -> None:
    stranger = Client(headers={"host": "localhost"})
    assert stranger.get(f"/accounts/password/new/{path}/").status_code in (400, 404, 410)


def test_a_password_link_is_emailed_if_possible(
    olives: Client, alice: User, settings: Settings
) -> None:
    settings.EMAIL_URL = "smtp://mail.example.org"
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    assert "was sent to alice@example.org" in post_change(olives, alice, "reset-link")
    [sent] = mail.outbox
    assert sent.to == ["alice@example.org"]
    assert "http://localhost/accounts/password/new/" in sent.body


def test_names_and_an_address_are_changed(olives: Client, alice: User, bob: User) -> None:
    names = {"username": "alma", "first_name": "Alma", "last_name": "Árvíz"}
    post_change(olives, alice, "name", **names, email="alma@example.org")
    alice.refresh_from_db()
    assert (alice.username, alice.get_full_name(), alice.email) == (
        "alma",
        "Alma Árvíz",
        "alma@example.org",
    )
    values = AuditEvent.objects.get(action="person.changed").detail.values
    assert values["before"] == {
        "username": "alice",
        "first_name": "",
        "last_name": "",
        "email": "",
    }
    assert values["after"]["email"] == "alma@example.org"
    page = post_change(olives, bob, "name", username="ALMA", email="Alma@example.org")
    assert "This username is taken" in page
    assert "Another account has this" in page
    assert "can't contain @" in html.unescape(post_change(olives, bob, "name", username="a@b.org"))
    assert User.objects.filter(username="bob").exists()
    User.objects.filter(pk=bob.pk).update(username="bob@example.org")  # made by an older version
    assert "Saved." in post_change(olives, bob, "name", username="bob@example.org")


def test_a_persons_groups_are_set(olives: Client, alice: User) -> None:
    writers = Group.objects.create(name="Writers")
    post_change(olives, alice, "groups", groups=[writers.pk])
    assert list(alice.groups.all()) == [writers]
    assert "not there any more" in post_change(olives, alice, "groups", groups=[99])
    post_change(olives, alice, "groups")
    assert not alice.groups.exists()


def test_a_person_is_deleted(olives: Client, alice: User) -> None:
    alice.conversations.create(title="Hers")
    assert "1 chat with 0 messages" in olives.get(f"/people/{alice.pk}/delete/").text
    assert "alice was deleted" in post_change(olives, alice, "delete")
    assert not User.objects.filter(username="alice").exists()


def test_changes_to_people_are_in_the_audit_log(olives: Client, alice: User, olive: User) -> None:
    post_change(olives, alice, "roles", reviews="on")
    post_change(olives, alice, "groups")
    post_change(olives, alice, "name", username="alice", first_name="A")
    post_change(olives, alice, "sign-out")
    post_change(olives, alice, "reset-link")
    post_change(olives, alice, "active")
    post_change(olives, olive, "active")  # refused, so there is no event
    olives.post("/people/invitations/", {"days": 1, "uses": 1})
    olives.post("/people/access/", {"signup": "closed", "signup_domains": ""})
    olives.post("/people/groups/", {"name": "Writers"})
    post_change(olives, alice, "delete")
    events = AuditEvent.objects.filter(actor=olive.pk).order_by("sequence")
    assert [event.action for event in events] == [
        "role.changed",
        "person.changed",
        "person.changed",
        "sessions.ended",
        "password.link_made",
        "person.deactivated",
        "person.invited",
        "installation.changed",
        "group.added",
        "person.deleted",
        "person.erased",
    ]
