"""Every form that is refused comes back with what was typed into it."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.db import transaction
from django.http import HttpResponseBase
from django.test import Client

from tests.security import posted
from tests.security.house import House, read_body
from tests.security.test_access import TABLE
from tests.support.page import Element, collect_fields, parse

pytestmark = pytest.mark.django_db

TYPED_IN = ("text", "search", "email", "url", "number")
"""Types of the inputs that people type into, passwords aside: those are not sent back."""
TOO_LONG = "k" * 200_000
"""No field takes that much, not even a text of several lines."""


@dataclass
class Form:
    client: Client
    page: str
    element: Element

    @property
    def action(self) -> str:
        attributes = self.element.attributes
        return attributes.get("hx-post") or attributes.get("action") or self.page

    @property
    def is_swapped(self) -> bool:
        """Whether the page stays when it is sent."""
        attributes = self.element.attributes
        return "hx-post" in attributes or "data-answers" in attributes

    @property
    def typed_in(self) -> list[str]:
        return [field.attributes["name"] for field in fields_in(self.element)]

    def send(self, values: dict[str, list[str]]) -> HttpResponseBase:
        headers = {"HX-Request": "true"} if self.is_swapped else {}
        with transaction.atomic():
            answer = self.client.post(self.action, values, headers=headers)
            transaction.set_rollback(True)
        return answer

    def find_lost_fields(self) -> list[str] | None:
        """Return the fields whose text is lost when another is refused; None if none is."""
        names = self.typed_in
        for wrong in names:
            typed = {name: f"12 kept {number}" for number, name in enumerate(names)}
            values = collect_fields(self.element) | {name: [text] for name, text in typed.items()}
            answer = self.send(values | {wrong: [TOO_LONG]})
            if answer.status_code < 300 or answer.status_code in (400, 422):
                page = parse(read_body(answer).decode())
                texts = {field.attributes["name"]: text_in(field) for field in fields_in(page)}
                if self.is_swapped and not texts:
                    return []
                return [name for name in names if name != wrong and texts.get(name) != typed[name]]
        return None


def fields_in(element: Element) -> list[Element]:
    return [
        field
        for field in element.find_all("input") + element.find_all("textarea")
        if "name" in field.attributes
        and "disabled" not in field.attributes
        and field.attributes.get("type", "text") in TYPED_IN
    ]


def text_in(field: Element) -> str:
    return field.attributes.get("value", "") or field.text.removeprefix("\n")


def forms(house: House, name: str) -> Iterator[Form]:
    """Iterate over the forms of all pages that people type into."""
    client = house.clients[name]
    seen = set()
    for route in TABLE:
        page = house.path(route)
        answer = client.get(page)
        if answer.status_code == 200 and "text/html" in answer.headers.get("content-type", ""):
            for element in parse(read_body(answer).decode()).find_all("form"):
                form = Form(client, page, element)
                is_post = form.is_swapped or element.attributes.get("method") == "post"
                if is_post and form.typed_in and form.action not in seen:
                    seen.add(form.action)
                    yield form


@pytest.mark.parametrize("name", ["alice", "olive", "rita"])
def test_a_refused_form_keeps_what_was_typed(house: House, name: str) -> None:
    posted.furnish(house)
    lost = {form.action: form.find_lost_fields() for form in forms(house, name)}
    refused = {action for action, names in lost.items() if names is not None}
    assert {action: names for action, names in lost.items() if names} == {}
    assert len(refused) > 3, lost
