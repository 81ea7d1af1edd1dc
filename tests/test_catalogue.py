"""The catalogue with upstreams that are slow to list their models: nobody waits for another's."""

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
from tests.support.fake_upstream import MODEL, FakeUpstream, Pause, Script, build_response

HANGING = Script((Pause(),))
PATIENCE = 1.5  # seconds to wait for a hanging upstream


@pytest.fixture
def hanging() -> Iterator[FakeUpstream]:
    """An upstream that accepts the request for its models and never answers."""
    with FakeUpstream() as hanging:
        hanging.models_failure = HANGING
        yield hanging


@pytest.fixture
async def catalogue(
    saved_upstream: Upstream, hanging: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Catalogue]:
    """A catalogue of two upstreams; the second one hangs."""
    monkeypatch.setattr(catalogue_module, "PATIENCE_SECONDS", PATIENCE)
    await Upstream.objects.acreate(name="Hanging", base_url=hanging.base_url)
    client = UpstreamClient()
    catalogue = Catalogue(client)
    yield catalogue
    await catalogue.aclose()
    await client.aclose()


def ids(offer: Offer) -> list[str]:
    return [model.id for model in offer.models]


async def test_known_models_are_returned_while_another_upstream_hangs(catalogue: Catalogue) -> None:
    began_at = time.monotonic()
    good, hanging = await catalogue.offers()
    assert time.monotonic() - began_at < PATIENCE
    assert (ids(good), good.is_awaited) == ([MODEL], False)
    assert (hanging.models, hanging.problem, hanging.is_awaited) == ((), "", True)
    good, hanging = await catalogue.offers(wait_for_all=True)
    assert ids(good) == [MODEL]
    assert "no answer within" in hanging.problem
    assert not hanging.is_awaited


async def test_an_upstream_that_still_hangs_delays_nobody_twice(
    catalogue: Catalogue, hanging: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    await catalogue.offers(wait_for_all=True)
    monkeypatch.setattr(catalogue_module, "RETRY_SECONDS", 0)
    began_at = time.monotonic()
    for _ in range(5):
        _, offer = await catalogue.offers()
        assert "no answer within" in offer.problem
        assert offer.is_awaited
    assert time.monotonic() - began_at < 3 * PAGE_SECONDS  # not five times
    assert len(hanging.requests) <= 2  # concurrent pages share one request
    hanging.models_failure = None


async def test_known_offers_can_be_read_in_any_thread(
    catalogue: Catalogue, saved_upstream: Upstream, hanging: FakeUpstream
) -> None:
    def get_model_ids() -> list[list[str]] | None:
        offers = catalogue.get_cached_offers(Upstream.all_enabled())
        return None if offers is None else [ids(offer) for offer in offers]

    assert await sync_to_async(get_model_ids)() is None, "no upstream was asked yet"
    await catalogue.offers(wait_for_all=True)
    assert await sync_to_async(get_model_ids)() == [[MODEL], []]
    await Upstream.objects.filter(pk=saved_upstream.pk).aupdate(api_key="another")
    assert await sync_to_async(get_model_ids)() is None, "no upstream was asked with this key yet"
    hanging.models_failure = None


async def test_an_old_list_is_shown_while_a_newer_one_is_fetched(
    catalogue: Catalogue, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    await catalogue.offers()
    monkeypatch.setattr(catalogue_module, "FRESH_SECONDS", 0)
    pause = Pause()
    listed = build_response(200, {"data": [{"id": "newer"}]})
    upstream.models_failure = Script((pause, *listed.steps), headers=listed.headers)
    good, _ = await catalogue.offers()
    assert (ids(good), good.is_awaited) == ([MODEL], False)
    pause.release()
    good, _ = await catalogue.offers(wait_for_all=True)
    assert ids(good) == ["newer"]


async def test_a_cancelled_caller_does_not_cancel_a_request_others_await(
    catalogue: Catalogue,
) -> None:
    impatient = asyncio.create_task(catalogue.offers(wait_for_all=True))
    others = asyncio.create_task(catalogue.offers(wait_for_all=True))
    await catalogue.offers()
    impatient.cancel()
    _, hanging = await others
    assert "no answer within" in hanging.problem


async def test_named_models_do_not_wait_for_a_list(
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


async def test_a_named_model_gets_details_from_the_list_once_it_is_known(
    catalogue: Catalogue, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    upstream.fail_models(200, {"data": [{"id": "a", "name": "A", "context_length": 8192}]})
    await Upstream.objects.filter(pk=saved_upstream.pk).aupdate(offered_models="b = Bee\na")
    good, _ = await catalogue.offers(wait_for_all=True)
    assert [(model.name, model.context_tokens) for model in good.models] == [
        ("Bee", None),
        ("A", 8192),
    ]


async def test_a_failing_list_is_no_problem_if_models_are_named(
    catalogue: Catalogue, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    upstream.fail_models(404, {"error": {"message": "no such page"}})
    await Upstream.objects.filter(pk=saved_upstream.pk).aupdate(offered_models="b")
    good, _ = await catalogue.offers(wait_for_all=True)
    assert (ids(good), good.problem) == (["b"], "")


async def test_the_callback_is_called_only_when_the_list_changes(
    saved_upstream: Upstream, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_module, "FRESH_SECONDS", 0.0)
    changes: list[Sequence[ListedModel]] = []

    async def on_change(_: Upstream, listed: Sequence[ListedModel]) -> Sequence[ListedModel]:
        changes.append(listed)
        return [ListedModel(model.id, context_tokens=8192) for model in listed]

    client = UpstreamClient()
    catalogue = Catalogue(client, on_change)
    for _ in range(3):
        await catalogue.offers(wait_for_all=True)
    await asyncio.sleep(0)
    assert len(changes) == 1
    [offer] = await catalogue.offers()
    assert [model.context_tokens for model in offer.models] == [8192] * len(upstream.models)
    await catalogue.aclose()
    await client.aclose()


async def test_only_known_models_are_offered_if_one_has_a_rule(
    catalogue: Catalogue, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    """A gateway may accept another spelling of its id, to which the rule does not apply."""
    upstream.models = ["gpt"]
    assert await catalogue.is_offered(saved_upstream.pk, "GPT")  # no list is known yet
    await AccessRule.objects.acreate(upstream=saved_upstream, model="gpt")
    assert not await catalogue.is_offered(saved_upstream.pk, "GPT")
    assert await catalogue.is_offered(saved_upstream.pk, "gpt")


async def test_the_last_list_is_offered_while_the_list_fails(
    catalogue: Catalogue,
    saved_upstream: Upstream,
    upstream: FakeUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catalogue_module, "FRESH_SECONDS", 0.0)
    [good, _] = await catalogue.offers(wait_for_all=True)
    upstream.fail_models(500, {})
    [failing, _] = await catalogue.offers(wait_for_all=True)
    assert "did not list its models" in failing.problem
    assert ids(failing) == ids(good) == [MODEL]
