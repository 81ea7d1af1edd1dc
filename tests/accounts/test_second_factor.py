"""A second factor: set up, asked for at the sign-in, lost, and where staff must have one."""

import json
import time
from typing import Any
from uuid import uuid4

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from chatapp.accounts import second_factor
from chatapp.management import stored_secrets
from chatapp.models import AuditEvent, Installation, Opening, ReplyImage, Upstream, User
from tests.conftest import PASSWORD, confirmed, signed_in
from tests.support.page import parse

pytestmark = pytest.mark.django_db

OWN = "/accounts/second-factor/"


@pytest.fixture(autouse=True)
def no_attempts(db: None) -> None:
    cache.clear()


@pytest.fixture
def conversation_with_image(alice: User, connected: Upstream) -> str:
    """The path of the image, which is Alice's."""
    conversation = alice.conversations.create(title="Roses")
    _, reply = conversation.ask(uuid4(), "Which?", None, connected, "one", uuid4())
    ReplyImage.objects.create(message=reply, position=0, media_type="image/gif", data=b"GIF89a")
    return f"/replies/{reply.pk}/images/0/"


def code(secret: str) -> str:
    """What an app shows now."""
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


def set_up(client: Client) -> str:
    """An app, whose secret is returned."""
    page = parse(client.get(f"{OWN}app/").text)
    [secret] = page.find_all("main p code")
    answer = client.post(f"{OWN}app/", {"code": code(secret.text)})
    assert answer.headers["location"] == f"{OWN}codes/", answer.text
    return secret.text


def sign_in(name: str) -> Client:
    """As far as the password gets."""
    client = Client(headers={"host": "localhost"})
    answer = client.post("/accounts/login/", {"login": name, "password": PASSWORD})
    assert answer.headers["location"] == "/accounts/login/code/"
    return client


def codes_of(client: Client) -> list[str]:
    page = parse(client.get(f"{OWN}codes/").text)
    return [one.text for one in page.find_all(".codes code")]


def test_the_sign_in_asks_for_the_code(alice: User, alices: Client) -> None:
    secret = set_up(confirmed(alices))
    client = sign_in("alice")
    assert client.get("/").status_code == 302
    assert "does not fit" in client.post("/accounts/login/code/", {"code": "000000"}).text
    assert client.get("/").status_code == 302
    cache.clear()  # each code counts once: as if it were half a minute later
    answer = client.post("/accounts/login/code/", {"code": code(secret)})
    assert answer.headers["location"] == "/"
    assert client.get("/help/").status_code == 200


def test_a_recovery_code_signs_in_once(alice: User, alices: Client) -> None:
    set_up(confirmed(alices))
    first, *others = codes_of(alices)
    assert len(others) == 9
    assert first in alices.get(f"{OWN}codes/file/").text
    client = sign_in("alice")
    assert client.post("/accounts/login/code/", {"code": first}).status_code == 302
    assert client.get("/help/").status_code == 200
    again = sign_in("alice").post("/accounts/login/code/", {"code": first})
    assert "does not fit" in again.text
    alices.post(f"{OWN}codes/new/")
    assert not {first, *others} & set(codes_of(alices))


def test_codes_are_not_guessed_at_without_end(alice: User, alices: Client) -> None:
    set_up(confirmed(alices))
    client = sign_in("alice")
    told = [client.post("/accounts/login/code/", {"code": "1"}).text for _ in range(8)]
    assert "too many attempts" in told[-1]


def test_what_is_kept_is_encrypted_and_gets_under_the_newest_key(
    alice: User, alices: Client
) -> None:
    secret = set_up(confirmed(alices))
    kept = Authenticator.objects.get(type="totp").data["secret"]
    assert secret not in json.dumps(list(Authenticator.objects.values("data")))
    assert stored_secrets.rotate().rotated == 2
    anew = Authenticator.objects.get(type="totp").data["secret"]
    assert anew != kept
    assert second_factor.MFAAdapter().decrypt(anew) == secret
    assert second_factor.MFAAdapter().decrypt("nonsense") == ""


@pytest.mark.parametrize("path", ["", "app/", "codes/", "codes/new/", "keys/", "keys/add/"])
def test_one_s_own_security_is_looked_at_after_the_password(alices: Client, path: str) -> None:
    for answer in (alices.get(OWN + path), alices.post(OWN + path, {"code": "1"})):
        assert answer.headers["location"].startswith("/accounts/reauthenticate/")


def test_another_one_s_passkey_is_out_of_reach(alices: Client, bob: User) -> None:
    key = Authenticator.objects.create(user=bob, type="webauthn", data={"name": "Bob's"})
    client = confirmed(alices)
    for what in ("name", "end"):
        assert client.get(f"{OWN}keys/{key.pk}/{what}/").status_code == 404
        assert client.post(f"{OWN}keys/{key.pk}/{what}/", {"name": "x"}).status_code == 404
    assert Authenticator.objects.count() == 1


@pytest.mark.parametrize(
    "credential",
    ["", "{}", "[]", "1", '"x"', '{"id": 1}', '{"id": "x", "rawId": "x", "response": {}}', "{"],
)
def test_what_is_no_passkey_is_none(alices: Client, credential: str) -> None:
    confirmed(alices)
    alices.get(f"{OWN}keys/add/")
    added = alices.post(f"{OWN}keys/add/", {"credential": credential, "name": "x"})
    assert added.status_code == 200
    stranger = Client(headers={"host": "localhost"})
    stranger.get("/accounts/login/passkey/", headers={"Accept": "application/json"})
    answer = stranger.post("/accounts/login/passkey/", {"credential": credential})
    assert answer.headers["location"] == "/accounts/login/"
    assert not Authenticator.objects.exists()


def test_staff_who_must_have_one_are_led_to_it(olive: User, alices: Client, settings: Any) -> None:
    olives = confirmed(signed_in(olive))
    olives.post(
        "/people/access/",
        {"signup": "invited", "signup_domains": "", "staff_second_factor": "on"},
    )
    assert Installation.this().staff_second_factor
    for path in ("/people/", "/admin/", "/review/"):
        assert olives.get(path).headers["location"] == OWN, path
    assert "must have a second factor" in olives.get(OWN).text
    assert olives.get("/help/").status_code == alices.get("/help/").status_code == 200
    set_up(olives)
    for path in ("/people/", "/admin/"):
        assert olives.get(path).status_code == 200
    assert "must have a second factor" in olives.post(f"{OWN}app/end/").text
    assert Authenticator.objects.filter(type="totp").exists()


def test_who_has_lost_it_asks_an_administrator(
    olives: Client, olive: User, alice: User, alices: Client, settings: Settings
) -> None:
    set_up(confirmed(alices))
    assert "Remove the second factor" in olives.get(f"/people/{alice.pk}/").text
    olives.post(f"/people/{alice.pk}/second-factor/")
    assert not Authenticator.objects.exists()
    client = Client(headers={"host": "localhost"})
    answer = client.post("/accounts/login/", {"login": "alice", "password": PASSWORD})
    assert answer.headers["location"] == "/"
    told = olives.post(f"/people/{olive.pk}/second-factor/", follow=True).text
    assert "Remove your own" in told


def test_what_is_added_and_ended_is_recorded(alice: User, alices: Client) -> None:
    confirmed(alices)
    set_up(alices)
    alices.post(f"{OWN}app/end/")
    found = AuditEvent.objects.filter(action__startswith="factor.").order_by("sequence")
    told = [(one.action, one.actor, one.detail.said["kind"]) for one in found]
    assert told[0] == ("factor.added", alice.pk, "TOTP Authenticator")
    assert ("factor.removed", alice.pk, "TOTP Authenticator") in told


@pytest.mark.parametrize("is_staff", [True, False])
def test_a_reviewer_without_one_sees_no_image_and_no_conversation(
    alice: User, conversation_with_image: str, *, is_staff: bool
) -> None:
    Installation.objects.create(pk=1, staff_second_factor=True)
    rita = User.objects.create_user("rita", password=PASSWORD, is_staff=is_staff, reviews=True)
    Opening.begin(rita, alice.conversations.get(), "A matter")
    for path in (conversation_with_image, "/review/"):
        answer = signed_in(rita).get(path)
        assert (answer.status_code, answer.headers["location"]) == (302, OWN)
    assert signed_in(alice).get(conversation_with_image).status_code == 200
