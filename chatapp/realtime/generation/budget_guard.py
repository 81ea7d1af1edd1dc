"""Enforces a reply's budget: reserves tokens before each request and counts them while streaming.

If no limit applies there is no reservation, and none of this costs anything. While the database is
unavailable a reply goes on, and whatever it spends beyond its reservation is charged at the save.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from django.db import InterfaceError, OperationalError

from chatapp.models import Upstream, Usage
from chatapp.models.billing.reservations import (
    MAX_REQUESTED,
    Reservation,
    admit_again,
    grow,
    reservation_transaction,
)
from chatapp.models.billing.tool_tokens import remember_tool_tokens
from chatapp.realtime.generation.storing import run_in_write_thread
from chatapp.upstream.wire.events import (
    AnswerDelta,
    Event,
    ReasoningDelta,
    RefusalDelta,
    ToolCallDelta,
)
from chatapp.upstream.wire.requests.dialects import RequestOptions
from chatapp.upstream.wire.requests.estimates import PromptSize
from chatapp.upstream.wire.requests.spellings import OUTPUT_FIELDS

logger = logging.getLogger(__name__)

GROW_SECONDS = 1.0


class BudgetGuard:
    """The budget of one answer; `end` is called when it is used up."""

    def __init__(self, reservation: Reservation | None, end: Callable[[], None]) -> None:
        self.reservation = reservation
        self.was_cut_short = False  # the request's `max_tokens` was lowered
        self._end = end
        self._grows_at = 0.0

    @property
    def is_urgent(self) -> bool:
        """Whether the reservation has to grow right now."""
        return (
            self.reservation is not None
            and self.reservation.wants_more
            and not self.reservation.was_refused
        )

    async def admit_request(
        self,
        size: PromptSize,
        earlier: Usage,
        options: RequestOptions,
        upstream: Upstream,
        model: str,
    ) -> RequestOptions:
        """Reserve the tokens of a request and return its options, limited to the budget.

        A first request whose tools the budget does not allow is sent without them: they may not
        have been known when the prompt was admitted. Ends the reply if its budget does not allow a
        later request.
        """
        if self.reservation is None:
            return options
        remember_tool_tokens(upstream.pk, size.upper_tool_tokens)
        if not await self._is_admitted(self.reservation, size.upper_tokens, earlier):
            if options.tools and not earlier.total_tokens:
                return self.capped_options(replace(options, tools=[]), upstream, model)
            self._end()
            await asyncio.sleep(0)  # lets the cancellation arrive
        return self.capped_options(options, upstream, model)

    async def _is_admitted(self, reservation: Reservation, prompt: int, earlier: Usage) -> bool:
        try:
            return await run_in_write_thread(partial(admit_again, reservation, prompt, earlier))
        except (OperationalError, InterfaceError) as error:
            logger.warning("A request goes on without a budget reservation: %s", error)
            return True

    async def grow(self) -> None:
        """Reserve more if most of the reservation is used, at most once a second."""
        reservation = self.reservation
        if not reservation or not self.is_urgent or time.monotonic() < self._grows_at:
            return
        self._grows_at = time.monotonic() + GROW_SECONDS
        try:
            await run_in_write_thread(partial(_grow, reservation))
        except (OperationalError, InterfaceError) as error:
            logger.warning("An answer goes on without a larger reservation: %s", error)
        self.end_if_over()

    def capped_options(
        self, options: RequestOptions, upstream: Upstream, model: str
    ) -> RequestOptions:
        """Return the options with `max_tokens` lowered to the budget.

        A lower value set by an administrator or for the chat stays.
        """
        self.was_cut_short = False
        if (reservation := self.reservation) is None:
            return options
        name, limit = _find_token_limit(options.parameters, upstream, model)
        affordable = max(1, reservation.affordable // options.choices)
        self.was_cut_short = affordable <= MAX_REQUESTED and (limit is None or affordable < limit)
        if not self.was_cut_short:
            reservation.begin_request(limit * options.choices if limit else None)
            return options
        reservation.begin_request(affordable * options.choices)
        return replace(options, parameters={**options.parameters, name: affordable})

    def count(self, events: Iterable[Event]) -> None:
        """Count the text that has arrived; end the reply if that used up the budget."""
        if self.reservation:
            self.reservation.written += sum(map(_count_bytes, events))
            self.end_if_over()

    def end_if_over(self) -> None:
        """End the reply if it has used up its budget."""
        if self.reservation and self.reservation.is_over:
            self._end()


def _grow(reservation: Reservation) -> None:
    with reservation_transaction([reservation]):
        grow([reservation])


def _find_token_limit(
    parameters: Mapping[str, object], upstream: Upstream, model: str
) -> tuple[str, int | None]:
    """Return the parameter by which the upstream limits an answer, and its present value if set."""
    for name in OUTPUT_FIELDS:
        if type(limit := parameters.get(name)) is int and limit > 0:
            return name, limit
    return upstream.output_field_for(model), None


def _count_bytes(event: Event) -> int:
    match event:
        case AnswerDelta() | ReasoningDelta() | RefusalDelta():
            return len(event.text.encode(errors="replace"))
        case ToolCallDelta():
            return len((event.name + event.arguments).encode(errors="replace"))
    return 0
