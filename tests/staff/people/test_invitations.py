"""Joining by invitation or by the domain of an email address, and by nothing else."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from importlib import import_module
from threading import Barrier
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.core import mail
from django.core.cache import cache
from django.db import connections
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from chatapp.accounts import links
from chatapp.erasure.people import erase
from chatapp.models import AuditEvent, Installation, Invitation, User
from tests.conftest import PASSWORD, signed_in
from tests.support.page import parse

pytestmark = pytest.mark.django_db

MARKUP = '<img src=x onerror="alert(1)">'


def stranger() -> Client:
    return Client(headers={"host": "localhost"})


def invite(client: Client, **fields: Any) -> str:
    """Create an invitation and return the path of its link."""
    answer = client.post("/people/invitations/", {"days": 7, "uses": 1, **fields})
    [field] = parse(answer.text).find_all("#link")
    return str(field.attributes["value"]).removeprefix("http://localhost")


def fields(username: str, email: str = "") -> dict[str, str]:
    return {"username": username, "email": email, "password1": PASSWORD, "password2": PASSWORD}


def read_sent_path() -> str:
    match = re.search(r"http://localhost(\S+)", str(mail.outbox[-1].body))
    assert match
    return match[1]


@pytest.fixture
def mails(settings: Settings) -> None:
    cache.clear()
    settings.EMAIL_URL = "smtp://mail.example.org"


def test_an_invited_person_creates_an_account(olives: Client) -> None:
    writers = Group.objects.create(name="Writers")
    path = invite(olives, group=writers.pk)
    carol = stranger()
    assert "Choose a username and a password" in carol.get(path).text
    assert carol.post(path, fields("carol")).headers["location"] == "/"
    person = User.objects.get(username="carol")
    assert (person.administers, person.reviews, person.is_staff) == (False, False, False)
    assert list(person.groups.all()) == [writers]
    assert carol.get("/help/").status_code == 200
    refused = stranger().post(path, fields("dave"))
    assert refused.status_code == 410
    assert "has already been used" in refused.text
    assert not User.objects.filter(username="dave").exists()


def test_the_link_is_stored_nowhere(olives: Client) -> None:
    token = invite(olives).split("/")[2]
    assert token not in str(list(Invitation.objects.values()))
    assert token not in olives.get("/people/invitations/").text


def test_an_invitation_gives_its_role(olives: Client) -> None:
    path = invite(olives, administers="on")
    page = stranger()
    assert "This account will be an administrator." in page.get(path).text
    page.post(path, fields("carol"))
    carol = User.objects.get(username="carol")
    assert (carol.administers, carol.reviews) == (True, False)


def test_an_invitation_is_void_if_its_maker_can_no_longer_give_the_role(
    olives: Client, olive: User
) -> None:
    path = invite(olives, administers="on")
    plain = invite(olives)
    User.objects.filter(pk=olive.pk).update(is_superuser=False)
    refused = stranger().post(path, fields("carol"))
    assert (refused.status_code, User.objects.count()) == (410, 1)
    assert "can no longer give this role" in refused.text
    stranger().post(plain, fields("carol"))
    assert not User.objects.get(username="carol").administers


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, "has expired"),
        ({"revoked_at": timezone.now()}, "was revoked"),
        ({"used": 1}, "has already been used"),
        ({"token_hash": "another"}, "invitation link isn"),
    ],
)
def test_an_invalid_link_says_why(olives: Client, changed: dict[str, Any], reason: str) -> None:
    path = invite(olives)
    Invitation.objects.update(**changed)
    for answer in (stranger().get(path), stranger().post(path, fields("carol"))):
        assert (answer.status_code, reason in answer.text) == (410, True)
    assert User.objects.count() == 1


def test_an_invitation_is_revoked(olives: Client) -> None:
    path = invite(olives)
    invitation = Invitation.objects.get()
    olives.post(f"/people/invitations/{invitation.pk}/revoke/")
    assert stranger().get(path).status_code == 410
    assert "revoked" in olives.get("/people/invitations/").text


def test_no_link_works_while_nobody_may_join(olives: Client) -> None:
    path = invite(olives)
    olives.post("/people/access/", {"signup": "closed", "signup_domains": ""})
    assert stranger().post(path, fields("carol")).status_code == 410
    assert User.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_sign_ups_do_not_exceed_the_number_of_uses(olives: Client) -> None:
    path = invite(olives, uses=2)
    together = Barrier(5)

    def accept(number: int) -> int:
        client = stranger()
        together.wait(20)
        try:
            return client.post(path, fields(f"carol{number}")).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(5) as pool:
        answers = sorted(pool.map(accept, range(5)))
    assert answers == [302, 302, 410, 410, 410]
    assert User.objects.filter(username__startswith="carol").count() == 2
    assert Invitation.objects.get().used == 2


def test_an_invalid_name_or_password_uses_up_nothing(olives: Client, alice: User) -> None:
    path = invite(olives)
    form = fields("carol")
    for wrong in (
        fields("Alice"),
        fields("no name"),
        fields("nul\0"),
        fields(MARKUP),
        form | {"password1": "short", "password2": "short"},
        form | {"password2": "another"},
        fields("carol", "no address"),
    ):
        answer = stranger().post(path, wrong)
        assert answer.status_code in (200, 400)
        assert "<img" not in answer.text
    assert Invitation.objects.get().used == 0
    assert stranger().post(path, form).status_code == 302


def test_a_signed_in_person_uses_up_nothing(olives: Client, alices: Client) -> None:
    path = invite(olives)
    for answer in (alices.get(path), alices.post(path, fields("carol"))):
        assert "You are signed in as alice" in answer.text
    assert Invitation.objects.get().used == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"days": 0},
        {"days": 366},
        {"uses": 0},
        {"uses": 10**9},
        {"addresses": "nobody"},
        {"addresses": "carol@example.org", "uses": 2},
        {"administers": "on", "uses": 2},
        {"group": 99},
    ],
)
def test_an_invalid_invitation_form_creates_nothing(olives: Client, wrong: dict[str, Any]) -> None:
    answer = olives.post("/people/invitations/", {"days": 7, "uses": 1, **wrong})
    assert 'role="alert"' in answer.text
    assert not Invitation.objects.exists()


def test_members_and_reviewers_cannot_invite(alice: User, olive: User) -> None:
    rita = User.objects.create_user("rita", password=PASSWORD, is_staff=True, reviews=True)
    for person in (alice, rita):
        client = signed_in(person, confirmed=True)
        answer = client.post("/people/invitations/", {"days": 7, "uses": 1, "administers": "on"})
        assert answer.status_code == 403
    assert not Invitation.objects.exists()


# Mail


def test_an_emailed_invitation_sets_the_accounts_address(olives: Client, mails: None) -> None:
    form = {"days": 7, "uses": 1, "addresses": "carol@example.org"}
    answer = olives.post("/people/invitations/", form, follow=True)
    assert "was sent to carol@example.org" in answer.text
    assert mail.outbox[0].to == ["carol@example.org"]
    stranger().post(read_sent_path(), fields("carol", "mallory@example.org"))
    assert User.objects.get(username="carol").email == "carol@example.org"


def test_a_failed_email_shows_the_link_to_copy(
    olives: Client, mails: None, settings: Settings
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    assert stranger().get(invite(olives, addresses="carol@example.org")).status_code == 200


def test_a_typed_address_is_confirmed_first(olives: Client, mails: None) -> None:
    path = invite(olives)
    carols = stranger()
    carols.post(path, fields("carol", "carol@example.org"))
    carol = User.objects.get(username="carol")
    assert carol.email == ""
    link = read_sent_path()
    assert mail.outbox[0].to == ["carol@example.org"]
    stranger().get(link)  # a mail scanner that fetches links changes nothing
    carol.refresh_from_db()
    assert carol.email == ""
    stranger().post(link)
    carol.refresh_from_db()
    assert carol.email == "carol@example.org"
    assert stranger().post(link).status_code == 410
    assert stranger().post("/accounts/address/guessed/").status_code == 410


def test_an_address_of_an_allowed_domain_is_sent_a_link(olives: Client, mails: None) -> None:
    olives.post("/people/access/", {"signup": "domains", "signup_domains": "example.org"})
    visitor = stranger()
    assert "Create one with your email address" in visitor.get("/accounts/login/").text
    wrong = visitor.post("/accounts/signup/", {"email": "eve@example.com"})
    assert "Addresses of this domain" in wrong.text
    assert not mail.outbox
    answer = visitor.post("/accounts/signup/", {"email": "carol@Example.org"})
    assert "Check your email" in answer.text
    event = AuditEvent.objects.get(action="person.invited")
    assert (event.actor, event.detail.values["by"]) == (None, "themselves")
    visitor.post(read_sent_path(), fields("carol"))
    carol = User.objects.get(username="carol")
    assert (carol.email, carol.is_staff) == ("carol@example.org", False)
    again = stranger().post("/accounts/signup/", {"email": "carol@example.org"})
    assert again.text.count("Check your email") == answer.text.count("Check your email")
    assert mail.outbox[-1].subject == "A new password"


def test_a_deactivated_person_is_sent_nothing(olives: Client, mails: None, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org", is_active=False)
    olives.post("/people/access/", {"signup": "domains", "signup_domains": "example.org"})
    answer = stranger().post("/accounts/signup/", {"email": "Alice@example.org"})
    assert "Check your email" in answer.text
    assert not mail.outbox
    assert not Invitation.objects.exists()


def test_an_address_with_an_account_gets_no_second_one(olives: Client, alice: User) -> None:
    """Neither account could sign in with it, and a deactivated person would be back."""
    path = invite(olives, addresses="alice@example.org")
    User.objects.filter(pk=alice.pk).update(email="Alice@example.org", is_active=False)
    for answer in (stranger().get(path), stranger().post(path, fields("alice2"))):
        assert answer.status_code == 410
        assert "already an account with this email address" in answer.text
    assert not User.objects.filter(username="alice2").exists()
    User.objects.filter(pk=alice.pk).delete()
    assert stranger().post(path, fields("alice2")).status_code == 302


def test_an_email_address_is_no_valid_username(olives: Client) -> None:
    answer = stranger().post(invite(olives), fields("alice@example.org"))
    assert "contain @" in answer.text


def test_invitations_by_deactivated_or_erased_people_are_void(olives: Client, olive: User) -> None:
    ada = User.objects.create_superuser("ada", password=PASSWORD)
    paths = [invite(signed_in(ada, confirmed=True), uses=9) for _ in range(2)]
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert stranger().post(paths[0], fields("again")).status_code == 410
    User.objects.filter(pk=ada.pk).update(is_active=True)
    assert stranger().post(paths[0], fields("again")).status_code == 302
    erase([ada], olive)
    assert stranger().post(paths[1], fields("once-more")).status_code == 410


def test_emails_to_an_address_are_limited(olives: Client, mails: None, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    for path in ("/accounts/password/reset/", "/accounts/signup/"):
        olives.post("/people/access/", {"signup": "domains", "signup_domains": "example.org"})
        mail.outbox.clear()
        answers = [stranger().post(path, {"email": "alice@example.org"}) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert len(mail.outbox) == 3


def test_a_forgotten_password_is_reset_by_email(mails: None, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    known_page, unknown_page = (
        stranger().post("/accounts/password/reset/", {"email": email}).text
        for email in ("alice@example.org", "nobody@example.org")
    )
    assert known_page.replace("alice", "x") == unknown_page.replace("nobody", "x")
    assert len(mail.outbox) == 1
    new = {"new_password1": "four wild geese at dawn", "new_password2": "four wild geese at dawn"}
    assert stranger().post(read_sent_path(), new).status_code == 302


@pytest.mark.parametrize(
    "form",
    [
        {"signup": "domains", "signup_domains": ""},
        {"signup": "domains", "signup_domains": "no domain"},
        {"signup": "domains", "signup_domains": "a@b.c"},
        {"signup": "everybody", "signup_domains": ""},
    ],
)
def test_invalid_domains_are_refused(olives: Client, mails: None, form: dict[str, str]) -> None:
    assert 'role="alert"' in olives.post("/people/access/", form).text
    assert Installation.load().signup == Installation.SignUp.INVITED


def test_without_email_nobody_joins_by_domain(olives: Client) -> None:
    form = {"signup": "domains", "signup_domains": "example.org"}
    assert "This needs email" in olives.post("/people/access/", form).text
    Installation.objects.update_or_create(pk=1, defaults=form)
    assert "Sign-up is closed" in stranger().post("/accounts/signup/", {"email": "a@b.c"}).text


@pytest.mark.parametrize(
    "local", ["eve%example.com", "example.com!eve", '"eve@example.com"', '"eve"', "eve/x", "a b"]
)
def test_an_address_that_may_be_relayed_elsewhere_is_refused(
    olives: Client, mails: None, local: str
) -> None:
    olives.post("/people/access/", {"signup": "domains", "signup_domains": "example.org"})
    answer = stranger().post("/accounts/signup/", {"email": f"{local}@example.org"})
    assert parse(answer.text).find_all("[role=alert]")
    assert not mail.outbox
    assert not Invitation.objects.exists()
    stranger().post("/accounts/signup/", {"email": "eve.o'neil+x@example.org"})
    assert len(mail.outbox) == 1


def test_emailed_links_use_the_configured_origin_not_the_request_host(
    olives: Client, mails: None, settings: Settings
) -> None:
    settings.PUBLIC_ORIGIN = "https://chat.example.org"
    User.objects.create_user("carol", "carol@example.org", PASSWORD)
    strange = Client(headers={"host": "localhost:9999"})
    olives.post("/people/invitations/", {"days": 7, "uses": 1, "addresses": "dave@example.org"})
    strange.post("/accounts/password/reset/", {"email": "carol@example.org"})
    invited, reset = (str(message.body) for message in mail.outbox)
    assert "https://chat.example.org/invitation/" in invited
    assert "https://chat.example.org/accounts/password/new/" in reset
    assert ":9999" not in invited + reset


# Addresses that an account had


def test_changing_an_address_deletes_the_invitation_to_the_old_one(olives: Client) -> None:
    path = invite(olives, addresses="carol@example.org")
    invite(olives, addresses="dave@example.org")
    stranger().post(path, fields("carol"))
    carol = User.objects.get(username="carol")
    assert Invitation.objects.filter(address=carol.email).exists()
    page = f"/people/{carol.pk}/name/"
    changed = {"username": "carol", "first_name": "C", "email": "Carol@Example.org"}
    assert olives.post(page, changed).status_code == 302
    assert Invitation.objects.filter(address="carol@example.org").exists()
    assert olives.post(page, changed | {"email": "c@x.test"}).status_code == 302
    assert [invitation.address for invitation in Invitation.objects.all()] == ["dave@example.org"]


def test_confirming_an_address_deletes_the_invitation_to_the_old_one(
    olives: Client, alice: User
) -> None:
    Invitation.objects.create(address="a@x.test", token_hash="a", expires_at=timezone.now())
    User.objects.filter(pk=alice.pk).update(email="a@x.test")
    alice.refresh_from_db()
    alice.first_name = "Alice"
    alice.save(update_fields=["first_name"])
    assert Invitation.objects.exists()
    alice.email = "b@x.test"
    alice.save(update_fields=["email"])
    assert not Invitation.objects.exists()


def test_the_upgrade_deletes_invitations_to_former_addresses(olive: User) -> None:
    User.objects.filter(pk=olive.pk).update(email="Olive@x.test")
    for used, address in ((1, "olive@x.test"), (1, "former@x.test"), (0, "new@x.test"), (3, "")):
        Invitation.objects.create(
            address=address, used=used, uses=9, token_hash=address, expires_at=timezone.now()
        )
    migration = import_module("chatapp.migrations.0041_sessions_and_addresses")
    migration.forget_former_addresses(apps, None)
    left = Invitation.objects.order_by("address").values_list("address", flat=True)
    assert list(left) == ["", "new@x.test", "olive@x.test"]


PASTED = """Name,Email
Ann Smith,ann@example.org
"Bea" <bea@example.org>; cid@example.org, ANN@example.org
"""


def find_links(page: str) -> list[str]:
    return [str(field.attributes["value"]) for field in parse(page).find_all("input[readonly]")]


def test_several_people_are_invited_in_one_step(olives: Client) -> None:
    """Addresses can be pasted as CSV, with names, and twice."""
    page = olives.post("/people/invitations/", {"addresses": PASTED, "days": 7, "uses": 1}).text
    links = find_links(page)
    assert len(set(links)) == 3
    assert "Link for bea@example.org" in page
    invited = Invitation.objects.order_by("pk").values_list("address", flat=True)
    assert list(invited) == ["ann@example.org", "bea@example.org", "cid@example.org"]
    assert AuditEvent.objects.filter(action="person.invited").count() == 3
    stranger().post(links[1].removeprefix("http://localhost"), fields("bea", "bea@example.org"))
    assert User.objects.get(username="bea").email == "bea@example.org"


@pytest.mark.parametrize(
    ("pasted", "problem"),
    [
        ("ann@example.org\nBea Smith", "“Bea Smith” isn&#39;t an email address."),
        ("ann@example.org, bea@", "“bea@” isn&#39;t an email address."),
        ("<script>@x", "isn&#39;t an email address."),
        ("nobody", "Enter email addresses"),
        ("\n".join(f"p{number}@example.org" for number in range(51)), "Invite 50 at most."),
        ("ann@example.org alice@example.org", "There is already an account with alice@example.org"),
    ],
)
def test_pasted_addresses_are_checked_before_anyone_is_invited(
    olives: Client, alice: User, pasted: str, problem: str
) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    page = olives.post("/people/invitations/", {"addresses": pasted, "days": 7, "uses": 1}).text
    assert problem in page
    assert not Invitation.objects.exists()


def test_mails_are_sent_to_all_and_failed_ones_can_be_shared(
    olives: Client, mails: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    invitation_fields = {"addresses": "ann@example.org bea@example.org", "days": 7, "uses": 1}
    page = olives.post("/people/invitations/", invitation_fields, follow=True).text
    assert "The invitation was sent to 2 people." in page
    assert [message.to for message in mail.outbox] == [["ann@example.org"], ["bea@example.org"]]
    send = links.send

    def fail_for_cid(name: str, address: str, *about: Any, **context: Any) -> bool:
        return address != "cid@example.org" and send(name, address, *about, **context)

    monkeypatch.setattr(links, "send", fail_for_cid)
    invitation_fields["addresses"] = "cid@example.org dan@example.org"
    page = olives.post("/people/invitations/", invitation_fields).text
    assert "The email could not be sent." in page
    assert len(find_links(page)) == 1
    assert "Link for cid@example.org" in page


def test_a_renewed_invitation_has_a_new_link_and_as_much_time_again(olives: Client) -> None:
    path = invite(olives, addresses="carol@example.org", administers="on")
    invitation = Invitation.objects.get()
    earlier = timezone.now() - timedelta(days=8)
    Invitation.objects.update(created_at=earlier, expires_at=earlier + timedelta(days=7))
    assert stranger().get(path).status_code == 410
    page = olives.post(f"/people/invitations/{invitation.pk}/renew/").text
    [link] = find_links(page)
    assert stranger().get(path).status_code == 410
    assert stranger().get(link.removeprefix("http://localhost")).status_code == 200
    invitation.refresh_from_db()
    assert timedelta(days=6) < invitation.expires_at - timezone.now() <= timedelta(days=7)
    assert AuditEvent.objects.filter(action="invitation.renewed").count() == 1


@pytest.mark.parametrize("ended", [{"used": 1}, {"revoked_at": timezone.now()}])
def test_an_invitation_that_was_used_or_revoked_is_not_renewed(
    olives: Client, ended: dict[str, Any]
) -> None:
    invite(olives)
    Invitation.objects.update(**ended)
    before = Invitation.objects.values().get()
    page = olives.post(f"/people/invitations/{before['id']}/renew/", follow=True).text
    assert "This invitation was used or revoked. Make a new one." in page
    assert Invitation.objects.values().get() == before
