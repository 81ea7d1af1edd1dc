"""Numbers that Python refuses to read, or that no database can store, wherever a page takes one:
each is answered as not found, or by an error at its field, and none makes a page fail."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import get_resolver
from django.utils.http import urlsafe_base64_encode

from chatapp.db.primary_keys import parse_pk
from chatapp.models import Conversation, Upstream, User
from tests.staff.review.conftest import Begin, begin  # noqa: F401 - a fixture
from tests.staff.review.told import read_messages
from tests.support.page import parse
from tests.support.profile import sample_params

pytestmark = pytest.mark.django_db

PAST_64_BITS = str(2**63)
PAST_PYTHON = "9" * 4301  # more digits than Python converts by default
NUMBERS = [PAST_64_BITS, PAST_PYTHON, "\N{SUPERSCRIPT TWO}", "9" * 30, "9" * 4300]
NUMBER = re.compile("<int:[a-z_]+>|<path:[a-z_]+>")
OTHERS = {
    **{
        f"<uuid:{name}>": [str(UUID(int=0, version=4))]
        for name in ("pk", "chat", "message", "reply")
    },
    "<str:token>": ["x"],
    "<slug:kind>": ["upstream", "tools"],
    "<slug:what>": ["name", "groups", "sign-out", "hold", "end-hold", "active"],
}
numbers = pytest.mark.parametrize("number", sample_params(NUMBERS, 3), ids=len)


def addresses(patterns: Any, before: str = "/") -> Iterator[str]:
    """Return all addresses that take a number, with `{}` in its place."""
    for pattern in patterns:
        address = f"{before}{pattern.pattern}"
        if hasattr(pattern, "url_patterns"):
            yield from addresses(pattern.url_patterns, address)
        elif NUMBER.search(address):
            yield from fill_address(NUMBER.sub("{0}", address))


def fill_address(address: str) -> Iterator[str]:
    match = re.search("<[^>]+>", address)
    if not match:
        yield address
        return
    for value in OTHERS[match[0]]:
        yield from fill_address(address.replace(match[0], value))


@pytest.mark.parametrize("number", NUMBERS, ids=len)
def test_a_key_consists_of_digits_that_fit_a_database(number: str) -> None:
    assert parse_pk(number) == parse_pk("-1") == parse_pk("") == 0
    assert parse_pk("9" * 18) == 999_999_999_999_999_999


@numbers
def test_an_address_with_it_is_not_found(olives: Client, number: str) -> None:
    there = [template.format(number) for template in addresses(get_resolver().url_patterns)]
    assert len(there) > 40
    for address in there:
        for answer in (olives.get(address), olives.post(address)):
            expected: tuple[int, ...] = (404, 405)
            if address.startswith("/upstreams/"):  # a former address, which redirects
                expected = (302, 404, 405)
            if address.startswith("/api/v1/models/"):  # where a session is no use
                expected = (401, 405)
            assert answer.status_code in expected, address[:60]


@numbers
def test_a_password_reset_link_with_it_is_invalid(client: Client, number: str) -> None:
    named = urlsafe_base64_encode(number.encode())
    assert client.get(f"/accounts/password/new/{named}/x/").status_code == 410


@numbers
def test_it_matches_no_label_device_hold_or_member(
    olives: Client,
    alice: User,
    begin: Begin,  # noqa: F811
    number: str,
) -> None:
    conversation: Conversation = begin()
    rows = [f"{conversation.pk} 0"]
    for act in ("label", "unlabel"):
        answer = olives.post(
            "/review/bulk/", {"act": act, "rows": rows, "label": number}, follow=True
        )
        assert read_messages(answer.text) == "Choose a label first."
    group = Group.objects.create(name="Writers")
    group.user_set.add(alice)
    assert olives.post(f"/people/groups/{group.pk}/member/", {"remove": number}).status_code == 302
    assert group.user_set.get() == alice
    page = olives.post(f"/people/{alice.pk}/end-hold/", {"hold": number}, follow=True).text
    assert "has already ended" in page
    assert olives.post("/accounts/devices/", {"device": number}).status_code == 302
    assert olives.get("/privacy/", {"before": number}).status_code == 200


@pytest.mark.parametrize(
    "value",
    [PAST_PYTHON, "1e999", "NaN", "-Infinity", '"\\ud800"', "[" * 100_000],
    ids=["digits", "exponent", "NaN", "Infinity", "half", "deep"],
)
def test_parameters_that_a_database_cannot_store_as_json_are_refused(
    olives: Client, value: str
) -> None:
    gateway = Upstream.objects.create(name="Gateway", base_url="http://127.0.0.1:9/v1")
    fields = {
        "dialect": "auto",
        "silence_seconds": "300",
        "image_side": "1568",
        "parameters": f'{{"seed": {value}}}',
    }
    page = olives.post(f"/settings/models/{gateway.pk}/requests/", fields).text
    assert "Enter a valid JSON." in page
    assert parse(page).find("textarea", name="parameters").text.strip() == fields["parameters"]
    assert Upstream.objects.get().parameters == {}
