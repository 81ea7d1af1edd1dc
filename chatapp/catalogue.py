"""The models that people can choose, by upstream. Each upstream's list is fetched once a minute.

If an administrator named an upstream's models, those are offered in that order. What its own list
says about them is added as soon as it is known, without waiting for it.

Upstreams are independent. A page waits at most `PAGE_SECONDS` for a slow one, and only if no
earlier list is known. The page asks again later for the lists that were missing.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from chatapp.models import AccessRule, Limit, ModelAccess, Upstream
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError, UpstreamFailed
from chatapp.upstream.wire.model_list import ListedModel, build_unlisted_model
from chatapp.upstream.wire.requests.dialects import AUTO, DIALECTS

FRESH_SECONDS = 60.0
RETRY_SECONDS = 10.0
PATIENCE_SECONDS = 3.0  # how long a request for a list may take
PAGE_SECONDS = 0.5  # how long a page waits for upstreams whose list is not known yet

Key = tuple[int, str, str | None]
# Returns what else is known of the listed models.
ListChangeCallback = Callable[
    [Upstream, Sequence[ListedModel]], Coroutine[Any, Any, Sequence[ListedModel]]
]

# The upstreams' own lists, by their primary keys and the models' ids, as this process heard them
# last. It has one catalogue, so a module variable will do.
_listed_models: dict[int, dict[str, ListedModel]] = {}
# The sizes of contexts that the price library knows and the lists lack, likewise.
_known_contexts: dict[int, dict[str, int]] = {}


@dataclass(frozen=True)
class Offer:
    """The models of one upstream, or a sentence that says why there are none."""

    upstream: Upstream
    models: tuple[ListedModel, ...]
    problem: str = ""
    error: UpstreamError | None = None  # if it did not answer with a list
    is_awaited: bool = False  # the list is being fetched, and there is no earlier one to show

    @property
    def choices(self) -> list[tuple[str, ListedModel]]:
        return [(f"{self.upstream.pk}/{model.id}", model) for model in self.models]

    def has(self, model: str) -> bool:
        return any(candidate.id == model for candidate in self.models)


def filter_permitted_offers(offers: Iterable[Offer], permitted: ModelAccess) -> list[Offer]:
    """Return what a person may use of the offers, without upstreams that leave nothing."""
    open_offers = []
    for offer in offers:
        pk = offer.upstream.pk
        models = tuple(model for model in offer.models if permitted.may_ask(pk, model.id))
        if models or (not offer.models and permitted.may_ask(pk, "")):
            open_offers.append(replace(offer, models=models))
    return open_offers


def build_endpoint(upstream: Upstream) -> Endpoint:
    return Endpoint(
        upstream.base_url,
        upstream.api_key or "",
        DIALECTS.get(upstream.dialect, AUTO),
        upstream.takes_usage_option,
        upstream.silence_seconds,
    )


def known_models(upstream: Upstream) -> list[str]:
    """Return the ids of the models an administrator named, or else of those listed last."""
    return list(upstream.named_models or _listed_models.get(upstream.pk, {}))


def get_display_name(upstream: Upstream | None, model: str) -> str:
    """Return the model's display name, or its id if no name is known."""
    if upstream is None:
        return model
    listed = _listed_models.get(upstream.pk, {}).get(model)
    return upstream.display_names.get(model) or (listed.name if listed else "") or model


def takes_images(upstream: Upstream, model: str) -> bool | None:
    """Whether a model takes images; None if nothing is known."""
    known_ability = upstream.takes_images(model)
    listed = _listed_models.get(upstream.pk, {}).get(model)
    return listed.takes_images if known_ability is None and listed else known_ability


class Catalogue:
    """The offers of all enabled upstreams. There is one per process."""

    def __init__(
        self, client: UpstreamClient, on_list_change: ListChangeCallback | None = None
    ) -> None:
        """`on_list_change` is called with an upstream and its models after each change."""
        self._client = client
        self._on_list_change = on_list_change
        self._callbacks: set[asyncio.Task[None]] = set()
        self._cached_offers: dict[Key, tuple[float, Offer]] = {}
        self._fetching: dict[Key, asyncio.Task[None]] = {}

    async def aclose(self) -> None:
        tasks = [*self._fetching.values(), *self._callbacks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def offers(
        self, wait_for_all: bool = False, upstreams: Collection[Upstream] | None = None
    ) -> list[Offer]:
        """Return each upstream's offer, as known by now unless `wait_for_all`.

        `upstreams` are the enabled ones, if the caller has read them already.
        """
        if upstreams is None:
            upstreams = [upstream async for upstream in Upstream.objects.filter(enabled=True)]
        fetches = [(upstream, self._fetch(upstream, FRESH_SECONDS)) for upstream in upstreams]
        if wait_for_all:
            await _until_done(task for _, task in fetches)
        else:
            unknown = (task for upstream, task in fetches if self._is_unknown(upstream))
            await _until_done(unknown, PAGE_SECONDS)
        return [self._offer(upstream) for upstream in upstreams]

    async def wait_for_callbacks(self) -> None:
        """Wait until what follows from changed lists, such as new prices, is stored."""
        await asyncio.gather(*self._callbacks)

    def get_cached_offers(self, upstreams: Collection[Upstream]) -> list[Offer] | None:
        """Return what `offers()` would without a request; None if it would make one.

        Safe in any thread, so that a page does not have to wait for its turn of the event loop.
        """
        if all(
            upstream.secret_problem or self._is_fresh(upstream, FRESH_SECONDS)
            for upstream in upstreams
        ):
            return [self._offer(upstream) for upstream in upstreams]
        return None

    async def is_offered(self, upstream_pk: int, model: str) -> bool:
        """Whether the model can be chosen.

        While the upstream's list is unknown, any model can be, unless one of the upstream's models
        has an access rule or a limit of its own. A gateway may accept another spelling of that
        model's id, so then only known models can be chosen.
        """
        listed = [
            timed_offer
            for (pk, *_), timed_offer in self._cached_offers.items()
            if pk == upstream_pk
        ]
        _, newest = max(listed, key=itemgetter(0), default=(0.0, None))
        if newest and newest.has(model):
            return True
        is_known = newest is not None and not newest.problem
        if not is_known and not await _has_rules_of_models(upstream_pk):
            return True
        # Another process may have shown the person a newer list.
        async for upstream in Upstream.objects.filter(pk=upstream_pk):
            if not upstream.named_models:
                await _until_done([self._fetch(upstream, RETRY_SECONDS)])
            newest = self._offer(upstream)
        if newest is None or newest.has(model):
            return newest is not None
        return bool(newest.problem) and not await _has_rules_of_models(upstream_pk)

    def _is_unknown(self, upstream: Upstream) -> bool:
        """Whether there is nothing to offer of the upstream yet."""
        return not upstream.named_models and _key(upstream) not in self._cached_offers

    def _offer(self, upstream: Upstream) -> Offer:
        if upstream.secret_problem:
            return Offer(upstream, (), upstream.secret_problem)
        key = _key(upstream)
        _, offer = self._cached_offers.get(key, (0.0, Offer(upstream, ())))
        if named := upstream.named_models:
            return Offer(
                upstream, _apply_descriptions(upstream, _select_named_models(named, offer.models))
            )
        is_awaited = key in self._fetching and not offer.models
        models = _apply_descriptions(upstream, offer.models)
        return replace(offer, upstream=upstream, models=models, is_awaited=is_awaited)

    def _fetch(self, upstream: Upstream, fresh_seconds: float) -> asyncio.Task[None] | None:
        """Return the task that fetches the upstream's list; None if the known one is fresh."""
        if upstream.secret_problem:
            return None
        key = _key(upstream)
        if task := self._fetching.get(key):
            return task
        if self._is_fresh(upstream, fresh_seconds):
            return None
        task = self._fetching[key] = asyncio.create_task(self._update(upstream))
        task.add_done_callback(lambda _: self._fetching.pop(key))
        return task

    def _is_fresh(self, upstream: Upstream, fresh_seconds: float) -> bool:
        fetched_at, offer = self._cached_offers.get(_key(upstream), (0.0, None))
        has_failed = offer and offer.problem and not upstream.named_models
        seconds = RETRY_SECONDS if has_failed else fresh_seconds
        return offer is not None and time.monotonic() - fetched_at <= seconds

    async def _update(self, upstream: Upstream) -> None:
        offer = await self._request(upstream)
        _, before = self._cached_offers.get(_key(upstream), (0.0, None))
        if before and not offer.models and offer.problem:
            offer = replace(offer, models=before.models)  # it probably still has these
        self._cached_offers[_key(upstream)] = (time.monotonic(), offer)
        if offer.models:
            _listed_models[upstream.pk] = {model.id: model for model in offer.models}
            if self._on_list_change and (not before or before.models != offer.models):
                task = asyncio.create_task(
                    self._report_list_change(self._on_list_change, upstream, offer.models)
                )
                self._callbacks.add(task)  # keeps a reference; nobody awaits it
                task.add_done_callback(self._callbacks.discard)

    async def _report_list_change(
        self, on_list_change: ListChangeCallback, upstream: Upstream, models: Sequence[ListedModel]
    ) -> None:
        described_models = await on_list_change(upstream, models)
        _known_contexts[upstream.pk] = {
            model.id: model.context_tokens for model in described_models if model.context_tokens
        }

    async def _request(self, upstream: Upstream) -> Offer:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                models = await self._client.list_models(build_endpoint(upstream))
        except UpstreamFailed as failed:
            error = failed.error
            reason = error.message or f"it answered {error.status}"
        except TimeoutError:
            error = UpstreamError(ErrorKind.TIMED_OUT)
            reason = f"no answer within {PATIENCE_SECONDS:.0f} seconds"
        else:
            return Offer(
                upstream, tuple(models), "" if models else f"{upstream.name} lists no models."
            )
        return Offer(upstream, (), f"{upstream.name} did not list its models ({reason}).", error)


async def _has_rules_of_models(upstream: int) -> bool:
    """Whether one of the upstream's models has an access rule or a limit of its own."""
    for kind in (AccessRule, Limit):
        if await kind._default_manager.filter(upstream=upstream).exclude(model="").aexists():
            return True
    return False


def _select_named_models(
    named: Iterable[str], listed: Iterable[ListedModel]
) -> tuple[ListedModel, ...]:
    """Return the models an administrator named, with what the upstream's list says about them."""
    models_by_id = {model.id: model for model in listed}
    return tuple(models_by_id.get(id) or build_unlisted_model(id) for id in named)


def _apply_descriptions(
    upstream: Upstream, models: tuple[ListedModel, ...]
) -> tuple[ListedModel, ...]:
    """Return the models as an administrator calls and describes them, with their refusals."""
    if names := upstream.display_names:
        models = tuple(replace(model, name=names.get(model.id, model.name)) for model in models)
    if descriptions := upstream.descriptions:
        models = tuple(
            replace(model, description=descriptions.get(model.id, "")) for model in models
        )
    if upstream.model_contexts or upstream.context_refusals or upstream.pk in _known_contexts:
        models = tuple(_with_context(upstream, model) for model in models)
    if upstream.model_images or upstream.image_refusals:
        models = tuple(_with_images(upstream, model) for model in models)
    return models


def _with_images(upstream: Upstream, model: ListedModel) -> ListedModel:
    known_ability = upstream.takes_images(model.id)
    return model if known_ability is None else model.with_images(known_ability)


def _with_context(upstream: Upstream, model: ListedModel) -> ListedModel:
    listed = model.context_tokens or _known_contexts.get(upstream.pk, {}).get(model.id)
    tokens = upstream.find_context_tokens(model.id, listed)
    return model if tokens == model.context_tokens else replace(model, context_tokens=tokens)


def _key(upstream: Upstream) -> Key:
    return upstream.pk, upstream.base_url, upstream.api_key


async def _until_done(
    tasks: Iterable[asyncio.Task[None] | None], seconds: float | None = None
) -> None:
    if waiting := [task for task in tasks if task]:
        await asyncio.wait(waiting, timeout=seconds)
