"""Which models a person can choose, by upstream: what each upstream lists, asked once a minute.

Where an administrator named the models, those are offered, in that order; what the upstream's own
list says of them is shown as soon as it is known, and nobody waits for it.

Upstreams are independent: nobody waits for the list of one that hangs longer than `PAGE_SECONDS`,
and only where there is no earlier one to show. What comes later is asked for again by the page.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from chatapp.models import AccessRule, Limit, Permitted, Upstream
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.dialects import AUTO, DIALECTS
from chatapp.upstream.wire.errors import UpstreamFailed
from chatapp.upstream.wire.model_list import ListedModel

FRESH_SECONDS = 60.0
RETRY_SECONDS = 10.0
PATIENCE_SECONDS = 3.0  # with an upstream that is asked
PAGE_SECONDS = 0.5  # of a page, with upstreams that nobody has heard of yet

Key = tuple[int, str, str | None]
Heard = Callable[[Upstream, Sequence[ListedModel]], Coroutine[Any, Any, None]]

# What the upstreams' own lists call their models, by the upstreams' primary keys: what this process
# heard last, and there is one catalogue for a process.
_listed_names: dict[int, dict[str, str]] = {}


@dataclass(frozen=True)
class Offer:
    """The models of one upstream, or the sentence that says why there are none."""

    upstream: Upstream
    models: tuple[ListedModel, ...]
    problem: str = ""
    is_awaited: bool = False  # it is being asked, and there is nothing better to show yet

    @property
    def choices(self) -> list[tuple[str, ListedModel]]:
        return [(f"{self.upstream.pk}/{model.id}", model) for model in self.models]

    def has(self, model: str) -> bool:
        return any(one.id == model for one in self.models)


def open_to(offers: Iterable[Offer], permitted: Permitted) -> list[Offer]:
    """What of it a person may use; an upstream of which that is nothing is not there for them."""
    found = []
    for offer in offers:
        pk = offer.upstream.pk
        models = tuple(one for one in offer.models if permitted.may_ask(pk, one.id))
        if models or (not offer.models and permitted.may_ask(pk, "")):
            found.append(replace(offer, models=models))
    return found


def endpoint_of(upstream: Upstream) -> Endpoint:
    return Endpoint(
        upstream.base_url,
        upstream.api_key or "",
        DIALECTS.get(upstream.dialect, AUTO),
        upstream.takes_usage_option,
        upstream.silence_seconds,
    )


def known_models(upstream: Upstream) -> list[str]:
    """Those that its administrator named, or else those that this process has heard of."""
    return list(upstream.named_models or _listed_names.get(upstream.pk, {}))


def name_of(upstream: Upstream | None, model: str) -> str:
    """What people read as its name, as far as it is known by now: its id where there is none."""
    if upstream is None:
        return model
    listed = _listed_names.get(upstream.pk, {})
    return upstream.named_models.get(model) or listed.get(model) or model


class Catalogue:
    """The offers of all enabled upstreams; one for a process."""

    def __init__(self, client: UpstreamClient, heard: Heard | None = None) -> None:
        """`heard` is told what an upstream's list says, whenever that is something else."""
        self._client = client
        self._heard = heard
        self._telling: set[asyncio.Task[None]] = set()
        self._known: dict[Key, tuple[float, Offer]] = {}
        self._asking: dict[Key, asyncio.Task[None]] = {}

    async def aclose(self) -> None:
        tasks = [*self._asking.values(), *self._telling]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def offers(
        self, wait_for_all: bool = False, upstreams: Collection[Upstream] | None = None
    ) -> list[Offer]:
        """What is known of each by now; or, where that is asked for, what each says. Whoever has
        read the enabled ones already may give them."""
        if upstreams is None:
            upstreams = [upstream async for upstream in Upstream.objects.filter(enabled=True)]
        asked = [(upstream, self._asked(upstream, FRESH_SECONDS)) for upstream in upstreams]
        if wait_for_all:
            await _until_done(task for _, task in asked)
        else:
            unheard = (task for upstream, task in asked if self._is_unheard(upstream))
            await _until_done(unheard, PAGE_SECONDS)
        return [self._offer(upstream) for upstream in upstreams]

    def known_offers(self, upstreams: Collection[Upstream]) -> list[Offer] | None:
        """What `offers` would give where it asked nobody; None where it would ask. For any thread,
        since a page that need not wait for its turn of the event loop should not."""
        if all(one.secret_problem or self._is_fresh(one, FRESH_SECONDS) for one in upstreams):
            return [self._offer(upstream) for upstream in upstreams]
        return None

    async def is_offered(self, upstream_pk: int, model: str) -> bool:
        """Whether a person may choose it: false only where what its upstream lists is known, or
        where one of its models has a rule or a limit of its own. A gateway may take another
        spelling for that one, so that none is asked but those that are known."""
        listed = [known for (pk, *_), known in self._known.items() if pk == upstream_pk]
        _, newest = max(listed, key=itemgetter(0), default=(0.0, None))
        if newest and newest.has(model):
            return True
        is_heard = newest is not None and not newest.problem
        if not is_heard and not await _has_rules_of_models(upstream_pk):
            return True
        # Another process may have shown the person a newer list.
        async for upstream in Upstream.objects.filter(pk=upstream_pk):
            if not upstream.named_models:
                await _until_done([self._asked(upstream, RETRY_SECONDS)])
            newest = self._offer(upstream)
        if newest is None or newest.has(model):
            return newest is not None
        return bool(newest.problem) and not await _has_rules_of_models(upstream_pk)

    def _is_unheard(self, upstream: Upstream) -> bool:
        """Whether there is nothing yet that could be offered of it."""
        return not upstream.named_models and _key(upstream) not in self._known

    def _offer(self, upstream: Upstream) -> Offer:
        if upstream.secret_problem:
            return Offer(upstream, (), upstream.secret_problem)
        key = _key(upstream)
        _, offer = self._known.get(key, (0.0, Offer(upstream, ())))
        if named := upstream.named_models:
            return Offer(upstream, _named(named, offer.models))
        is_awaited = key in self._asking and not offer.models
        return replace(offer, upstream=upstream, is_awaited=is_awaited)

    def _asked(self, upstream: Upstream, fresh_seconds: float) -> asyncio.Task[None] | None:
        """What asks it at this moment; None where what is known is fresh."""
        if upstream.secret_problem:
            return None
        key = _key(upstream)
        if task := self._asking.get(key):
            return task
        if self._is_fresh(upstream, fresh_seconds):
            return None
        task = self._asking[key] = asyncio.create_task(self._learn(upstream))
        task.add_done_callback(lambda _: self._asking.pop(key))
        return task

    def _is_fresh(self, upstream: Upstream, fresh_seconds: float) -> bool:
        asked_at, offer = self._known.get(_key(upstream), (0.0, None))
        is_wanting = offer and offer.problem and not upstream.named_models
        fresh = RETRY_SECONDS if is_wanting else fresh_seconds
        return offer is not None and time.monotonic() - asked_at <= fresh

    async def _learn(self, upstream: Upstream) -> None:
        offer = await self._ask(upstream)
        _, before = self._known.get(_key(upstream), (0.0, None))
        if before and not offer.models and offer.problem:
            offer = replace(offer, models=before.models)  # which it has had, and may have still
        self._known[_key(upstream)] = (time.monotonic(), offer)
        if offer.models:
            _listed_names[upstream.pk] = {one.id: one.name for one in offer.models if one.name}
            if self._heard and (not before or before.models != offer.models):
                telling = asyncio.create_task(self._heard(upstream, offer.models))
                self._telling.add(telling)  # which nobody waits for
                telling.add_done_callback(self._telling.discard)

    async def _ask(self, upstream: Upstream) -> Offer:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                models = await self._client.list_models(endpoint_of(upstream))
        except UpstreamFailed as failed:
            reason = failed.error.message or f"it answered {failed.error.status}"
        except TimeoutError:
            reason = f"no answer within {PATIENCE_SECONDS:.0f} seconds"
        else:
            return Offer(
                upstream, tuple(models), "" if models else f"{upstream.name} lists no models."
            )
        return Offer(
            upstream,
            (),
            f"{upstream.name} did not list its models ({reason}). "
            "An administrator can check its address and key, or name its models.",
        )


async def _has_rules_of_models(upstream: int) -> bool:
    """Whether one of its models is for others, or is limited otherwise, than the rest."""
    for kind in (AccessRule, Limit):
        if await kind._default_manager.filter(upstream=upstream).exclude(model="").aexists():
            return True
    return False


def _named(named: Mapping[str, str], listed: Iterable[ListedModel]) -> tuple[ListedModel, ...]:
    """Those that an administrator named, with what is known of them."""
    known = {model.id: model for model in listed}
    models = ((known.get(id, ListedModel(id)), name) for id, name in named.items())
    return tuple(replace(model, name=name or model.name) for model, name in models)


def _key(upstream: Upstream) -> Key:
    return upstream.pk, upstream.base_url, upstream.api_key


async def _until_done(
    tasks: Iterable[asyncio.Task[None] | None], seconds: float | None = None
) -> None:
    if waiting := [task for task in tasks if task]:
        await asyncio.wait(waiting, timeout=seconds)
