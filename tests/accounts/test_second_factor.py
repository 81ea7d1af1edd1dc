"""Setting up, using, losing and requiring a second factor."""

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
from tests.conftest import PASSWORD, confirm_password, signed_in
from tests.support.page import parse

pytestmark = pytest.mark.django_db

OWN = "/accounts/second-factor/"


@pytest.fixture(autouse=True)
def no_attempts(db: None) -> None:
    cache.clear()


@pytest.fixture
def conversation_with_image(alice: User, saved_upstream: Upstream) -> str:
    """Return the path of an image in a chat of Alice's."""
    conversation = alice.conversations.create(title="Roses")
    _, reply = conversation.ask(uuid4(), "Which?", None, saved_upstream, "one", uuid4())
    ReplyImage.objects.create(message=reply, position=0, media_type="image/gif", data=b"GIF89a")
    return f"/replies/{reply.pk}/images/0/"


def code(secret: str) -> str:
    """Return the code that an app shows now."""
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


def set_up(client: Client) -> str:
    """Set up an authenticator app and return its secret."""
    page = parse(client.get(f"{OWN}app/").text)
    [secret] = page.find_all("main p code")
    answer = client.post(f"{OWN}app/", {"code": code(secret.text)})
    assert answer.headers["location"] == f"{OWN}codes/", answer.text
    return secret.text


def enter_password(name: str) -> Client:
    """Sign in up to the second factor."""
    client = Client(headers={"host": "localhost"})
    answer = client.post("/accounts/login/", {"login": name, "password": PASSWORD})
    assert answer.headers["location"] == "/accounts/login/code/"
    return client


def read_codes(client: Client) -> list[str]:
    page = parse(client.get(f"{OWN}codes/").text)
    return [code_element.text for code_element in page.find_all(".codes code")]


def test_the_sign_in_asks_for_the_code(alice: User, alices: Client) -> None:
    secret = set_up(confirm_password(alices))
    client = enter_password("alice")
    assert client.get("/").status_code == 302
    assert "Wrong code" in client.post("/accounts/login/code/", {"code": "000000"}).text
    assert client.get("/").status_code == 302
    cache.clear()  # each code works once, so pretend that half a minute has passed
    answer = client.post("/accounts/login/code/", {"code": code(secret)})
    assert answer.headers["location"] == "/"
    assert client.get("/help/").status_code == 200


def test_a_recovery_code_signs_in_once(alice: User, alices: Client) -> None:
    set_up(confirm_password(alices))
    first, *others = read_codes(alices)
    assert len(others) == 9
    assert first in alices.get(f"{OWN}codes/file/").text
    client = enter_password("alice")
    assert client.post("/accounts/login/code/", {"code": first}).status_code == 302
    assert client.get("/help/").status_code == 200
    again = enter_password("alice").post("/accounts/login/code/", {"code": first})
    assert "Wrong code" in again.text
    alices.post(f"{OWN}codes/new/")
    assert not {first, *others} & set(read_codes(alices))


def test_guesses_of_the_code_are_limited(alice: User, alices: Client) -> None:
    set_up(confirm_password(alices))
    client = enter_password("alice")
    pages = [client.post("/accounts/login/code/", {"code": "1"}).text for _ in range(8)]
    assert "Too many attempts" in pages[-1]


def test_secrets_are_encrypted_and_rotated_to_the_newest_key(alice: User, alices: Client) -> None:
    secret = set_up(confirm_password(alices))
    before = Authenticator.objects.get(type="totp").data["secret"]
    assert secret not in json.dumps(list(Authenticator.objects.values("data")))
    assert stored_secrets.rotate().rotated == 2
    after = Authenticator.objects.get(type="totp").data["secret"]
    assert after != before
    assert second_factor.MFAAdapter().decrypt(after) == secret
    assert second_factor.MFAAdapter().decrypt("nonsense") == ""


@pytest.mark.parametrize("path", ["", "app/", "codes/", "codes/new/", "keys/", "keys/add/"])
def test_security_pages_ask_for_the_password_first(alices: Client, path: str) -> None:
    for answer in (alices.get(OWN + path), alices.post(OWN + path, {"code": "1"})):
        assert answer.headers["location"].startswith("/accounts/reauthenticate/")


def test_nobody_can_change_another_persons_passkey(alices: Client, bob: User) -> None:
    key = Authenticator.objects.create(user=bob, type="webauthn", data={"name": "Bob's"})
    client = confirm_password(alices)
    for what in ("name", "end"):
        assert client.get(f"{OWN}keys/{key.pk}/{what}/").status_code == 404
        assert client.post(f"{OWN}keys/{key.pk}/{what}/", {"name": "x"}).status_code == 404
    assert Authenticator.objects.count() == 1


@pytest.mark.parametrize(
    "credential",
    ["", "{}", "[]", "1", '"x"', '{"id": 1}', '{"id": "x", "rawId": "x", "response": {}}', "{"],
)
def test_an_invalid_passkey_is_refused(alices: Client, credential: str) -> None:
    confirm_password(alices)
    alices.get(f"{OWN}keys/add/")
    added = alices.post(f"{OWN}keys/add/", {"credential": credential, "name": "x"})
    assert added.status_code == 200
    stranger = Client(headers={"host": "localhost"})
    stranger.get("/accounts/login/passkey/", headers={"Accept": "application/json"})
    answer = stranger.post("/accounts/login/passkey/", {"credential": credential})
    assert answer.headers["location"] == "/accounts/login/"
    assert not Authenticator.objects.exists()


def test_staff_who_must_have_a_second_factor_are_redirected_to_add_one(
    olive: User, alices: Client, settings: Any
) -> None:
    olives = signed_in(olive, confirmed=True)
    olives.post(
        "/people/access/",
        {"signup": "invited", "signup_domains": "", "staff_second_factor": "on"},
    )
    assert Installation.load().staff_second_factor
    for path in ("/people/", "/review/"):
        assert olives.get(path).headers["location"] == OWN, path
    assert "must have a second factor" in olives.get(OWN).text
    assert olives.get("/help/").status_code == alices.get("/help/").status_code == 200
    set_up(olives)
    assert olives.get("/people/").status_code == 200
    assert "must have a second factor" in olives.post(f"{OWN}app/end/").text
    assert Authenticator.objects.filter(type="totp").exists()


def test_an_administrator_removes_a_lost_second_factor(
    olives: Client, olive: User, alice: User, alices: Client, settings: Settings
) -> None:
    set_up(confirm_password(alices))
    assert "Remove the second factor" in olives.get(f"/people/{alice.pk}/").text
    olives.post(f"/people/{alice.pk}/second-factor/")
    assert not Authenticator.objects.exists()
    client = Client(headers={"host": "localhost"})
    answer = client.post("/accounts/login/", {"login": "alice", "password": PASSWORD})
    assert answer.headers["location"] == "/"
    page = olives.post(f"/people/{olive.pk}/second-factor/", follow=True).text
    assert "Remove your own" in page


def test_adding_and_removing_a_factor_is_recorded(alice: User, alices: Client) -> None:
    confirm_password(alices)
    set_up(alices)
    alices.post(f"{OWN}app/end/")
    factor_events = AuditEvent.objects.filter(action__startswith="factor.").order_by("sequence")
    events = [(event.action, event.actor, event.detail.values["kind"]) for event in factor_events]
    assert events[0] == ("factor.added", alice.pk, "TOTP Authenticator")
    assert ("factor.removed", alice.pk, "TOTP Authenticator") in events


@pytest.mark.parametrize("is_staff", [True, False])
def test_a_reviewer_without_a_second_factor_sees_no_image_and_no_conversation(
    alice: User, conversation_with_image: str, *, is_staff: bool
) -> None:
    Installation.objects.create(pk=1, staff_second_factor=True)
    rita = User.objects.create_user("rita", password=PASSWORD, is_staff=is_staff, reviews=True)
    Opening.begin(rita, alice.conversations.get(), "A matter")
    for path in (conversation_with_image, "/review/"):
        answer = signed_in(rita).get(path)
        assert (answer.status_code, answer.headers["location"]) == (302, OWN)
    assert signed_in(alice).get(conversation_with_image).status_code == 200
