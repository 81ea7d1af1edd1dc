"""Permissions to change people: only superusers may change superusers and roles.

Olive and Otto are superusers. Stan is staff with every permission that can be granted; Rita is
staff with all view permissions. Alice has no role.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import connections
from django.test import Client

from chatapp.models import ToolServer, User
from tests.conftest import PASSWORD, confirm_password, signed_in
from tests.support import sessions

pytestmark = pytest.mark.django_db

PEOPLE = "/admin/chatapp/user/"
GROUPS = "/admin/auth/group/"
NEW = "four wild geese at dawn"


@pytest.fixture
def otto(db: None) -> User:
    return User.objects.create_superuser("otto", password=PASSWORD)


@pytest.fixture
def stan(db: None) -> User:
    stan = User.objects.create_user("stan", password=PASSWORD, is_staff=True, reviews=True)
    stan.user_permissions.set(Permission.objects.all())
    return stan


@pytest.fixture
def sue(db: None) -> User:
    """A staff member like Stan, but without permissions."""
    return User.objects.create_user("sue", password=PASSWORD, is_staff=True)


@pytest.fixture
def stans(stan: User) -> Client:
    client = signed_in(stan, confirmed=True)
    sessions.remember_browser(client)
    return client


def change(person: User) -> str:
    return f"{PEOPLE}{person.pk}/change/"


def fields(person: User, **more: Any) -> dict[str, Any]:
    """Return a person's form as it would be sent unchanged, updated with `more`."""
    roles = ("is_active", "is_staff", "is_superuser")
    ticked = {name: "on" for name in roles if getattr(person, name)}
    written = {"username": person.username, "first_name": "", "last_name": "", "email": ""}
    written |= {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    sent = written | ticked | more
    return {name: value for name, value in sent.items() if value is not None}


def load_values(person: User) -> dict[str, Any]:
    values = User.objects.filter(pk=person.pk).values().get()
    return {name: value for name, value in values.items() if name != "last_login"}


ROLES = {"is_superuser": "on", "is_staff": "on", "user_permissions": "1", "groups": "1"}


@pytest.mark.parametrize("whom", ["oneself", "alice"])
def test_staff_cannot_grant_a_role(stan: User, stans: Client, alice: User, whom: str) -> None:
    Group.objects.create(pk=1, name="operators")
    stan.user_permissions.set(Permission.objects.filter(content_type__model="user"))
    person = stan if whom == "oneself" else alice
    before = set(person.user_permissions.all())
    stans.post(change(person), fields(person, **ROLES, first_name="Touched"))
    person.refresh_from_db()
    assert (person.is_superuser, person.is_staff) == (False, person == stan)
    assert set(person.user_permissions.all()) == before
    assert not person.groups.exists()
    assert person.first_name == ("Touched" if person == alice else "")


def test_an_account_added_by_staff_has_no_role(stans: Client) -> None:
    passwords = {"password1": NEW, "password2": NEW}
    answer = stans.post(f"{PEOPLE}add/", {"username": "eve", **passwords, **ROLES})
    assert answer.status_code == 302
    eve = User.objects.get(username="eve")
    assert (eve.is_active, eve.is_staff, eve.is_superuser) == (True, False, False)
    assert not eve.user_permissions.exists()


@pytest.mark.parametrize("whom", ["olive", "sue", "stan"])
def test_staff_cannot_change_anyone_with_a_role(
    request: pytest.FixtureRequest, stans: Client, olive: User, sue: User, whom: str
) -> None:
    person: User = request.getfixturevalue(whom)
    before = load_values(person)
    new = {"password1": NEW, "password2": NEW, "set-password": "", "usable_password": "true"}
    chosen = {"action": "delete_selected", "_selected_action": str(person.pk)}
    posts = [
        (change(person), fields(person, username="mine")),
        (change(person), fields(person, is_active=None)),
        (f"{change(person)}?_popup=1&_to_field=id", fields(person, email="me@x.test", _popup="1")),
        (f"{PEOPLE}{person.pk}/password/", new),
        (f"{PEOPLE}{person.pk}/delete/", {"post": "yes"}),
        (f"{PEOPLE}{person.pk}/delete/?_popup=1", {"post": "yes", "_popup": "1"}),
        (PEOPLE, chosen | {"post": "yes"}),
        (f"{PEOPLE}{person.pk}/history/", {"post": "yes"}),
    ]
    for path, form in posts:
        stans.post(path, form)
        assert load_values(person) == before, path
    assert stans.get(f"{PEOPLE}{person.pk}/password/").status_code == 403
    assert stans.get(f"{PEOPLE}{person.pk}/delete/").status_code == 403
    page = stans.get(change(person)).content.decode()
    assert 'name="_save"' not in page
    assert 'name="username"' not in page


def test_a_bulk_deletion_that_includes_a_superuser_deletes_nobody(
    stans: Client, olive: User, otto: User, alice: User
) -> None:
    both = [str(olive.pk), str(alice.pk)]
    chosen = {"action": "delete_selected", "_selected_action": both, "post": "yes"}
    assert stans.post(PEOPLE, chosen).status_code == 403
    assert User.objects.filter(username__in=["olive", "alice"]).count() == 2


@pytest.mark.django_db(transaction=True)
def test_staff_may_manage_people_without_a_role(stans: Client, alice: User) -> None:
    stans.post(change(alice), fields(alice, email="alice@example.org", is_active=None))
    alice.refresh_from_db()
    assert (alice.email, alice.is_active) == ("alice@example.org", False)
    new = {"password1": NEW, "password2": NEW}
    assert stans.post(f"{PEOPLE}{alice.pk}/password/", new).status_code == 302
    alice.refresh_from_db()
    assert alice.check_password(NEW)
    assert stans.post(f"{PEOPLE}{alice.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(username="alice").exists()


def test_only_superusers_may_change_groups(stan: User, stans: Client) -> None:
    group = Group.objects.create(name="operators")
    stan.groups.add(group)
    every = [str(pk) for pk in Permission.objects.values_list("pk", flat=True)]
    chosen = {"action": "delete_selected", "_selected_action": str(group.pk), "post": "yes"}
    assert stans.post(f"{GROUPS}{group.pk}/change/", {"permissions": every}).status_code == 403
    assert stans.post(f"{GROUPS}add/", {"name": "mine", "permissions": every}).status_code == 403
    assert stans.post(f"{GROUPS}{group.pk}/delete/", {"post": "yes"}).status_code == 403
    stans.post(GROUPS, chosen)
    assert [row.name for row in Group.objects.all()] == ["operators"]
    assert not group.permissions.exists()


def test_stored_email_addresses_are_not_in_the_admin(stans: Client) -> None:
    assert stans.get("/admin/account/emailaddress/").status_code == 404


@pytest.mark.parametrize("lost", ["is_active", "is_staff", "is_superuser"])
def test_the_last_administrator_cannot_be_demoted(olive: User, lost: str) -> None:
    olives = signed_in(olive, confirmed=True)
    page = olives.post(change(olive), fields(olive, **{lost: None})).content.decode()
    assert "This is the last account that can administer this server." in page
    assert load_values(olive)[lost]


def test_the_last_administrator_cannot_be_deleted(olive: User, otto: User, alice: User) -> None:
    User.objects.filter(pk=otto.pk).update(is_active=False)
    olives = signed_in(olive, confirmed=True)
    page = olives.post(f"{PEOPLE}{olive.pk}/delete/", {"post": "yes"})
    assert "This is the last account that can administer this server." in page.content.decode()
    every = [str(person.pk) for person in (olive, otto, alice)]
    chosen = {"action": "delete_selected", "_selected_action": every, "post": "yes"}
    page = olives.post(PEOPLE, chosen)
    assert "This is the last account that can administer this server." in page.content.decode()
    assert User.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_one_of_two_administrators_can_be_removed(olive: User, otto: User) -> None:
    olives = signed_in(olive, confirmed=True)
    assert olives.post(change(otto), fields(otto, is_superuser=None)).status_code == 302
    assert not load_values(otto)["is_superuser"]
    assert olives.post(f"{PEOPLE}{otto.pk}/delete/", {"post": "yes"}).status_code == 302
    assert User.objects.get() == olive


@pytest.mark.django_db(transaction=True)
def test_one_administrator_remains_if_two_demote_each_other_at_once(
    olive: User, otto: User
) -> None:
    together = Barrier(2)

    def demote(who: User, whom: User) -> None:
        client = signed_in(who, confirmed=True)
        form = fields(whom, is_superuser=None)
        together.wait(20)
        try:
            client.post(change(whom), form)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(demote, (olive, otto), (otto, olive)))
    assert User.objects.filter(is_superuser=True).count() == 1


def test_a_superuser_can_grant_and_revoke_roles(olive: User, alice: User) -> None:
    olives = signed_in(olive, confirmed=True)
    assert olives.post(change(alice), fields(alice, is_staff="on")).status_code == 302
    assert load_values(alice)["is_staff"]


def test_no_account_can_be_left_without_a_password(olive: User, alice: User) -> None:
    """There is no other way to sign in."""
    olives = signed_in(olive, confirmed=True)
    off = {"usable_password": "false", "unset-password": "", "password1": "", "password2": ""}
    olives.post(f"{PEOPLE}{olive.pk}/password/", off)
    assert User.objects.get(pk=olive.pk).check_password(PASSWORD)


def test_an_address_belongs_to_one_account(olive: User, alice: User, bob: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    olives = signed_in(olive, confirmed=True)
    page = olives.post(change(bob), fields(bob, email="Alice@example.org")).content.decode()
    assert "Another account has this email address" in page
    assert load_values(bob)["email"] == ""


@pytest.mark.parametrize(
    "path",
    [
        "/admin/chatapp/upstream/?api_key__startswith=g",
        "/admin/chatapp/upstream/?api_key__isnull=1",
        "/admin/chatapp/toolserver/?secrets__contains=A",
        "/admin/chatapp/toolserver/?secrets=",
        f"{PEOPLE}?password__startswith=pbkdf2",
        f"{PEOPLE}?groups__user__password__startswith=pbkdf2",
        f"{GROUPS}?user__password__startswith=pbkdf2",
        f"{PEOPLE}?_to_field=password",
    ],
)
def test_no_list_filter_can_query_a_secret(stans: Client, path: str) -> None:
    """The number of rows would reveal it, character by character."""
    assert stans.get(path).status_code == 400


@pytest.mark.parametrize("host", ["[::1", "[x]", "h:99999", "h:abc", "℀.x", "me:secret@h", "h/#f"])
@pytest.mark.parametrize("kind", ["upstream", "toolserver"])
def test_an_invalid_url_gets_an_error_message(olives: Client, kind: str, host: str) -> None:
    form = {"name": "x", "base_url": f"http://{host}", "url": f"http://{host}", "transport": "http"}
    answer = olives.post(f"/admin/chatapp/{kind}/add/", form)
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "t a valid " in page or "The URL is visible to " in page


# Tool servers


@pytest.fixture
def command(tmp_path: Path, db: None) -> tuple[ToolServer, Path]:
    """A disabled server whose command creates a file when it is started."""
    trace = tmp_path / "started"
    server = ToolServer.objects.create(
        name="local", transport="stdio", command=f"touch {trace}", enabled=False
    )
    return server, trace


@pytest.mark.parametrize("who", ["stan", "rita", "olive"])
def test_viewing_a_command_does_not_start_it(
    request: pytest.FixtureRequest, command: tuple[ToolServer, Path], who: str
) -> None:
    server, trace = command
    rita = User.objects.create_user("rita", password=PASSWORD, is_staff=True)
    rita.user_permissions.set(Permission.objects.filter(codename__startswith="view"))
    client = confirm_password(signed_in(rita if who == "rita" else request.getfixturevalue(who)))
    base = f"/admin/chatapp/toolserver/{server.pk}/"
    assert client.get(f"{base}change/").status_code == 200
    for path in ("tools/", "history/", "delete/"):
        client.get(f"{base}{path}")
    assert not trace.exists()
    answer = client.post(f"{base}tools/")
    assert answer.status_code == (200 if who == "olive" else 403)
    assert trace.exists() is (who == "olive")
