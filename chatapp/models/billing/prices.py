"""The prices of a model's tokens and the size of its context, each valid from a moment on.

Money is counted in nano-dollars (10⁻⁹ US dollars) and prices are per million tokens, so even the
cheapest prices are whole numbers. A price is never changed; a newer one follows it. A reply's cost
is computed once, when it is booked, at the price that was valid when the reply was requested.

If several sources have a price, the gateway's own list wins over the administrator's, and that over
what the library genai-prices knows of public gateways. A source that no longer has a price leaves a
row without figures, and the next source counts.
"""

import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self

from django.db import models, transaction
from django.utils import timezone

from chatapp.db.locks import one_at_a_time
from chatapp.models.platform.upstreams import Upstream
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.model_list import ListedModel

DOLLAR = 10**9  # nano-dollars
MILLION = 10**6  # tokens: the unit of a price
MAX_PRICE = 10**5 * DOLLAR  # per million tokens
MAX_COST = 10**18  # of one reply, so that sums over many stay within the database's integers
FRESH_SECONDS = 10.0  # for which a process caches a model's prices
MAX_CACHED = 1000  # models whose prices a process caches

FIGURES = ("input", "cached", "cache_write", "output", "reasoning")
LISTED = (*FIGURES, "context_tokens")


class Price(models.Model):
    """A model's price from one source, from a moment on.

    `cached`, `cache_write` and `reasoning` are None if they cost the same as the rest of the prompt
    or the answer.
    """

    class Source(models.TextChoices):  # in order of precedence
        GATEWAY = "gateway", "the provider's own list"
        ADMINISTRATOR = "administrator", "entered here"
        LIBRARY = "genai-prices", "genai-prices"

    upstream = models.ForeignKey(
        Upstream, models.CASCADE, db_constraint=False, related_name="prices"
    )
    model = models.CharField(max_length=200)
    source = models.CharField(max_length=13, choices=Source, default=Source.ADMINISTRATOR)
    holds_from = models.DateTimeField(default=timezone.now)
    input = models.PositiveBigIntegerField(null=True, blank=True)
    cached = models.PositiveBigIntegerField(null=True, blank=True)
    cache_write = models.PositiveBigIntegerField(null=True, blank=True)
    output = models.PositiveBigIntegerField(null=True, blank=True)
    reasoning = models.PositiveBigIntegerField(null=True, blank=True)
    context_tokens = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["model", "-holds_from", "-id"]
        indexes = [models.Index(fields=["upstream", "model", "-holds_from"])]

    def __str__(self) -> str:
        return f"{self.model} from {self.holds_from:%Y-%m-%d} ({self.get_source_display()})"

    def save(self, *args: Any, **options: Any) -> None:
        super().save(*args, **options)
        clear_cache()

    @property
    def is_known(self) -> bool:
        return self.input is not None and self.output is not None

    @classmethod
    def find(cls, upstream: int | None, model: str, at: datetime | None = None) -> Self | None:
        """Return the price of a model at a moment, from the source of highest precedence that has
        one, or None. Prices are cached for ten seconds, so that a turn need not query them."""
        return _find_valid_price(_load_prices(upstream, model), at or timezone.now())  # type: ignore[return-value]

    @classmethod
    def find_context_tokens(cls, upstream: int | None, model: str) -> int | None:
        """Return the size of its context in tokens, if a source has it."""
        now = timezone.now()
        valid_prices = (price for price in _load_prices(upstream, model) if price.holds_from <= now)
        return next((price.context_tokens for price in valid_prices if price.context_tokens), None)

    @classmethod
    def update_from_list(
        cls,
        upstream: int,
        listed: Iterable[ListedModel],
        source: "Price.Source" = Source.GATEWAY,
    ) -> int:
        """Store what a source lists now, as far as it differs; return how many models changed.

        A model that the source no longer lists gets a row without figures.
        """
        listed_figures = {listed_model.id: _read_figures(listed_model) for listed_model in listed}
        with transaction.atomic(), one_at_a_time("prices"):
            previous_figures = {}
            earlier = cls.objects.filter(upstream=upstream, source=source)
            for price in earlier.order_by("holds_from", "pk"):
                previous_figures[price.model] = price.figures
            nothing = dict.fromkeys(LISTED)
            current = {
                model: listed_figures.get(model, nothing)
                for model in [*previous_figures, *listed_figures]
            }
            news = [
                Price(upstream_id=upstream, model=model, source=source, **figures)
                for model, figures in current.items()
                if figures != previous_figures.get(model, nothing)
            ]
            Price.objects.bulk_create(news)
        clear_cache()
        return len(news)

    @property
    def figures(self) -> dict[str, int | None]:
        return {name: getattr(self, name) for name in LISTED}

    @property
    def dearest_input(self) -> int:
        """The highest price of a prompt token, which may also be written to a cache."""
        return max(self.input or 0, self.cache_write or 0)

    @property
    def dearest_output(self) -> int:
        return max(self.output or 0, self.reasoning or 0)

    def cost(self, tokens: TokenUsage) -> int:
        """Return the cost in nano-dollars, rounded to the nearest one.

        Tokens read from or written to a cache are part of the prompt, and reasoning tokens part of
        the answer, so no token is paid for twice.
        """
        cached = min(tokens.cached_tokens or 0, tokens.prompt_tokens)
        written = min(tokens.cache_write_tokens or 0, tokens.prompt_tokens - cached)
        thought = min(tokens.reasoning_tokens or 0, tokens.completion_tokens)
        parts = (
            (tokens.prompt_tokens - cached - written, self.input),
            (cached, self.input if self.cached is None else self.cached),
            (written, self.input if self.cache_write is None else self.cache_write),
            (tokens.completion_tokens - thought, self.output),
            (thought, self.output if self.reasoning is None else self.reasoning),
        )
        total = sum(count * (price or 0) for count, price in parts)
        return min((total + MILLION // 2) // MILLION, MAX_COST)

    def at_most(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Return the upper bound of what so many tokens cost, rounded up."""
        total = prompt_tokens * self.dearest_input + completion_tokens * self.dearest_output
        return min(-(-total // MILLION), MAX_COST)

    def as_record(self) -> dict[str, Any]:
        """Return the figures that are kept with each reply whose cost they determined."""
        figures = {name: getattr(self, name) for name in FIGURES}
        record = {name: figure for name, figure in figures.items() if figure is not None}
        return record | {"source": self.source, "holds_from": self.holds_from.isoformat()}

    def as_audit_record(self) -> dict[str, Any]:
        """Return all figures with the upstream and the model, for the audit log."""
        context = {"context_tokens": self.context_tokens} if self.context_tokens else {}
        return {"upstream": self.upstream.name, "model": self.model} | self.as_record() | context


def _read_figures(model: ListedModel) -> dict[str, int | None]:
    prices = [getattr(model.price, name) if model.price else None for name in FIGURES]
    return dict(zip(LISTED, [*prices, model.context_tokens], strict=True))


_cache: dict[tuple[int, str], tuple[float, list[Price]]] = {}


def clear_cache() -> None:
    """Clear this process's cache. Other processes' caches expire after ten seconds."""
    _cache.clear()


def _load_prices(upstream: int | None, model: str) -> list[Price]:
    """Return every price of a model, by precedence of source, then the newest first."""
    if upstream is None:
        return []
    key, now = (upstream, model), time.monotonic()
    read_at, prices = _cache.get(key, (0.0, []))
    if key not in _cache or now - read_at > FRESH_SECONDS:
        order = list(Price.Source)
        newest_first = Price.objects.filter(upstream=upstream, model=model).order_by(
            "-holds_from", "-pk"
        )
        prices = sorted(newest_first, key=lambda price: order.index(price.source))  # type: ignore[arg-type]
        if len(_cache) >= MAX_CACHED:
            _cache.clear()
        _cache[key] = now, prices
    return prices


def _find_valid_price(prices: Iterable[Price], at: datetime) -> Price | None:
    """Return the newest valid price of the first source that has figures."""
    newest: dict[str, Price] = {}
    for price in prices:
        if price.holds_from <= at:
            newest.setdefault(price.source, price)
    return next((price for price in newest.values() if price.is_known), None)
