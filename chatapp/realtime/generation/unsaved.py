"""Asks a model for an answer that is not stored as a reply: a title, a summary, or over the API."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from django.db import transaction

from chatapp import metrics
from chatapp.catalogue import build_endpoint
from chatapp.models import Upstream, Usage
from chatapp.models.billing.budget_accounts import settle
from chatapp.models.billing.reservations import Reservation
from chatapp.realtime.generation.answer import Answer
from chatapp.realtime.generation.budget_guard import BudgetGuard
from chatapp.realtime.generation.identifiers import identifiers_for
from chatapp.realtime.generation.request import Request, adapt_history
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.events import Event, UsageOptionRefused
from chatapp.upstream.wire.requests.content import join_texts
from chatapp.upstream.wire.requests.dialects import RequestOptions
from chatapp.upstream.wire.requests.history import History

# Parameters of an upstream that serve replies only.
OF_REPLIES = ("n", "logprobs", "top_logprobs")


def build_plain_request(upstream: Upstream, model: str, history: History, person: int) -> Request:
    """Return a request for one plain answer, with what an administrator set for all requests."""
    parameters = {
        name: value for name, value in upstream.parameters.items() if name not in OF_REPLIES
    }
    options = RequestOptions([], parameters | identifiers_for(upstream, model, person))
    return Request(upstream, model, adapt_history(history, upstream, model), options)


class UnsavedAnswer(Answer):
    """The answer to one request or to several in turn, which its caller reads."""

    def __init__(self, client: UpstreamClient, reservation: Reservation | None) -> None:
        self._client = client
        self._is_over = asyncio.Event()
        super().__init__(BudgetGuard(reservation, self._is_over.set))

    @property
    def is_over_budget(self) -> bool:
        return self._is_over.is_set()

    async def read(self, request: Request) -> AsyncGenerator[list[Event]]:
        """Send a request; yield its events, applied to `choices`, until its end or the budget's.

        Closing the generator closes the upstream request.
        """
        upstream, model = request.upstream, request.model
        request.options = self.budget.capped_options(request.options, upstream, model)
        self.cost.begin_try(request.size)
        messages = request.history.messages
        messages = join_texts(messages) if request.joins_parts else messages
        stream = self._client.stream(build_endpoint(upstream), model, messages, request.options)
        async with stream as batches:
            async for events in batches:
                for event in events:
                    self.refused_usage_option |= isinstance(event, UsageOptionRefused)
                    for choice in self.choices:
                        choice.apply(event)
                self.budget.count(events)
                yield events
                if self.is_over_budget:
                    return


@transaction.atomic
def book(charge: Callable[[], Usage], upstream: Upstream) -> None:
    """Book the usage that `charge` fills in, and release its budget."""
    usage = charge()
    usage.forget_erased_person()
    Usage.book([usage])
    settle([usage])
    metrics.count_tokens(upstream.name, usage.as_record(), usage.provenance)
