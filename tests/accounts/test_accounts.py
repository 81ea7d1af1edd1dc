"""The setup link, signing in and out, changing passwords, and devices."""

import pytest
from django.test import Client

from chatapp.accounts.setup_link import is_setup_token, setup_token
from chatapp.models import Device, User
from tests.conftest import PASSWORD, signed_in
from tests.support.page import parse

pytestmark = pytest.mark.django_db


@pytest.fixture
def stranger() -> Client:
    return Client(headers={"host": "localhost"})


def fields(username: str = "ada", password: str = PASSWORD) -> dict[str, str]:
    return {"username": username, "email": "", "password1": password, "password2": password}


def test_the_setup_link_makes_the_first_administrator(stranger: Client) -> None:
    link = f"/setup/{setup_token()}/"
    assert stranger.get(link).status_code == 200
    assert stranger.post(link, fields()).headers["location"] == "/"
    ada = User.objects.get()
    assert (ada.username, ada.is_staff, ada.is_superuser) == ("ada", True, True)
    assert ada.check_password(PASSWORD)
    assert stranger.session["_auth_user_id"] == str(ada.pk)


@pytest.mark.parametrize("path", ["/", "/people/", "/accounts/login/"])
def test_before_setup_each_page_says_where_the_setup_link_is(stranger: Client, path: str) -> None:
    page = stranger.get(path, follow=True).text
    assert "in its terminal or log" in page
    assert "manage.py setup_link" in page
    assert str(setup_token()) not in page
    assert "Ask an administrator" not in page
    User.objects.create_user("ada", password=PASSWORD)
    page = stranger.get(path, follow=True).text
    assert "setup_link" not in page
    assert "Ask an administrator" in page


def test_the_setup_link_works_once(stranger: Client) -> None:
    token = setup_token()
    assert token
    stranger.post(f"/setup/{token}/", fields())
    Client(headers={"host": "localhost"}).post(f"/setup/{token}/", fields("eve"))
    assert [user.username for user in User.objects.all()] == ["ada"]
    assert setup_token() is None
    assert not is_setup_token(token)


def test_a_guessed_setup_link_is_not_found(stranger: Client) -> None:
    assert stranger.post("/setup/guessed/", fields()).status_code == 404
    assert not User.objects.exists()


@pytest.mark.parametrize("password", ["short", "password", "83736251984"])
def test_the_first_password_must_be_good(stranger: Client, password: str) -> None:
    answer = stranger.post(f"/setup/{setup_token()}/", fields(password=password))
    assert answer.status_code == 200
    assert not User.objects.exists()


def test_the_setup_form_focuses_the_first_invalid_field(stranger: Client) -> None:
    link = f"/setup/{setup_token()}/"
    assert find_focused_fields(stranger.get(link).text) == ["username"]
    assert find_focused_fields(stranger.post(link, fields(password="short")).text) == ["password2"]
    assert find_focused_fields(stranger.post(link, fields("no name", password="short")).text) == [
        "username"
    ]


@pytest.mark.parametrize("page", ["login", "signup", "inactive"])
def test_before_setup_every_sign_in_page_says_where_the_setup_link_is(
    stranger: Client, page: str
) -> None:
    content = stranger.get(f"/accounts/{page}/").text
    assert "Not set up yet" in content
    assert "Ask an administrator" not in content


def test_sign_up_is_closed_by_default(stranger: Client, alice: User) -> None:
    stranger.post("/accounts/signup/", fields("eve"))
    assert [user.username for user in User.objects.all()] == ["alice"]
    page = stranger.get("/accounts/signup/").content.decode()
    assert 'name="password1"' not in page


@pytest.mark.parametrize("login", ["alice", "alice@example.org"])
def test_people_sign_in_with_username_or_email(stranger: Client, alice: User, login: str) -> None:
    User.objects.update(email="alice@example.org")
    answer = stranger.post("/accounts/login/", {"login": login, "password": PASSWORD})
    assert answer.headers["location"] == "/"
    assert stranger.get("/").status_code == 200


def test_the_sign_in_form_focuses_the_next_field(stranger: Client, alice: User) -> None:
    path = "/accounts/login/"
    assert find_focused_fields(stranger.get(path).text) == ["login"]
    wrong = stranger.post(path, {"login": "alice", "password": "no"})
    assert find_focused_fields(wrong.text) == ["password"]


def find_focused_fields(page: str) -> list[str]:
    fields = parse(page).find_all("input")
    return [field.attributes["name"] for field in fields if "autofocus" in field.attributes]


def test_a_wrong_password_does_not_sign_in(stranger: Client, alice: User) -> None:
    assert (
        stranger.post("/accounts/login/", {"login": "alice", "password": "no"}).status_code == 200
    )
    assert stranger.get("/").status_code == 302


def test_an_inactive_account_does_not_sign_in(stranger: Client, alice: User) -> None:
    User.objects.update(is_active=False)
    stranger.post("/accounts/login/", {"login": "alice", "password": PASSWORD})
    assert stranger.get("/").status_code == 302


def test_the_password_can_be_changed(alices: Client, alice: User) -> None:
    new = "another horse entirely"
    change = {"oldpassword": PASSWORD, "password1": new, "password2": new}
    assert alices.post("/accounts/password/change/", change).status_code == 302
    alice.refresh_from_db()
    assert alice.check_password(new)


def test_changing_the_password_requires_the_old_one(alices: Client, alice: User) -> None:
    new = "another horse entirely"
    change = {"oldpassword": "wrong", "password1": new, "password2": new}
    assert alices.post("/accounts/password/change/", change).status_code == 200
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_signing_out_requires_a_post(alices: Client) -> None:
    assert alices.get("/accounts/logout/").status_code == 200
    assert alices.get("/").status_code == 200
    assert alices.post("/accounts/logout/").headers["location"] == "/accounts/login/"
    assert alices.get("/").status_code == 302


def test_people_sign_out_their_other_devices(alice: User, bob: User) -> None:
    here, phone, laptop, bobs = (signed_in(person) for person in (alice, alice, alice, bob))
    for client in (here, phone, laptop, bobs):
        client.get("/help/", headers={"User-Agent": "<i>Firefox/9 Linux"})
    page = here.get("/accounts/devices/").text
    assert (page.count("Firefox on Linux ("), page.count("<i>")) == (1, 0)
    first, second, theirs = (
        Device.objects.get(session_key=client.session.session_key)
        for client in (phone, laptop, bobs)
    )
    own = Device.objects.get(session_key=here.session.session_key)
    for not_another in (theirs.pk, own.pk):
        here.post("/accounts/devices/", {"device": not_another})
    here.post("/accounts/devices/", {"device": first.pk})
    seen = [browser.get("/help/").status_code for browser in (here, phone, laptop, bobs)]
    assert seen == [200, 302, 200, 200]
    here.post("/accounts/devices/")
    seen = [client.get("/help/").status_code for client in (here, laptop, bobs)]
    assert seen == [200, 302, 200]
    assert not Device.objects.filter(pk=second.pk).exists()
