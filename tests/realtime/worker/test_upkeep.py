"""The chores of every minute: a failing one does not stop the others."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError

from chatapp.models import DailyUsage, Price, Upstream, Usage, User
from chatapp.realtime.worker import upkeep
from chatapp.upstream.wire.model_list import ListedModel
from chatapp.upstream.wire.model_prices import ListedPrice
from tests.support.stored import new_conversation, store_turn


async def test_a_failing_chore_is_retried_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upkeep, "SECONDS", 0)
    done: list[str] = []
    enough = asyncio.Event()

    async def away() -> None:
        done.append("away")
        raise OperationalError

    async def fail() -> None:
        done.append("broken")
        raise ArithmeticError

    async def fine() -> None:
        done.append("fine")
        if len(done) >= 6:
            enough.set()

    keeping_up = asyncio.create_task(upkeep.run_upkeep(away, fail, fine))
    async with asyncio.timeout(10):
        await enough.wait()
    keeping_up.cancel()
    assert done[:6] == ["away", "broken", "fine"] * 2


@pytest.mark.django_db
async def test_ledger_rows_of_an_older_version_are_completed(
    alice: User, saved_upstream: Upstream
) -> None:
    await sync_to_async(store_turn)(new_conversation(alice), saved_upstream, "Why?")
    await Usage.objects.aupdate(
        user=None, booked_at=None, day=None, upstream=None, upstream_name=""
    )
    await upkeep.complete_ledger()
    booked = await Usage.objects.aget()
    assert (booked.user_id, booked.upstream_name) == (alice.pk, "Fake")
    assert await DailyUsage.objects.filter(person=alice.pk, upstream_name="Fake").aexists()


@pytest.mark.django_db
async def test_the_library_prices_models_listed_without_a_price(
    saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, library_price = ListedPrice(1, 2), ListedPrice(3, 4)
    lookups: list[tuple[str, list[str]]] = []

    async def library(base_url: str, models: list[str]) -> list[ListedModel]:
        lookups.append((base_url, models))
        return [ListedModel("b", price=library_price)]

    monkeypatch.setattr(upkeep, "find_known_models", library)
    listed = [ListedModel("a", price=own), ListedModel("b"), ListedModel("c")]
    for _ in range(2):
        await upkeep.store_prices(saved_upstream, listed)
    assert lookups[0] == (saved_upstream.base_url, ["b", "c"])
    rows = Price.objects.order_by("model").values_list("model", "source", "input")
    assert [row async for row in rows] == [("a", "gateway", 1), ("b", "genai-prices", 3)]


@pytest.mark.django_db
async def test_a_failing_price_library_is_tolerated(
    saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> list[ListedModel]:
        raise OSError("no process")

    monkeypatch.setattr(upkeep, "find_known_models", fail)
    await upkeep.store_prices(saved_upstream, [ListedModel("a")])
    assert not await Price.objects.aexists()
