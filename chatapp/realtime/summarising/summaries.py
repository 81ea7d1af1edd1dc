"""Requests summaries from a model, each in its own task; `Summaries` owns the tasks."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context
from functools import partial
from uuid import UUID

from django.db import Error, transaction

from chatapp import metrics
from chatapp.catalogue import endpoint_of
from chatapp.models import Conversation, PlannedSummary, Refused, Upstream, Usage, User
from chatapp.models.billing.budget_accounts import settle
from chatapp.models.conversations.context_cuts import MAX_SUMMARY
from chatapp.models.conversations.costs import Cost
from chatapp.realtime.generation import stored
from chatapp.realtime.generation.budget_guard import BudgetGuard
from chatapp.realtime.summarising.wording import piece_bytes, pieces_of, request_for
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.dialects import RequestOptions
from chatapp.upstream.wire.estimates import PromptSize
from chatapp.upstream.wire.history import History
from chatapp.upstream.wire.reply import Ending, Reply

logger = logging.getLogger(__name__)

SECONDS = 300.0  # time limit for a summary
PROGRESS_SECONDS = 0.5  # between two reports
WHOLE = (Ending.COMPLETE, Ending.LENGTH)
NOT_SENT = ("n", "logprobs", "top_logprobs")  # parameters of the upstream
NOTHING_CHANGED = "Nothing was left out, and your chat is as it was."
ONE_AT_A_TIME = "A summary is being written already. Wait for it, or cancel it."

# Shows how many words have arrived, to all tabs of the conversation; None removes the report.
Report = Callable[[PlannedSummary, int | None], Awaitable[None]]
Ended = Callable[[Conversation], Awaitable[None]]
Failed = Callable[[str], Awaitable[None]]


class Summaries:
    """The summaries that this process requests, at most one for each person."""

    def __init__(self, client: UpstreamClient) -> None:
        self._client = client
        self._tasks: dict[int, tuple[UUID, asyncio.Task[None]]] = {}  # by person

    def check_free(self, person: int) -> None:
        """Raise `Refused` if a summary is being written for this person."""
        if person in self._tasks:
            raise Refused(ONE_AT_A_TIME)

    def start(
        self, planned: PlannedSummary, person: User, report: Report, ended: Ended, failed: Failed
    ) -> None:
        """Request a summary; then call `ended` with the conversation that it is in, or `failed`
        with a sentence."""
        writing = self._write(planned, person, report, ended, failed)
        task = asyncio.create_task(writing, context=Context())
        self._tasks[person.pk] = planned.conversation.pk, task
        task.add_done_callback(lambda _: self._tasks.pop(person.pk, None))

    def cancel(self, person: int, conversation: UUID) -> None:
        """Cancel the summary of this person's conversation, which closes its upstream."""
        written, task = self._tasks.get(person, (None, None))
        if task and written == conversation:
            task.cancel()

    async def until_written(self) -> None:
        """Wait for the summaries being written."""
        if tasks := [task for _, task in self._tasks.values()]:
            await asyncio.wait(tasks)

    async def end(self) -> None:
        """Cancel all."""
        for _, task in list(self._tasks.values()):
            task.cancel()
        await self.until_written()

    async def _write(
        self, planned: PlannedSummary, person: User, report: Report, ended: Ended, failed: Failed
    ) -> None:
        problem = ""
        try:
            await report(planned, 0)
            summary, problem = await self._ask(planned, person, report)
            if summary and not problem:
                await ended(await stored(partial(planned.store, person, summary)))
        except Refused as refused:
            problem = str(refused)
        except Error as error:
            logger.warning("A summary could not be stored: %s", error)
            problem = f"The database is not responding. {NOTHING_CHANGED}"
        except Exception:
            logger.exception("No summary for conversation %s", planned.conversation.pk)
            problem = f"Something went wrong on this server; see its log. {NOTHING_CHANGED}"
        finally:
            with suppress(asyncio.CancelledError):
                await report(planned, None)
        if problem:
            await failed(problem)

    async def _ask(self, planned: PlannedSummary, person: User, report: Report) -> tuple[str, str]:
        """Return the summary, or "" and a sentence that says why there is none.

        What it costs is booked even if it fails or is cancelled.
        """
        is_over = asyncio.Event()
        budget = BudgetGuard(planned.reservation, is_over.set)
        sent = {key: one for key, one in planned.upstream.parameters.items() if key not in NOT_SENT}
        messages = planned.history.history().messages
        summary, cost = "", Cost()
        try:
            async with asyncio.timeout(SECONDS):
                for piece in pieces_of(messages, piece_bytes(planned.window)):
                    history = History.of(request_for(piece, summary))
                    options = RequestOptions([], sent)
                    options = budget.told(options, planned.upstream, planned.model)
                    reply = Reply()
                    cost.ask(PromptSize.of(history))
                    try:
                        await self._read(planned, history, options, reply, budget, is_over, report)
                    finally:
                        cost.end_round([reply])
                    summary = reply.answer.strip()[:MAX_SUMMARY]
                    if problem := _problem_of(reply, summary, is_over.is_set()):
                        return "", problem
        except TimeoutError:
            return "", f"The summary took longer than {SECONDS:.0f} seconds. {NOTHING_CHANGED}"
        finally:
            await stored(partial(_book, cost.ended, planned, person))
        return summary, ""

    async def _read(
        self,
        planned: PlannedSummary,
        history: History,
        options: RequestOptions,
        reply: Reply,
        budget: BudgetGuard,
        is_over: asyncio.Event,
        report: Report,
    ) -> None:
        endpoint = endpoint_of(planned.upstream)
        reported_at = time.monotonic()
        stream = self._client.stream(endpoint, planned.model, history.messages, options)
        async with stream as batches:
            async for events in batches:
                for event in events:
                    reply.apply(event)
                budget.count(events)
                if is_over.is_set() or len(reply.answer) > MAX_SUMMARY:
                    return
                if time.monotonic() - reported_at > PROGRESS_SECONDS:
                    reported_at = time.monotonic()
                    await report(planned, len(reply.answer.split()))


def _problem_of(reply: Reply, summary: str, is_over: bool) -> str:
    """Return a sentence if the answer is no whole summary, else ""."""
    if is_over:
        return f"A limit was reached, so no summary was written. {NOTHING_CHANGED}"
    if reply.error and reply.error.exceeds_context:
        return (
            "This part of the chat is too long for the model that was to summarise it. Choose a "
            f"model with a larger context. {NOTHING_CHANGED}"
        )
    if reply.error:
        said = f" ({reply.error.message})" if reply.error.message else ""
        return f"The model's server could not write the summary{said}. {NOTHING_CHANGED}"
    if not summary or (reply.ending not in WHOLE and len(summary) < MAX_SUMMARY):
        return f"The model wrote no whole summary. {NOTHING_CHANGED}"
    return ""


@transaction.atomic
def _book(usage: Usage, planned: PlannedSummary, person: User) -> None:
    upstream: Upstream = planned.upstream
    conversation = planned.conversation.pk
    usage.of_summary(planned.key, conversation, person.pk, upstream, planned.model)
    usage.forget_erased_person()
    Usage.book([usage])
    settle([usage])
    metrics.count_tokens(upstream.name, usage.as_record(), usage.provenance)
