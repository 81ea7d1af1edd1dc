"""Export of a filter's results: what the list shows, nothing that people wrote."""

import csv
import json
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseBase
from django.test import AsyncClient, Client

from chatapp.models import AuditEvent, Conversation, ReviewLabel, User
from chatapp.models.accounts.pseudonyms import IN_EXPORTS, pseudonym
from chatapp.staff.review.lists.exports import COLUMNS
from tests.staff.review.conftest import ANSWER, PROMPT, TITLE, Begin, get_or_create_review

pytestmark = pytest.mark.django_db

EXPORT = "/review/export/"


@pytest.fixture
def rita(ritas: Client) -> AsyncClient:
    client = AsyncClient(headers={"host": "localhost"})
    client.cookies = ritas.cookies
    return client


async def download_export(client: AsyncClient, **filters: str) -> str:
    answer = await client.get(EXPORT, filters)
    assert answer.status_code == 200, answer
    assert "attachment" in answer.headers["content-disposition"]
    return b"".join(await parts(answer)).decode()


async def parts(answer: HttpResponseBase) -> list[bytes]:
    return [part async for part in answer.streaming_content]  # type: ignore[attr-defined]


def decide(conversation: Conversation) -> None:
    review = get_or_create_review(conversation)
    review.decide("minor", User.objects.get(username="rita"))
    review.label([ReviewLabel.objects.create(name="=1+1"), ReviewLabel.objects.create(name="odd")])


async def test_json_lines_include_every_page_and_no_text(
    rita: AsyncClient,
    begin: Begin,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chatapp.staff.review.lists.pages.PAGE", 2)
    first = await sync_to_async(begin)(cost=5 * 10**8)
    await sync_to_async(decide)(first)
    for _ in range(4):
        await sync_to_async(begin)()
    text = await download_export(rita, format="jsonl")
    lines = [json.loads(line) for line in text.splitlines()]
    assert len({line["id"] for line in lines}) == 5
    assert set(lines[-1]) == set(COLUMNS)
    expected: dict[str, Any] = {
        "id": str(first.pk),
        "person": "alice",
        "replies": 1,
        "characters": len(PROMPT + ANSWER),
        "tokens": 1000,
        "cost_usd": 0.5,
        "models": ["one"],
        "verdict": "minor",
        "labels": ["=1+1", "odd"],
        "flagged": False,
        "decided_unopened": True,
    }
    assert {name: lines[-1][name] for name in expected} == expected
    assert lines[-1]["decided_at"]
    assert not [word for word in (TITLE, PROMPT, ANSWER) if word in text]


async def test_no_csv_cell_is_a_formula(
    rita: AsyncClient,
    begin: Begin,
) -> None:
    await sync_to_async(decide)(await sync_to_async(begin)(model="=2+2"))
    await User.objects.filter(username="alice").aupdate(username="@alice")
    [row] = csv.DictReader(StringIO(await download_export(rita, format="csv")))
    assert (row["person"], row["models"], row["labels"]) == ("'@alice", "'=2+2", "'=1+1, odd")


async def test_pseudonyms_are_stable_and_reveal_no_name(
    rita: AsyncClient,
    alice: User,
    bob: User,
    begin: Begin,
) -> None:
    for user in (alice, alice, bob):
        await sync_to_async(begin)(user)
    text = await download_export(rita, format="jsonl", pseudonyms="on")
    people = [json.loads(line)["person"] for line in text.splitlines()]
    assert people == [
        pseudonym(bob, IN_EXPORTS),
        pseudonym(alice, IN_EXPORTS),
        pseudonym(alice, IN_EXPORTS),
    ]
    assert pseudonym(bob, IN_EXPORTS) != pseudonym(alice, IN_EXPORTS)
    assert not [name for name in ("alice", "bob") if name in text]


async def test_an_export_applies_the_filter_and_is_recorded_first(
    rita: AsyncClient,
    bob: User,
    begin: Begin,
) -> None:
    await sync_to_async(begin)()
    await sync_to_async(begin)(bob)
    answer = await rita.get(EXPORT, {"format": "jsonl", "person": "bob", "pseudonyms": "on"})
    event = await AuditEvent.objects.select_related("detail").aget(action="conversations.exported")
    assert {name: event.detail.values[name] for name in ("asked", "format", "people")} == {
        "asked": {"person": bob.pk},
        "format": "jsonl",
        "people": "pseudonyms",
    }
    assert len(await parts(answer)) == 1


async def test_an_export_stops_when_the_person_is_no_longer_a_reviewer(
    rita: AsyncClient,
    begin: Begin,
) -> None:
    await sync_to_async(begin)()
    answer = await rita.get(EXPORT, {"format": "jsonl"})
    await User.objects.filter(username="rita").aupdate(reviews=False)
    with pytest.raises(PermissionDenied):
        await parts(answer)


@pytest.mark.parametrize("filters", [{}, {"format": "xlsx"}, {"format": "csv", "person": "nobody"}])
async def test_an_invalid_export_redirects_to_the_list(
    rita: AsyncClient, filters: dict[str, str]
) -> None:
    answer = await rita.get(EXPORT, filters)
    assert (answer.status_code, answer.headers["location"][:9]) == (302, "/review/?")
    assert not await AuditEvent.objects.filter(action="conversations.exported").aexists()
