"""The organisation's sign-in, against a real provider on loopback."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.contrib.auth.models import Group
from django.test import Client
from pytest_django import Settings

from chatapp.models import AuditEvent, Installation, User
from tests.accounts.provider import SECRET, Provider, follow_return, sign_in
from tests.conftest import signed_in
from tests.support.profile import sample_params

pytestmark = pytest.mark.django_db

NEW = "four wild geese at dawn"
CAROL: dict[str, Any] = {"sub": "c-1", "preferred_username": "carol", "given_name": "Carol"}


def is_in(client: Client) -> bool:
    return client.get("/help/").status_code == 200


def test_everyone_the_provider_signs_in_gets_an_account(provider: Provider) -> None:
    client = sign_in(provider, **CAROL, email="carol@example.org", email_verified=True)
    assert is_in(client)
    carol = User.objects.get(username="carol")
    assert (carol.email, carol.first_name) == ("carol@example.org", "Carol")
    assert (carol.is_staff, carol.reviews, carol.has_usable_password()) == (False, False, False)
    assert is_in(sign_in(provider, **CAROL | {"preferred_username": "another"}))
    assert User.objects.count() == 2


def test_without_email_a_verified_address_matches_no_account(provider: Provider, bob: User) -> None:
    """An account's creator could have typed any address."""
    User.objects.filter(pk=bob.pk).update(email="carol@example.org")
    client = sign_in(provider, **CAROL, email="carol@example.org", email_verified=True)
    assert client.session["_auth_user_id"] != str(bob.pk)
    assert User.objects.get(username="carol").email == ""


def test_only_a_verified_address_matches_an_account(
    provider: Provider, alice: User, settings: Settings
) -> None:
    settings.EMAIL_URL = "smtp://mail.example.org"
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    for verified in (False, None, "true", 1):
        claims: dict[str, Any] = {
            "sub": f"m-{verified}",
            "email": "alice@example.org",
            "email_verified": verified,
        }
        assert is_in(sign_in(provider, **claims))
    assert User.objects.filter(email__iexact="alice@example.org").count() == 1
    client = sign_in(provider, sub="a-1", email="Alice@example.org", email_verified=True)
    assert client.session["_auth_user_id"] == str(alice.pk)


def test_a_taken_username_does_not_match_its_account(provider: Provider, alice: User) -> None:
    client = sign_in(provider, **CAROL | {"preferred_username": "alice"})
    assert is_in(client)
    assert client.session["_auth_user_id"] != str(alice.pk)


@pytest.mark.parametrize(
    "name", sample_params(["<img src=x>", "nul\0", "x" * 5000, "", None, 7], 2)
)
def test_odd_names_from_the_provider_do_no_harm(provider: Provider, name: object) -> None:
    client = sign_in(provider, sub="x-1", preferred_username=name, given_name=name)
    assert is_in(client)
    person = User.objects.exclude(username="olive").get()
    assert len(person.username) <= 150
    assert not set(person.username) & set("<\0")


def test_claimed_groups_come_and_go_and_manual_ones_stay(provider: Provider) -> None:
    writers, readers, by_hand = (Group.objects.create(name=name) for name in "WRH")
    sign_in(provider, **CAROL, groups=["W", "H", "nothing here"])
    carol = User.objects.get(username="carol")
    assert set(carol.groups.all()) == {writers, by_hand}
    carol.groups.remove(by_hand)
    by_hand.user_set.add(carol)
    sign_in(provider, **CAROL, groups=["R"])
    assert set(carol.groups.all()) == {readers, by_hand}
    sign_in(provider, **CAROL)  # without a groups claim
    assert set(carol.groups.all()) == {readers, by_hand}
    sign_in(provider, **CAROL, groups=[])
    assert set(carol.groups.all()) == {by_hand}
    sign_in(provider, **CAROL, groups="W")
    assert set(carol.groups.all()) == {by_hand}
    events = AuditEvent.objects.filter(action="person.changed", person=carol.pk).order_by(
        "sequence"
    )
    changes = [(event.detail.values["before"], event.detail.values["after"]) for event in events]
    assert changes == [([], ["H", "W"]), (["H", "W"], ["H", "R"]), (["H", "R"], ["H"])]


def test_a_deactivated_person_stays_out(provider: Provider) -> None:
    sign_in(provider, **CAROL)
    User.objects.filter(username="carol").update(is_active=False)
    assert not is_in(sign_in(provider, **CAROL))


def test_a_deactivated_person_gets_no_second_account(
    provider: Provider, alice: User, settings: Settings
) -> None:
    User.objects.filter(pk=alice.pk).update(email="carol@example.org", is_active=False)
    for settings.EMAIL_URL in ("", "smtp://mail.example.org"):
        client = sign_in(provider, **CAROL, email="Carol@example.org", email_verified=True)
        assert not is_in(client)
        assert client.answer.headers["location"] == "/accounts/inactive/"  # type: ignore[attr-defined]
        assert not User.objects.filter(username="carol").exists()


def test_a_signed_in_session_connects_no_identity_to_its_account(
    provider: Provider, alice: User
) -> None:
    """It would let a thief back in after the password changes."""
    provider.claims = {"sub": "mallory"}
    stolen = signed_in(alice)
    follow_return(stolen, stolen.get("/accounts/by/oidc/?process=connect").headers["location"])
    assert stolen.session["_auth_user_id"] != str(alice.pk)
    assert not SocialAccount.objects.filter(user=alice).exists()


def test_setting_a_first_password_requires_confirmation(provider: Provider) -> None:
    sign_in(provider, **CAROL)
    answer = signed_in(User.objects.get(username="carol")).post(
        "/accounts/password/set/", {"password1": NEW, "password2": NEW}
    )
    assert answer.headers["location"].startswith("/accounts/reauthenticate/")
    assert not User.objects.get(username="carol").has_usable_password()


def test_a_lookalike_address_is_a_different_person(
    provider: Provider, alice: User, settings: Settings
) -> None:
    settings.EMAIL_URL = "smtp://mail.example.org"
    User.objects.filter(pk=alice.pk).update(email="mike@example.org")
    client = sign_in(provider, **CAROL, email="mıke@example.org", email_verified=True)  # noqa: RUF001
    assert client.session["_auth_user_id"] != str(alice.pk)
    assert User.find_by_address("MIKE@example.org") == alice
    assert User.find_by_address("mıke@example.org") in (None, User.objects.get(username="carol"))  # noqa: RUF001


def test_no_username_equals_somebodys_address(provider: Provider, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    sign_in(provider, sub="z-1", preferred_username="alice@example.org")
    assert User.find_by_login("alice@example.org") == alice


@pytest.mark.parametrize("userinfo", ["carol", {"sub": ""}, {"sub": "x" * 5000}, {"sub": "m-1"}])
def test_invalid_userinfo_signs_nobody_in(provider: Provider, userinfo: Any) -> None:
    provider.userinfo = userinfo
    client = sign_in(provider, **CAROL)
    assert not is_in(client)
    assert client.answer.status_code in (200, 302)  # type: ignore[attr-defined]
    assert not User.objects.filter(username="carol").exists()


def test_a_verified_flag_counts_only_for_the_address_of_its_document(
    provider: Provider, alice: User, settings: Settings
) -> None:
    settings.EMAIL_URL = "smtp://mail.example.org"
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    provider.userinfo = CAROL | {"email": "alice@example.org"}
    client = sign_in(provider, **CAROL, email="carol@example.org", email_verified=True)
    assert client.session["_auth_user_id"] != str(alice.pk)
    assert User.objects.get(username="carol").email == ""


@pytest.mark.parametrize("email", [{"a": 1}, ["x"], "no address", "x" * 300 + "@example.org"])
def test_an_invalid_address_is_ignored(provider: Provider, email: Any) -> None:
    sign_in(provider, **CAROL, email=email, email_verified=True)
    assert User.objects.get(username="carol").email == ""


def test_an_unreachable_provider_shows_a_message(provider: Provider) -> None:
    provider.server.server_close()
    client = Client(headers={"host": "localhost"})
    there = client.get("/accounts/by/oidc/").headers["location"]
    assert "You were not signed in" in client.get(there).text


def test_when_nobody_may_join_known_people_still_sign_in(provider: Provider) -> None:
    sign_in(provider, **CAROL)
    Installation.objects.create(pk=1, signup="closed")
    assert is_in(sign_in(provider, **CAROL))
    assert not is_in(sign_in(provider, sub="d-1", preferred_username="dave"))
    assert not User.objects.filter(username="dave").exists()


def test_a_token_for_another_app_signs_nobody_in(provider: Provider) -> None:
    provider.audience = "another-app"
    client = sign_in(provider, **CAROL)
    assert not is_in(client)
    assert not User.objects.filter(username="carol").exists()
    stranger = Client(headers={"host": "localhost"})
    forged = stranger.get("/accounts/by/oidc/back/?code=code0&state=guessed")
    assert "You were not signed in" in forged.text
    assert not is_in(stranger)
    assert stranger.get("/accounts/by/another/").status_code == 404


@pytest.mark.parametrize("nonce", [None, "", "another", 7])
def test_a_token_without_the_nonce_signs_nobody_in(provider: Provider, nonce: object) -> None:
    provider.token_claims = {"nonce": nonce}
    assert not is_in(sign_in(provider, **CAROL))
    assert not User.objects.filter(username="carol").exists()


def test_userinfo_without_an_id_token_signs_nobody_in(provider: Provider) -> None:
    provider.token_response = {"id_token": None}
    assert not is_in(sign_in(provider, **CAROL))


def test_query_parameters_do_not_change_the_authorization_request(provider: Provider) -> None:
    client = Client(headers={"host": "localhost"})
    query = "process=confirm&scope=admin&auth_params=nonce%3Dmine%26prompt%3Dnone"
    there = client.get(f"/accounts/by/oidc/?{query}").headers["location"]
    sent = parse_qs(urlsplit(there).query)
    assert "admin" not in sent["scope"][0]
    assert sent["nonce"] != ["mine"]
    assert "prompt" not in sent


def test_the_sign_in_page_links_to_the_provider(provider: Provider) -> None:
    page = Client(headers={"host": "localhost"}).get("/accounts/login/").text
    assert "Sign in with your organisation" in page
    assert SECRET not in page


def test_without_a_provider_the_page_has_no_link(olive: User) -> None:
    client = Client(headers={"host": "localhost"})
    assert "organisation" not in client.get("/accounts/login/").text
    assert client.get("/accounts/by/oidc/").status_code == 404


def test_no_access_token_is_stored(provider: Provider) -> None:
    sign_in(provider, sub="7", email="ada@example.org")
    stored = str(list(SocialAccount.objects.values()))
    assert not SocialToken.objects.exists()
    assert "ada@example.org" in stored
    assert "access" not in stored
