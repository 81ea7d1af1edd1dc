"""Sensitive actions ask for the password again, so that a stolen session is not enough."""

import pytest
from django.test import Client

from chatapp.models import ToolServer, Upstream, User
from tests.conftest import PASSWORD, confirm_password, signed_in

pytestmark = pytest.mark.django_db

LOGIN = "/accounts/login/"
CONFIRM = "/accounts/reauthenticate/"
NEW_SERVER = "/settings/tools/new/"
FORM = {
    "name": "wiki",
    "transport": "http",
    "url": "http://127.0.0.1:1/mcp",
    "timeout_seconds": "30",
    "result_limit_kb": "100",
    "new_secrets": "X-Key: sk-typed",
}


@pytest.fixture
def late(olive: User) -> Client:
    """Olive's browser with a session whose password confirmation has expired."""
    return signed_in(olive)


@pytest.fixture
def wiki(db: None) -> ToolServer:
    return ToolServer.objects.create(name="old", url="http://127.0.0.1:1/mcp")


FORMS = [
    "settings/tools/new/",
    "settings/tools/{wiki}/",
    "settings/tools/{wiki}/delete/",
    "settings/models/new/",
    "settings/models/{upstream}/address/",
    "settings/models/{upstream}/delete/",
    "people/{alice}/delete/",
]

BY_SCRIPTS: list[dict[str, str]] = [
    {"Sec-Fetch-Mode": "cors"},
    {"Sec-Fetch-Mode": "same-origin"},
    {"Sec-Fetch-Mode": "no-cors"},
    {"HX-Request": "true"},
]


def counts() -> list[int]:
    return [model.objects.count() for model in (ToolServer, Upstream, User)]


@pytest.mark.parametrize("form", FORMS)
def test_a_sensitive_form_is_shown_only_after_the_password(
    late: Client, wiki: ToolServer, saved_upstream: Upstream, alice: User, form: str
) -> None:
    keys = {"wiki": wiki.pk, "upstream": saved_upstream.pk, "alice": alice.pk}
    path = "/" + form.format(**keys)
    redirect = late.get(path)
    assert redirect.status_code == 302
    assert redirect.headers["location"].startswith(CONFIRM)
    before = counts()
    answer = late.post(path, FORM)
    assert answer.status_code == 302
    assert counts() == before
    wiki.refresh_from_db()
    assert wiki.name == "old"
    back = late.post(redirect.headers["location"], {"password": PASSWORD})
    assert back.headers["location"] == path
    assert late.get(path).status_code == 200


def test_an_old_confirmation_does_not_count(late: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    confirm_password(late)
    later = __import__("time").time() + 15 * 60
    monkeypatch.setattr("chatapp.accounts.confirmation.time.time", lambda: later)
    assert late.get(NEW_SERVER).status_code == 302
    monkeypatch.setattr(
        "chatapp.accounts.confirmation.time.time", lambda: later - 86400
    )  # as if the clock had been set
    assert late.get(NEW_SERVER).status_code == 302


def test_a_session_does_not_grow_with_each_password(late: Client) -> None:
    for _ in range(5):
        confirm_password(late)
    assert len(late.session["account_authentication_methods"]) == 3


def test_a_post_before_the_password_is_not_replayed_after_it(late: Client) -> None:
    """An attacker who makes an administrator's page post gains nothing when they confirm later."""
    redirect = late.post(NEW_SERVER, FORM)
    late.post(redirect.headers["location"], {"password": PASSWORD, "next": NEW_SERVER})
    assert not ToolServer.objects.exists()


@pytest.mark.parametrize("form", FORMS)
def test_a_script_changes_nothing_even_after_the_password(
    olives: Client,
    wiki: ToolServer,
    saved_upstream: Upstream,
    alice: User,
    form: str,
) -> None:
    keys = {"wiki": wiki.pk, "upstream": saved_upstream.pk, "alice": alice.pk}
    path = "/" + form.format(**keys)
    before = counts()
    for headers in BY_SCRIPTS:
        assert olives.post(path, FORM, headers=headers).status_code == 403
    assert counts() == before
    wiki.refresh_from_db()
    assert wiki.name == "old"


def test_a_form_submitted_by_the_page_is_accepted(olives: Client) -> None:
    olives.post(NEW_SERVER, FORM, headers={"Sec-Fetch-Mode": "navigate"})
    assert ToolServer.objects.exists()


def test_signing_in_counts_as_confirming_the_password(olive: User) -> None:
    client = Client(headers={"host": "localhost"})
    client.post(LOGIN, {"login": "olive", "password": PASSWORD})
    assert client.get(NEW_SERVER).status_code == 200
