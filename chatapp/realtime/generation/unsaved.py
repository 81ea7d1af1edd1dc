"""Asks a model for an answer that is not stored as a reply: a title, a summary, or over the API."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from django.db import transaction

from chatapp import metrics
from chatapp.catalogue import build_endpoint
from chatapp.models import Upstream, Usage
from chatapp.models.billing.budget_accounts import settle
from chatapp.models.billing.reservations import Reservation
from chatapp.models.conversations.costs import Cost
from chatapp.realtime.generation.budget_guard import BudgetGuard
from chatapp.realtime.generation.identifiers import identifiers_for
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.dialects import RequestOptions
from chatapp.upstream.wire.estimates import PromptSize
from chatapp.upstream.wire.events import Event
from chatapp.upstream.wire.history import History
from chatapp.upstream.wire.reply import Reply

# Parameters of an upstream that serve replies only.
OF_REPLIES = ("n", "logprobs", "top_logprobs")


def plain_options(upstream: Upstream, model: str, person: int) -> RequestOptions:
    """Return what an administrator set for all requests, for one plain answer to a person."""
    parameters = {
        name: value for name, value in upstream.parameters.items() if name not in OF_REPLIES
    }
    return RequestOptions([], parameters | identifiers_for(upstream, model, person))


class UnsavedAnswer:
    """The answer to one request or to several in turn, with their cost and the budget for them."""

    def __init__(self, client: UpstreamClient, reservation: Reservation | None) -> None:
        self.choices = [Reply()]  # of the latest request
        self.cost = Cost()
        self._client = client
        self._is_over = asyncio.Event()
        self.budget = BudgetGuard(reservation, self._is_over.set)

    @property
    def reply(self) -> Reply:
        """The first choice, and the only one unless more were requested."""
        return self.choices[0]

    @property
    def is_over_budget(self) -> bool:
        return self._is_over.is_set()

    async def ask(
        self, upstream: Upstream, model: str, history: History, options: RequestOptions
    ) -> AsyncGenerator[list[Event]]:
        """Send a request; yield its events, applied to `choices`, until its end or the budget's.

        Closing the generator closes the upstream request.
        """
        options = self.budget.capped_options(options, upstream, model)
        self.choices = [Reply(choice) for choice in range(options.choices)]
        self.cost.begin_try(PromptSize.of(history, options.tools))
        stream = self._client.stream(build_endpoint(upstream), model, history.messages, options)
        async with stream as batches:
            async for events in batches:
                for event in events:
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
