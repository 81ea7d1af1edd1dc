"""Administrators and their roles: one always remains, and Django's own permissions give no right.

Olive and Otto are administrators. Stan has every permission of Django's, and no role.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connections
from django.test import Client

from chatapp.models import ToolServer, User
from tests.conftest import PASSWORD, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def otto(db: None) -> User:
    return User.objects.create_superuser("otto", password=PASSWORD, reviews=False)


@pytest.mark.parametrize("flag", ["is_staff", "is_superuser"])
def test_one_flag_and_every_permission_make_no_administrator(olives: Client, flag: str) -> None:
    """Versions up to 0.5.0 had an admin site, which such people could use."""
    stan = User.objects.create_user("stan", password=PASSWORD)
    setattr(stan, flag, True)
    stan.save()
    stan.user_permissions.set(Permission.objects.all())
    stans = signed_in(stan, confirmed=True)
    for path in ("/people/", "/settings/", "/settings/models/", f"/people/{stan.pk}/"):
        assert stans.get(path).status_code == 403, path
    assert stans.post(f"/people/{stan.pk}/roles/", {"administers": "on"}).status_code == 403
    assert stans.get("/admin/").status_code == 404
    assert "Administration" not in stans.get("/").text
    assert stan.roles == ["Member"]
    assert "stan" in olives.get("/people/?role=member").text


def test_the_last_active_administrator_cannot_be_demoted_or_deleted(
    olives: Client, olive: User, otto: User
) -> None:
    User.objects.filter(pk=otto.pk).update(is_active=False)
    for what in ("roles", "active", "delete"):
        page = olives.post(f"/people/{olive.pk}/{what}/", follow=True).text
        assert "This is the last account that can administer this server." in page
    olive.refresh_from_db()
    assert (olive.administers, olive.reviews, olive.is_active) == (True, True, True)


@pytest.mark.django_db(transaction=True)
def test_one_of_two_administrators_can_be_removed(olives: Client, olive: User, otto: User) -> None:
    assert olives.post(f"/people/{otto.pk}/roles/").status_code == 302
    otto.refresh_from_db()
    assert otto.roles == ["Member"]
    assert olives.post(f"/people/{otto.pk}/delete/").status_code == 200
    assert User.objects.get() == olive


@pytest.mark.django_db(transaction=True)
def test_one_administrator_remains_if_two_demote_each_other_at_once(
    olive: User, otto: User
) -> None:
    together = Barrier(2)

    def demote(who: User, whom: User) -> None:
        client = signed_in(who, confirmed=True)
        together.wait(20)
        try:
            client.post(f"/people/{whom.pk}/roles/")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(demote, (olive, otto), (otto, olive)))
    assert User.objects.filter(is_superuser=True).count() == 1


@pytest.mark.parametrize("host", ["[::1", "[x]", "h:99999", "h:abc", "℀.x", "me:secret@h", "h/#f"])
@pytest.mark.parametrize("kind", ["models", "tools"])
def test_an_invalid_url_gets_an_error_message(olives: Client, kind: str, host: str) -> None:
    form = {"name": "x", "base_url": f"http://{host}", "url": f"http://{host}", "transport": "http"}
    answer = olives.post(f"/settings/{kind}/new/", form)
    assert answer.status_code == 200
    assert "t a valid " in answer.text or "The URL is visible to " in answer.text


def test_viewing_a_command_does_not_start_it(olives: Client, tmp_path: Path) -> None:
    trace = tmp_path / "started"
    fields: dict[str, Any] = {"transport": "stdio", "command": f"touch {trace}", "enabled": False}
    server = ToolServer.objects.create(name="local", **fields)
    base = f"/settings/tools/{server.pk}/"
    statuses = [olives.get(f"{base}{page}").status_code for page in ("", "delete/", "tools/")]
    assert statuses == [200, 200, 405]
    assert not trace.exists()
    assert olives.post(f"{base}tools/").status_code == 200
    assert trace.exists()
