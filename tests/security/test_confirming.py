"""Sensitive actions ask for the password again, so that a stolen session is not enough."""

import pytest
from django.test import Client

from chatapp.models import ToolServer, Upstream, User
from tests.conftest import PASSWORD, confirm_password, signed_in

pytestmark = pytest.mark.django_db

LOGIN = "/accounts/login/"
CONFIRM = "/accounts/reauthenticate/"
NEW = "four wild geese at dawn"
SERVER = "/admin/chatapp/toolserver/"
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
    "toolserver/add/",
    "toolserver/{wiki}/change/",
    "toolserver/{wiki}/delete/",
    "upstream/add/",
    "upstream/{upstream}/change/",
    "upstream/{upstream}/delete/",
    "user/add/",
    "user/{alice}/change/",
    "user/{alice}/password/",
    "user/{alice}/delete/",
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
    path = "/admin/chatapp/" + form.format(**keys)
    redirect = late.get(path)
    assert redirect.status_code == 302
    assert redirect.headers["location"].startswith(CONFIRM)
    before = counts()
    answer = late.post(path, {"post": "yes", "username": "alice", "password1": NEW, **FORM})
    assert answer.status_code in (200, 302)
    assert counts() == before
    wiki.refresh_from_db()
    assert wiki.name == "old"
    back = late.post(redirect.headers["location"], {"password": PASSWORD})
    assert back.headers["location"] == path
    assert late.get(path).status_code == 200


def test_bulk_actions_ask_for_the_password_too(late: Client, wiki: ToolServer) -> None:
    chosen = {"action": "delete_selected", "_selected_action": str(wiki.pk), "post": "yes"}
    assert late.post(SERVER, chosen).headers["location"].startswith(CONFIRM)
    assert "selection again" in late.get(SERVER).content.decode()
    assert ToolServer.objects.exists()
    confirm_password(late).post(SERVER, chosen)
    assert not ToolServer.objects.exists()


def test_a_form_sent_too_late_is_kept_and_saved_with_the_password(late: Client) -> None:
    page = late.post(f"{SERVER}add/", FORM).content.decode()
    assert "Nothing was saved, because you last entered your password too long ago." in page
    assert 'value="wiki"' in page
    assert not ToolServer.objects.exists()
    wrong = late.post(f"{SERVER}add/", FORM | {"your_password": "guess"}).content.decode()
    assert "Wrong password." in wrong
    assert not ToolServer.objects.exists()
    assert late.post(f"{SERVER}add/", FORM | {"your_password": PASSWORD}).status_code == 302
    server = ToolServer.objects.get()
    assert server.secret_pairs() == {"X-Key": "sk-typed"}
    assert late.get(f"{SERVER}{server.pk}/change/").status_code == 200
    assert "our password" not in late.get(f"{SERVER}{server.pk}/history/").content.decode()


def test_an_old_confirmation_does_not_count(late: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    confirm_password(late)
    later = __import__("time").time() + 15 * 60
    monkeypatch.setattr("chatapp.accounts.confirmation.time.time", lambda: later)
    assert late.get(f"{SERVER}add/").status_code == 302
    monkeypatch.setattr(
        "chatapp.accounts.confirmation.time.time", lambda: later - 86400
    )  # as if the clock had been set
    assert late.get(f"{SERVER}add/").status_code == 302


def test_a_session_does_not_grow_with_each_password(late: Client) -> None:
    for _ in range(5):
        confirm_password(late)
    assert len(late.session["account_authentication_methods"]) == 3


def test_a_post_before_the_password_is_not_replayed_after_it(late: Client) -> None:
    """An attacker who makes an administrator's page post gains nothing when they confirm later."""
    late.post(f"{SERVER}add/", FORM)
    late.post(SERVER, {"action": "delete_selected"})
    redirect = late.get(f"{SERVER}add/")
    late.post(redirect.headers["location"], {"password": PASSWORD, "next": f"{SERVER}add/"})
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
    path = "/admin/chatapp/" + form.format(**keys)
    before = counts()
    fields = {"post": "yes", "username": "alice", "password1": NEW, "password2": NEW, **FORM}
    for headers in BY_SCRIPTS:
        assert olives.post(path, fields, headers=headers).status_code == 403
    assert counts() == before
    wiki.refresh_from_db()
    assert wiki.name == "old"


def test_a_form_submitted_by_the_page_is_accepted(olives: Client) -> None:
    answer = olives.post(f"{SERVER}add/", FORM, headers={"Sec-Fetch-Mode": "navigate"})
    assert answer.headers["location"] == SERVER
    assert ToolServer.objects.exists()


def test_signing_in_counts_as_confirming_the_password(olive: User) -> None:
    client = Client(headers={"host": "localhost"})
    client.post(LOGIN, {"login": "olive", "password": PASSWORD})
    assert client.get(f"{SERVER}add/").status_code == 200


def test_the_admin_has_no_password_change_of_its_own(olives: Client) -> None:
    answer = olives.get("/admin/password_change/")
    assert answer.headers["location"] == "/accounts/password/change/"
    answer = olives.post("/admin/password_change/", {"old_password": "guess"})
    assert answer.headers["location"] == "/accounts/password/change/"
