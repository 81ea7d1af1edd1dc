"""The navigation of staff pages: its groups, the current page, and counts of what waits."""

import pytest
from django.test import Client

from chatapp.models import User
from tests.conftest import signed_in
from tests.support.page import Element, parse

pytestmark = pytest.mark.django_db

EVERYTHING = {
    "People": ["People", "Usage", "Limits"],
    "Models": ["Models", "Tool servers"],
    "Conversations": ["Review", "Labels", "Rules", "Policy", "Retention"],
    "Site": ["Settings", "Shared", "Audit"],
}


def navigation(client: Client, path: str) -> Element:
    return parse(client.get(path).text).find("nav", id="frame-menu")


def groups(nav: Element) -> dict[str, list[str]]:
    return {
        group.find("p").text: [entry.text for entry in group.find_all("a")]
        for group in nav.elements
    }


def test_administrators_who_review_see_every_page_in_its_group(olive: User) -> None:
    User.objects.filter(pk=olive.pk).update(reviews=True)
    nav = navigation(signed_in(olive, confirmed=True), "/policy/")
    assert groups(nav) == EVERYTHING


def test_nobody_is_shown_a_page_that_they_may_not_open(olive: User) -> None:
    User.objects.filter(pk=olive.pk).update(reviews=False)
    others = ["Labels", "Rules", "Policy", "Retention"]
    nav = navigation(signed_in(olive, confirmed=True), "/policy/")
    assert groups(nav) == EVERYTHING | {"Conversations": others}
    rita = User.objects.create_user("rita", is_staff=True, reviews=True)
    nav = navigation(signed_in(rita), "/review/")
    assert groups(nav) == {"Conversations": ["Review"]}


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/settings/", "Settings"),
        ("/settings/tools/new/", "Tool servers"),
        ("/settings/shared/", "Shared"),
        ("/people/groups/", "People"),
        ("/review/rules/", "Rules"),
    ],
)
def test_the_page_with_the_longest_matching_address_is_current(
    olive: User, path: str, label: str
) -> None:
    nav = navigation(signed_in(olive, confirmed=True), path)
    assert nav.find("a", aria_current="page").text == label
