"""Which models a person can choose, by upstream: what each upstream lists, asked once a minute."""

import asyncio
import time
from dataclasses import dataclass
from operator import itemgetter

from chatapp.models import Upstream
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.dialects import AUTO, DIALECTS
from chatapp.upstream.errors import UpstreamFailed

FRESH_SECONDS = 60.0
RETRY_SECONDS = 10.0
PATIENCE_SECONDS = 3.0


@dataclass(frozen=True)
class Offer:
    """The models of one upstream, or the sentence that says why there are none."""

    upstream: Upstream
    models: tuple[str, ...]
    problem: str = ""

    @property
    def choices(self) -> list[tuple[str, str]]:
        return [(f"{self.upstream.pk}/{model}", model) for model in self.models]


def endpoint_of(upstream: Upstream) -> Endpoint:
    return Endpoint(
        upstream.base_url,
        upstream.api_key or "",
        DIALECTS.get(upstream.dialect, AUTO),
        upstream.takes_usage_option,
        upstream.silence_seconds,
    )


class Catalogue:
    """The offers of all enabled upstreams; one for a process."""

    def __init__(self, client: UpstreamClient) -> None:
        self._client = client
        self._known: dict[tuple[int, str, str | None], tuple[float, Offer]] = {}

    async def offers(self) -> list[Offer]:
        upstreams = [upstream async for upstream in Upstream.objects.filter(enabled=True)]
        return await asyncio.gather(*map(self._offer, upstreams))

    async def is_offered(self, upstream_pk: int, model: str) -> bool:
        """Whether a person may choose it: false only where what its upstream lists is known."""
        listed = [known for (pk, *_), known in self._known.items() if pk == upstream_pk]
        _, newest = max(listed, key=itemgetter(0), default=(0.0, None))
        if newest is None or newest.problem or model in newest.models:
            return True
        # Another process may have shown the person a newer list.
        async for upstream in Upstream.objects.filter(pk=upstream_pk):
            newest = await self._offer(upstream, fresh_seconds=RETRY_SECONDS)
        return bool(newest.problem) or model in newest.models

    async def _offer(self, upstream: Upstream, fresh_seconds: float = FRESH_SECONDS) -> Offer:
        if upstream.secret_problem:
            return Offer(upstream, (), upstream.secret_problem)
        if named := tuple(upstream.offered_models.split()):
            return Offer(upstream, named)
        key = (upstream.pk, upstream.base_url, upstream.api_key)
        asked_at, offer = self._known.get(key, (0.0, None))
        fresh = RETRY_SECONDS if offer and offer.problem else fresh_seconds
        if offer is None or time.monotonic() - asked_at > fresh:
            offer = await self._ask(upstream)
            self._known[key] = (time.monotonic(), offer)
        return offer

    async def _ask(self, upstream: Upstream) -> Offer:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                models = await self._client.list_models(endpoint_of(upstream))
        except UpstreamFailed as failed:
            reason = failed.error.message
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
