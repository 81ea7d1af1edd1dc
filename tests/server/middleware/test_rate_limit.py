"""The rate limit that a person's pages and WebSockets share."""

from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client

from chatapp.chat.consumer import TOO_MUCH
from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.models import AuditEvent, User
from chatapp.sessions.rate_limits import allowances
from chatapp.sessions.session_people import find_person
from tests.support.tab import Tab

NOTHING_LEFT = TokenBucket(0, 0)


def test_too_many_requests_are_refused_with_a_page(alice: User, alices: Client) -> None:
    allowances[alice.pk] = TokenBucket(0, 2)
    assert [alices.get("/help/").status_code for _ in range(3)] == [200, 200, 429]
    answer = alices.get("/help/")
    assert "Too many requests" in answer.text
    assert answer["Retry-After"] == "10"


def test_a_session_is_remembered_with_its_person(alice: User, alices: Client) -> None:
    assert alices.get("/help/").status_code == 200
    assert find_person(alices.cookies[settings.SESSION_COOKIE_NAME].value) == alice.pk


def test_a_request_that_writes_costs_more(alice: User, alices: Client) -> None:
    allowances[alice.pk] = TokenBucket(0, 9)
    statuses = [alices.post("/conversations/export/", {}).status_code for _ in range(2)]
    assert statuses == [422, 429]


def test_a_part_of_a_file_costs_no_more_than_a_page(alice: User, alices: Client) -> None:
    allowances[alice.pk] = TokenBucket(0, 2)
    path = f"/files/{uuid4()}/part/"
    assert [alices.patch(path).status_code for _ in range(3)] == [404, 404, 429]


def test_an_htmx_request_is_refused_with_a_sentence(alice: User, alices: Client) -> None:
    allowances[alice.pk] = NOTHING_LEFT
    answer = alices.post("/conversations/export/", {}, headers={"HX-Request": "true"})
    assert (answer.status_code, answer.text.split(".")[0]) == (429, "Too many requests")


def test_nobody_else_is_limited(alice: User, bobs: Client, client: Client, alices: Client) -> None:
    allowances[alice.pk] = NOTHING_LEFT
    assert alices.get("/").status_code == 429
    assert bobs.get("/").status_code == 200
    assert client.get("/accounts/login/").status_code == 200


def test_an_export_of_no_chats_records_no_event(alices: Client, bob: User) -> None:
    foreign = bob.conversations.create(title="Bob's")
    answer = alices.post("/conversations/export/", {"ids": [str(foreign.pk)]})
    assert answer.status_code == 404
    assert not AuditEvent.objects.filter(action="conversations.exported").exists()


@pytest.mark.django_db(transaction=True)
async def test_pages_and_sockets_share_an_allowance(alice: User, tab: Tab) -> None:
    allowances[alice.pk] = NOTHING_LEFT
    await tab.send(action="prompt", message="Hello?", prompt=str(uuid4()))
    await tab.until(TOO_MUCH)
