"""The page of a person's API tokens."""

from uuid import uuid4

import pytest
from django.test import Client, RequestFactory

from chatapp.accounts.links import password_link
from chatapp.models import AccessToken, AuditEvent, Installation, User
from chatapp.models.accounts import access_tokens
from tests.conftest import PASSWORD, confirm_password
from tests.support.page import parse

pytestmark = pytest.mark.django_db

PAGE = "/accounts/tokens/"
NEW = {"name": "laptop", "scopes": ["chat"], "days": "30"}


@pytest.fixture
def open_api(db: None) -> Installation:
    installation = Installation(pk=1, who_uses_api="everyone")
    installation.save()
    return installation


def test_the_page_is_there_only_for_people_who_may_use_the_api(
    alices: Client, open_api: Installation
) -> None:
    assert PAGE in alices.get("/preferences/").text
    assert alices.get(PAGE).status_code == 200
    open_api.who_uses_api = "nobody"
    open_api.save()
    assert PAGE not in alices.get("/preferences/").text
    assert alices.get(PAGE).status_code == 404


def test_a_new_token_is_shown_once_and_recorded(
    alices: Client, alice: User, open_api: Installation
) -> None:
    assert "Confirm it is you" in alices.post(PAGE, NEW, follow=True).text
    assert not AccessToken.objects.exists()
    response = confirm_password(alices).post(PAGE, NEW)
    token = AccessToken.objects.get()
    assert (token.name, token.scopes, token.user) == ("laptop", ["chat"], alice)
    assert token.expires_at
    secret = parse(response.text).find(id="secret").attributes["value"]
    assert AccessToken.find(secret) == token
    assert secret not in alices.get(PAGE).text
    event = AuditEvent.objects.get(action="token.created")
    assert event.person == alice.pk
    assert secret not in str(event.detail.values)


@pytest.mark.parametrize(
    "wrong", [{"name": " \u200b"}, {"name": "x" * 101}, {"scopes": ["root"]}, {"days": "5000"}]
)
def test_a_wrong_field_is_named(alices: Client, open_api: Installation, wrong: object) -> None:
    assert isinstance(wrong, dict)
    assert 'role="alert"' in confirm_password(alices).post(PAGE, NEW | wrong).text
    assert not AccessToken.objects.exists()


def test_too_many_tokens_are_refused_with_a_sentence(
    alices: Client, alice: User, open_api: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_tokens, "MAX_TOKENS", 0)
    assert "Revoke one" in confirm_password(alices).post(PAGE, NEW).text


def test_a_token_is_revoked_by_its_owner_only(
    alices: Client, bobs: Client, alice: User, open_api: Installation
) -> None:
    token, _ = AccessToken.issue(alice, "laptop", ["chat"], None)
    revoke = f"{PAGE}{token.pk}/revoke/"
    assert bobs.post(revoke).status_code == 404
    assert alices.post(f"{PAGE}{uuid4()}/revoke/").status_code == 404
    assert AccessToken.objects.exists()
    assert "Revoked laptop." in alices.post(revoke, follow=True).text
    assert not AccessToken.objects.exists()
    assert AuditEvent.objects.get(action="token.revoked").person == alice.pk


def test_tokens_can_be_revoked_after_the_api_was_switched_off(
    alices: Client, alice: User, open_api: Installation
) -> None:
    token, _ = AccessToken.issue(alice, "laptop", ["chat"], None)
    Installation.objects.update(who_uses_api="nobody")
    assert "t work at the moment" in alices.get(PAGE).text
    confirm_password(alices).post(PAGE, NEW)
    assert AccessToken.objects.count() == 1
    response = alices.post(f"{PAGE}{token.pk}/revoke/")
    assert response.headers["location"] == "/preferences/"


def test_an_administrator_sees_and_revokes_a_persons_tokens(olives: Client, alice: User) -> None:
    token, _ = AccessToken.issue(alice, "laptop", ["chat"], None)
    page = f"/people/{alice.pk}/"
    assert "laptop" in olives.get(page).text
    olives.post(f"{page}revoke-token/", {"token": "nonsense"})
    assert AccessToken.objects.exists()
    olives.post(f"{page}revoke-token/", {"token": token.pk})
    assert not AccessToken.objects.exists()
    assert "API tokens" not in olives.get(page).text


def issue(person: User) -> AccessToken:
    return AccessToken.issue(person, "laptop", ["chat"], None)[0]


NEW_PASSWORD = "plain copper kettle"
PLACES = {
    "signing out everywhere": ("/accounts/devices/", {}),
    "a changed password": (
        "/accounts/password/change/",
        {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD},
    ),
}


@pytest.mark.parametrize(("page", "fields"), PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("agrees", [True, False])
def test_tokens_are_revoked_along_with_sessions_unless_their_owner_keeps_them(
    alices: Client, alice: User, page: str, fields: dict[str, str], agrees: bool
) -> None:
    issue(alice)
    assert parse(alices.get(page).text).find(id="id_revokes_tokens").attributes.get("checked") == ""
    answer = alices.post(page, fields | ({"revokes_tokens": "on"} if agrees else {}))
    assert answer.status_code == 302, answer.text
    assert AccessToken.objects.exists() != agrees
    assert AuditEvent.objects.filter(action="token.revoked").count() == int(agrees)


def test_tokens_are_revoked_with_a_password_that_was_set_from_a_link(
    client: Client, alice: User
) -> None:
    issue(alice)
    page = password_link(RequestFactory().get("/"), alice)
    assert "Revoke API tokens, too (1)" in client.get(page).text
    new = {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    assert client.post(page, new | {"revokes_tokens": "on"}).status_code == 302
    assert not AccessToken.objects.exists()


def test_signing_out_one_device_keeps_the_tokens(alices: Client, alice: User) -> None:
    issue(alice)
    alices.post("/accounts/devices/", {"device": "7", "revokes_tokens": "on"})
    assert AccessToken.objects.exists()


def test_nothing_is_offered_without_tokens(alices: Client) -> None:
    assert "Revoke API tokens" not in alices.get("/accounts/devices/").text
