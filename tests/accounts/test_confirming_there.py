"""Confirming identity with the organisation's sign-in."""

import re
import time
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client

from chatapp.models import AuditEvent, User
from tests.accounts.provider import Provider, follow_return, sign_in
from tests.conftest import signed_in
from tests.support.profile import sample_params

pytestmark = pytest.mark.django_db

CAROL: dict[str, Any] = {"sub": "c-1", "preferred_username": "carol"}
DAVE: dict[str, Any] = {"sub": "d-1", "preferred_username": "dave"}
CONFIRM = "/accounts/reauthenticate/organisation/"
SENSITIVE = "/accounts/second-factor/"
HOUR = 3600


@pytest.fixture
def carols(provider: Provider) -> Client:
    """Carol's browser, signed in hours ago, with a session at the provider."""
    sign_in(provider, **CAROL)
    provider.session_since = int(time.time()) - HOUR
    return signed_in(User.objects.get(username="carol"))


def confirm(provider: Provider, client: Client, **claims: Any) -> Any:
    """Post the form, go to the provider, and return the response to the redirect back."""
    provider.claims = claims
    return follow_return(client, way_there(client))


def way_there(client: Client) -> str:
    page = client.post(CONFIRM, {"next": SENSITIVE})
    match = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page.text)
    assert match
    return unescape(match[1])


def is_confirmed(client: Client) -> bool:
    answer = client.get(SENSITIVE)
    assert answer.status_code == 200 or "/reauthenticate/" in answer.headers["location"]
    return answer.status_code == 200


def test_signing_in_again_at_the_provider_confirms(provider: Provider, carols: Client) -> None:
    location = carols.get(SENSITIVE).headers["location"]
    form = carols.get(location, follow=True)
    assert "Confirm with your organisation" in form.text
    assert f'name="next" value="{SENSITIVE}"' in form.text
    answer = confirm(provider, carols, **CAROL)
    assert answer.headers["location"] == SENSITIVE
    assert is_confirmed(carols)


def test_the_provider_is_asked_to_force_a_sign_in(provider: Provider, carols: Client) -> None:
    sent = parse_qs(urlsplit(way_there(carols)).query)
    assert (sent["prompt"], sent["max_age"]) == (["login"], ["0"])
    assert len(sent["nonce"][0]) >= 32


@pytest.mark.parametrize("process", ["login", "confirm"])
def test_a_get_request_starts_no_confirmation(
    provider: Provider, carols: Client, process: str
) -> None:
    assert "http-equiv" not in carols.get(CONFIRM).text
    provider.claims = CAROL
    tricks = {"process": process, "auth_params": "prompt=login&max_age=0", "next": SENSITIVE}
    there = carols.get(f"/accounts/by/oidc/?{urlencode(tricks)}").headers["location"]
    follow_return(carols, there)
    assert not is_confirmed(carols)


def test_a_foreign_page_starts_no_confirmation(provider: Provider, carols: Client) -> None:
    strict = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
    strict.cookies = carols.cookies
    assert strict.post(CONFIRM).status_code == 403


def test_only_a_sign_in_that_was_not_silent_confirms(provider: Provider, carols: Client) -> None:
    assert not is_confirmed(sign_in(provider, carols, **CAROL))
    provider.session_since = None
    assert is_confirmed(sign_in(provider, carols, **CAROL))
    provider.token_claims = {"auth_time": None}
    assert not is_confirmed(sign_in(provider, carols, **CAROL))


NOW = int(time.time())
INVALID: dict[str, dict[str, Any]] = {
    "no time": {"auth_time": None},
    "an old time": {"auth_time": NOW - HOUR},
    "a future time": {"auth_time": NOW + HOUR},
    "a time as text": {"auth_time": str(NOW)},
    "no number": {"auth_time": True},
    "no nonce": {"nonce": None},
    "another nonce": {"nonce": "another"},
    "another issuer": {"iss": "https://evil.example.org"},
    "another app": {"aud": "another-app"},
    "another subject": {"sub": "d-1"},
}


@pytest.mark.parametrize("name", sample_params(INVALID))
def test_an_invalid_token_confirms_nothing(provider: Provider, carols: Client, name: str) -> None:
    provider.token_claims = INVALID[name]
    before = carols.session.session_key
    answer = confirm(provider, carols, **CAROL)
    assert answer.headers["location"].startswith("/accounts/reauthenticate/?next=")
    assert "confirm" in carols.get(answer.headers["location"], follow=True).text
    assert carols.session.session_key == before
    assert not is_confirmed(carols)
    [event] = AuditEvent.objects.filter(action="person.confirmation_failed")
    assert event.detail.values["by"] == "oidc"


def test_a_provider_that_signs_in_silently_confirms_nothing(
    provider: Provider, carols: Client, caplog: pytest.LogCaptureFixture
) -> None:
    provider.always_silent = True
    answer = confirm(provider, carols, **CAROL)
    page = carols.get(answer.headers["location"], follow=True)
    assert "Your organisation did not ask you to sign in again" in page.text
    assert "did not ask you" in caplog.text
    assert not is_confirmed(carols)


@pytest.mark.parametrize("other", [DAVE, {"sub": "new"}], ids=["who is known", "who is new"])
def test_another_persons_identity_neither_confirms_nor_signs_in(
    provider: Provider, carols: Client, other: dict[str, Any]
) -> None:
    sign_in(provider, **DAVE)
    people, before = User.objects.count(), dict(carols.session)
    answer = confirm(provider, carols, **other)
    page = carols.get(answer.headers["location"], follow=True)
    assert "as a different person than here" in page.text
    assert carols.session["_auth_user_id"] == before["_auth_user_id"]
    assert User.objects.count() == people
    assert not is_confirmed(carols)


def test_a_confirmation_started_by_another_account_confirms_nothing(
    provider: Provider, carols: Client, alice: User
) -> None:
    """Another person may have used the browser in the meantime."""
    there = way_there(carols)
    provider.claims = CAROL
    carols.force_login(alice)
    assert follow_return(carols, there).status_code in (302, 403)
    assert not is_confirmed(carols)


def test_cancelling_a_confirmation_at_the_provider_shows_a_message(
    provider: Provider, carols: Client
) -> None:
    [state] = parse_qs(urlsplit(way_there(carols)).query)["state"]
    back = f"/accounts/by/oidc/back/?error=access_denied&state={state}"
    page = carols.get(carols.get(back).headers["location"], follow=True)
    assert "You did not sign in at your organisation" in page.text
    assert not is_confirmed(carols)


def test_cancelling_a_sign_in_at_the_provider_shows_a_message(provider: Provider) -> None:
    client = Client(headers={"host": "localhost"})
    there = client.get("/accounts/by/oidc/").headers["location"]
    [state] = parse_qs(urlsplit(there).query)["state"]
    answer = client.get(f"/accounts/by/oidc/back/?error=access_denied&state={state}")
    assert answer.headers["location"] == "/accounts/by/ended/"


def test_an_unreachable_provider_shows_a_message(provider: Provider, carols: Client) -> None:
    provider.server.server_close()
    page = carols.post(CONFIRM, {"next": SENSITIVE}, follow=True)
    assert "could not be reached" in page.text
