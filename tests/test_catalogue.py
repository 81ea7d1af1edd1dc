"""Pages and upstreams that are slow to list their models: nobody waits for another's."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest
from asgiref.sync import sync_to_async

from chatapp import catalogue as catalogue_module
from chatapp.catalogue import PAGE_SECONDS, Catalogue, Offer
from chatapp.models import AccessRule, Upstream
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.model_list import ListedModel
from tests.support.fake_upstream import MODEL, FakeUpstream, Pause, Script, answered

HANGING = Script((Pause(),))
PATIENCE = 1.5  # seconds, with one that hangs


@pytest.fixture
def hanging() -> Iterator[FakeUpstream]:
    """One that takes the question for its models, and says nothing."""
    with FakeUpstream() as hanging:
        hanging.models_failure = HANGING
        yield hanging


@pytest.fixture
async def catalogue(
    connected: Upstream, hanging: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Catalogue]:
    """Of two upstreams, of which the second hangs."""
    monkeypatch.setattr(catalogue_module, "PATIENCE_SECONDS", PATIENCE)
    await Upstream.objects.acreate(name="Hanging", base_url=hanging.base_url)
    client = UpstreamClient()
    catalogue = Catalogue(client)
    yield catalogue
    await catalogue.aclose()
    await client.aclose()


def ids(offer: Offer) -> list[str]:
    return [model.id for model in offer.models]


async def test_what_is_known_is_there_while_another_upstream_hangs(catalogue: Catalogue) -> None:
    began_at = time.monotonic()
    good, hanging = await catalogue.offers()
    assert time.monotonic() - began_at < PATIENCE
    assert (ids(good), good.is_awaited) == ([MODEL], False)
    assert (hanging.models, hanging.problem, hanging.is_awaited) == ((), "", True)
    good, hanging = await catalogue.offers(wait_for_all=True)
    assert ids(good) == [MODEL]
    assert "no answer within" in hanging.problem
    assert not hanging.is_awaited


async def test_an_upstream_that_still_hangs_keeps_nobody_waiting_again(
    catalogue: Catalogue, hanging: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    await catalogue.offers(wait_for_all=True)
    monkeypatch.setattr(catalogue_module, "RETRY_SECONDS", 0)
    began_at = time.monotonic()
    for _ in range(5):
        _, offer = await catalogue.offers()
        assert "no answer within" in offer.problem
        assert offer.is_awaited
    assert time.monotonic() - began_at < 3 * PAGE_SECONDS  # and not five times
    assert len(hanging.requests) <= 2  # pages that come at once ask once
    hanging.models_failure = None


async def test_what_needs_no_question_is_told_in_any_thread(
    catalogue: Catalogue, connected: Upstream, hanging: FakeUpstream
) -> None:
    def known() -> list[list[str]] | None:
        offers = catalogue.known_offers(Upstream.all_enabled())
        return None if offers is None else [ids(offer) for offer in offers]

    assert await sync_to_async(known)() is None, "nobody was asked yet"
    await catalogue.offers(wait_for_all=True)
    assert await sync_to_async(known)() == [[MODEL], []]
    await Upstream.objects.filter(pk=connected.pk).aupdate(api_key="another")
    assert await sync_to_async(known)() is None, "with this key nobody was asked"
    hanging.models_failure = None


async def test_a_list_that_is_old_is_shown_while_a_newer_one_comes(
    catalogue: Catalogue, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    await catalogue.offers()
    monkeypatch.setattr(catalogue_module, "FRESH_SECONDS", 0)
    pause = Pause()
    listed = answered(200, {"data": [{"id": "newer"}]})
    upstream.models_failure = Script((pause, *listed.steps), headers=listed.headers)
    good, _ = await catalogue.offers()
    assert (ids(good), good.is_awaited) == ([MODEL], False)
    pause.release()
    good, _ = await catalogue.offers(wait_for_all=True)
    assert ids(good) == ["newer"]


async def test_whoever_leaves_ends_no_question_that_others_wait_for(catalogue: Catalogue) -> None:
    impatient = asyncio.create_task(catalogue.offers(wait_for_all=True))
    others = asyncio.create_task(catalogue.offers(wait_for_all=True))
    await catalogue.offers()
    impatient.cancel()
    _, hanging = await others
    assert "no answer within" in hanging.problem


async def test_models_that_an_administrator_named_wait_for_no_list(
    catalogue: Catalogue, hanging: FakeUpstream
) -> None:
    await Upstream.objects.filter(name="Hanging").aupdate(
        offered_models="two = The quick one\none three"
    )
    await catalogue.offers()
    began_at = time.monotonic()
    _, named = await catalogue.offers()
    assert time.monotonic() - began_at < PAGE_SECONDS
    assert [(model.id, model.name) for model in named.models] == [
        ("two", "The quick one"),
        ("one", ""),
        ("three", ""),
    ]
    assert (named.problem, named.is_awaited) == ("", False)
    began_at = time.monotonic()
    assert await catalogue.is_offered(named.upstream.pk, "three")
    assert time.monotonic() - began_at < PAGE_SECONDS


async def test_what_a_list_says_of_a_named_model_is_shown_once_it_is_known(
    catalogue: Catalogue, upstream: FakeUpstream, connected: Upstream
) -> None:
    upstream.fail_models(200, {"data": [{"id": "a", "name": "A", "context_length": 8192}]})
    await Upstream.objects.filter(pk=connected.pk).aupdate(offered_models="b = Bee\na")
    good, _ = await catalogue.offers(wait_for_all=True)
    assert [(model.name, model.context_tokens) for model in good.models] == [
        ("Bee", None),
        ("A", 8192),
    ]


async def test_a_list_that_fails_is_no_problem_where_models_are_named(
    catalogue: Catalogue, upstream: FakeUpstream, connected: Upstream
) -> None:
    upstream.fail_models(404, {"error": {"message": "no such page"}})
    await Upstream.objects.filter(pk=connected.pk).aupdate(offered_models="b")
    good, _ = await catalogue.offers(wait_for_all=True)
    assert (ids(good), good.problem) == (["b"], "")


async def test_who_wants_to_know_hears_of_a_list_that_says_something_else(
    connected: Upstream, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_module, "FRESH_SECONDS", 0.0)
    heard: list[Sequence[ListedModel]] = []

    async def hear(_: Upstream, listed: Sequence[ListedModel]) -> None:
        heard.append(listed)

    client = UpstreamClient()
    catalogue = Catalogue(client, hear)
    for _ in range(3):
        await catalogue.offers(wait_for_all=True)
    await asyncio.sleep(0)
    assert len(heard) == 1
    await catalogue.aclose()
    await client.aclose()


async def test_where_a_model_has_a_rule_only_known_ones_are_asked(
    catalogue: Catalogue, connected: Upstream, upstream: FakeUpstream
) -> None:
    """A gateway may take another spelling of it, which has no rule."""
    upstream.models = ["gpt"]
    assert await catalogue.is_offered(connected.pk, "GPT")  # nobody has heard of any
    await AccessRule.objects.acreate(upstream=connected, model="gpt")
    assert not await catalogue.is_offered(connected.pk, "GPT")
    assert await catalogue.is_offered(connected.pk, "gpt")


async def test_what_was_listed_is_offered_while_the_list_fails(
    catalogue: Catalogue,
    connected: Upstream,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catalogue_module, "FRESH_SECONDS", 0.0)
    [good, _] = await catalogue.offers(wait_for_all=True)
    upstream.fail_models(500, {})
    [failing, _] = await catalogue.offers(wait_for_all=True)
    assert "did not list its models" in failing.problem
    assert ids(failing) == ids(good) == [MODEL]
