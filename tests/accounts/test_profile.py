"""People change their own name, and their email address once it is confirmed."""

import re

import pytest
from django.core import mail
from django.test import Client
from pytest_django import Settings

from chatapp.models import AuditEvent, User
from tests.conftest import confirm_password

pytestmark = pytest.mark.django_db

PROFILE = "/accounts/profile/"
NAME = {"first_name": "Alice", "last_name": "Liddell"}


@pytest.fixture
def mails(settings: Settings) -> None:
    settings.EMAIL_URL = "smtp://127.0.0.1"


def test_a_new_name_is_stored_recorded_and_shown(alice: User, alices: Client) -> None:
    page = alices.post(PROFILE, NAME, follow=True)
    assert "Saved." in page.text
    alice.refresh_from_db()
    assert alice.display_name == "Alice Liddell"
    assert AuditEvent.objects.get(action="person.changed").actor == alice.pk
    assert "Alice Liddell" in alices.get("/").text


def test_a_new_address_needs_the_password_and_the_link_that_was_sent_to_it(
    mails: None, alice: User, alices: Client
) -> None:
    entered = {"email": "alice@example.net"}
    assert "/reauthenticate/" in alices.post(PROFILE, entered).headers["location"]
    page = confirm_password(alices).post(PROFILE, entered, follow=True)
    assert "Open the link that was sent to alice@example.net" in page.text
    alice.refresh_from_db()
    assert alice.email != "alice@example.net"
    [link] = re.findall(r"http://localhost(\S+)", str(mail.outbox[0].body))
    Client(headers={"host": "localhost"}).post(link)
    alice.refresh_from_db()
    assert alice.email == "alice@example.net"


def test_an_address_of_another_account_is_not_revealed(
    mails: None, alice: User, bob: User, alices: Client
) -> None:
    User.objects.filter(pk=bob.pk).update(email="bob@example.net")
    page = confirm_password(alices).post(PROFILE, {"email": "bob@example.net"}, follow=True)
    assert "Open the link that was sent to bob@example.net" in page.text


def test_without_email_an_administrator_changes_the_address(alice: User, alices: Client) -> None:
    assert "An administrator can change the address." in alices.get(PROFILE).text
    confirm_password(alices).post(PROFILE, NAME | {"email": "alice@example.net"})
    alice.refresh_from_db()
    assert (alice.first_name, alice.email) == ("Alice", "")
