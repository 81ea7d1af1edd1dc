"""Passwords that sign-up, the account page and reset links accept."""

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client

from chatapp.accounts.setup_link import setup_token
from chatapp.models import User
from tests.conftest import PASSWORD
from tests.support.page import parse

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("password", "sentence"),
    [
        ("kX9#mQ2$vL7", "It must contain at least 12 characters."),
        ("password1234", "is too easy to guess. This is a very common password."),
        ("Iloveyou12345", "is too easy to guess. This is similar to a commonly used password."),
        ("qwertyuiop12", "is too easy to guess."),
        ("aaaaaaaaaaaaaaaa", 'Repeats like "aaa" are easy to guess.'),
        ("abcdefghijklmn", "Sequences like"),
        ("chatappchatapp", "is too easy to guess."),
        ("83736251984210", "entirely numeric"),
        ("ada-lovelace-1", "too similar to the username"),
    ],
)
def test_a_password_easy_to_guess_is_refused_with_the_reason(password: str, sentence: str) -> None:
    with pytest.raises(ValidationError) as refused:
        validate_password(password, User(username="ada-lovelace"))
    assert sentence in " ".join(refused.value.messages)
    assert password not in " ".join(refused.value.messages)


@pytest.mark.parametrize(
    "password", [PASSWORD, "four wild geese at dawn", "kX9#mQ2$vL7p", "ä" * 3 + "größe zählt hier"]
)
def test_passphrases_and_generated_passwords_are_accepted(password: str) -> None:
    validate_password(password, User(username="ada-lovelace"))


def test_a_very_long_password_is_judged_at_once() -> None:
    validate_password("four wild geese at dawn " * 40_000)


def test_every_form_requires_a_good_password(alice: User, olives: Client, alices: Client) -> None:
    weak = {"password1": "password1234", "password2": "password1234"}
    link = parse(olives.post(f"/people/{alice.pk}/reset-link/").text).find("#link")
    path = str(link.attributes["value"]).removeprefix("http://localhost")
    reset = Client(headers={"host": "localhost"}).post(
        path, {"new_password1": "password1234", "new_password2": "password1234"}
    )
    own = alices.post("/accounts/password/change/", {"oldpassword": PASSWORD, **weak})
    User.objects.all().delete()
    first = alices.post(f"/setup/{setup_token()}/", {"username": "ada", "email": "", **weak})
    for page in (reset, own, first):
        assert "is too easy to guess" in page.content.decode()
    assert not User.objects.exists()


def test_an_old_weak_password_still_signs_in(alice: User) -> None:
    alice.set_password("secret")
    alice.save()
    client = Client(headers={"host": "localhost"})
    answer = client.post("/accounts/login/", {"login": "alice", "password": "secret"})
    assert answer.headers["location"] == "/"
