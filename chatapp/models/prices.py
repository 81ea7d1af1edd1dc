"""What a model's tokens cost, and how much it reads at once, each from a day on.

Money is in nano-dollars, whole numbers of 10⁻⁹ US dollars, and prices are for a million tokens: so
the cheapest there are stay whole. A price is never changed, another one follows it; and what a
reply cost is reckoned once, as it is booked, at the price that held when it was asked for.

Where several sources say a price, the gateway's own list goes before what an administrator said,
and that before what the library genai-prices knows of public gateways. One that says nothing any
more leaves a row without figures, which goes before none.
"""

import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self

from django.db import models, transaction
from django.utils import timezone

from chatapp.models.locks import one_at_a_time
from chatapp.models.statements import Query
from chatapp.models.upstreams import Upstream
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.model_list import ListedModel

DOLLAR = 10**9  # nano-dollars
MILLION = 10**6  # tokens, for which a price is
MOST = 10**5 * DOLLAR  # that a million tokens may cost
MOST_COST = 10**18  # of one reply: what a database adds up of many is to stay a number of its own
FRESH_SECONDS = 10.0  # after which a process asks again what a model costs
KEPT = 1000  # models whose prices a process remembers

FIGURES = ("input", "cached", "cache_write", "output", "reasoning")
LISTED = (*FIGURES, "context_tokens")


class Price(models.Model):
    """Of one model, from a moment on, as one source says. What is cheaper or dearer than the rest
    of the prompt or of the answer is named where it is; else it costs as much as that."""

    class Source(models.TextChoices):  # in the order in which they are believed
        GATEWAY = "gateway", "the gateway's own list"
        ADMINISTRATOR = "administrator", "an administrator"
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
        return f"{self.model} from {self.holds_from:%Y-%m-%d}, as {self.get_source_display()} says"

    def save(self, *args: Any, **options: Any) -> None:
        super().save(*args, **options)
        forget()

    @property
    def is_known(self) -> bool:
        return self.input is not None and self.output is not None

    @classmethod
    def holding(cls, upstream: int | None, model: str, at: datetime | None = None) -> Self | None:
        """The price of a model at a moment, by the source that is believed first; None where it
        has none. Read again after ten seconds, so that a turn need not ask for it."""
        return _first(_prices_of(upstream, model), at or timezone.now())  # type: ignore[return-value]

    @classmethod
    def context_of(cls, upstream: int | None, model: str) -> int | None:
        """How many tokens it reads at once, where a source says so."""
        now = timezone.now()
        known = (one for one in _prices_of(upstream, model) if one.holds_from <= now)
        return next((one.context_tokens for one in known if one.context_tokens), None)

    @classmethod
    def hear(
        cls,
        upstream: int,
        listed: Iterable[ListedModel],
        source: "Price.Source" = Source.GATEWAY,
    ) -> int:
        """What a source says now, kept from now on as far as it is new; returns of how many models
        that is. Of one that it has said something of, and says nothing any more, it is that."""
        said = {one.id: _said_of(one) for one in listed}
        with transaction.atomic(), one_at_a_time("prices"):
            known = {}
            said_before = cls.objects.filter(upstream=upstream, source=source)
            for price in said_before.order_by("holds_from", "pk"):
                known[price.model] = price.figures
            nothing = dict.fromkeys(LISTED)
            heard = {model: said.get(model, nothing) for model in [*known, *said]}
            news = [
                Price(upstream_id=upstream, model=model, source=source, **figures)
                for model, figures in heard.items()
                if figures != known.get(model, nothing)
            ]
            Price.objects.bulk_create(news)
        forget()
        return len(news)

    @property
    def figures(self) -> dict[str, int | None]:
        return {name: getattr(self, name) for name in LISTED}

    @property
    def dearest_input(self) -> int:
        """Of a prompt whose tokens may be written to a cache, too."""
        return max(self.input or 0, self.cache_write or 0)

    @property
    def dearest_output(self) -> int:
        return max(self.output or 0, self.reasoning or 0)

    def cost(self, tokens: TokenUsage) -> int:
        """In nano-dollars, rounded to the next one. What was read from a cache or written to it is
        a part of the prompt, reasoning one of the answer: no token is paid for twice."""
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
        return min((total + MILLION // 2) // MILLION, MOST_COST)

    def at_most(self, prompt_tokens: int, completion_tokens: int) -> int:
        """What so many tokens cost at most, rounded up."""
        total = prompt_tokens * self.dearest_input + completion_tokens * self.dearest_output
        return min(-(-total // MILLION), MOST_COST)

    def as_record(self) -> dict[str, Any]:
        """What is kept of it with each reply that it was reckoned by."""
        figures = {name: getattr(self, name) for name in FIGURES}
        record = {name: figure for name, figure in figures.items() if figure is not None}
        return record | {"source": self.source, "holds_from": self.holds_from.isoformat()}

    def as_set(self) -> dict[str, Any]:
        """All that it says, and of what."""
        context = {"context_tokens": self.context_tokens} if self.context_tokens else {}
        return {"upstream": self.upstream.name, "model": self.model} | self.as_record() | context


def _said_of(model: ListedModel) -> dict[str, int | None]:
    prices = [getattr(model.price, name) if model.price else None for name in FIGURES]
    return dict(zip(LISTED, [*prices, model.context_tokens], strict=True))


_remembered: dict[tuple[int, str], tuple[float, list[Price]]] = {}


def forget() -> None:
    """What this process remembers; others do so by themselves after ten seconds."""
    _remembered.clear()


def _prices_of(upstream: int | None, model: str) -> list[Price]:
    """Every price of a model, the ones that are believed first at the beginning."""
    if upstream is None:
        return []
    key, now = (upstream, model), time.monotonic()
    read_at, prices = _remembered.get(key, (0.0, []))
    if key not in _remembered or now - read_at > FRESH_SECONDS:
        order = list(Price.Source)
        prices = sorted(_OF_MODEL.all(upstream, model), key=lambda one: order.index(one.source))  # type: ignore[arg-type]
        if len(_remembered) >= KEPT:
            _remembered.clear()
        _remembered[key] = now, prices
    return prices


def _first(prices: Iterable[Price], at: datetime) -> Price | None:
    """Each source's newest that holds by then; of those that say something, the first."""
    newest: dict[str, Price] = {}
    for price in prices:
        if price.holds_from <= at:
            newest.setdefault(price.source, price)
    return next((price for price in newest.values() if price.is_known), None)


_OF_MODEL = Query(
    lambda upstream, model: Price.objects.filter(upstream=upstream, model=model).order_by(
        "-holds_from", "-pk"
    ),
    Upstream._meta.pk,
    Price._meta.get_field("model"),
)
