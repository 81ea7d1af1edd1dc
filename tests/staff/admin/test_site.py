"""The admin site: who gets in, and what it shows."""

import pytest
from django.contrib.auth.models import Permission
from django.test import AsyncClient, Client

from chatapp.models import User
from tests.conftest import PASSWORD, signed_in
from tests.support.page import parse

pytestmark = pytest.mark.django_db
UPSTREAMS = "/admin/chatapp/upstream/"


@pytest.mark.parametrize("path", ["/admin/", UPSTREAMS])
def test_only_staff_get_in(alices: Client, path: str) -> None:
    answer = alices.get(path)
    assert answer.status_code == 302
    assert "login" in answer.headers["location"]


def test_signed_in_staff_cannot_sign_in_as_someone_else(olive: User) -> None:
    """Django's form would accept passwords without a rate limit or the second factor."""
    client = signed_in(User.objects.create_user("stan", is_staff=True))
    answer = client.post("/admin/login/", {"username": "olive", "password": PASSWORD})
    assert answer.status_code == 405
    assert client.get("/people/").status_code == 403


def test_what_there_is_stands_in_one_list_without_the_names_of_djangos_apps(olives: Client) -> None:
    page = parse(olives.get("/admin/").text)
    listed = [link.text for link in page.find_all("th a")]
    assert listed == ["Users", "Groups", "Upstreams", "Tool servers", "Suggestions"]


def test_a_persons_page_shows_nothing_of_the_password(olives: Client, alice: User) -> None:
    page = olives.get(f"/admin/chatapp/user/{alice.pk}/change/").text
    assert "../password/" in page
    assert alice.password.partition("$")[0] not in page


def test_only_useful_permissions_are_offered(olives: Client, alice: User) -> None:
    page = parse(olives.get(f"/admin/chatapp/user/{alice.pk}/change/").text)
    offered = [label.text.strip() for label in page.find_all("#id_user_permissions label")]
    assert "Can change upstream" in offered
    assert not [permission for permission in offered if "conversation" in permission]
    assert not [
        permission for permission in offered if "message" in permission or "session" in permission
    ]


async def test_the_menu_links_to_the_settings_only_for_people_who_may_change_some(
    anyone: AsyncClient, alice: User, olive: User
) -> None:
    rita = await User.objects.acreate(username="rita", is_staff=True, reviews=True)
    stan = await User.objects.acreate(username="stan", is_staff=True)
    await stan.user_permissions.aset(Permission.objects.filter(codename="view_suggestion"))
    links = {}
    for person in (alice, rita, stan, olive):
        await anyone.aforce_login(person)
        page = parse((await anyone.get("/")).content.decode())
        paths = "/admin/", "/people/"
        links[person.username] = [href for href in paths if page.find_all("a", href=href)]
    assert links == {"alice": [], "rita": [], "stan": ["/admin/"], "olive": ["/people/"]}
