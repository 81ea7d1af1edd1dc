"""Requests summaries from a model, each in its own task; `Summaries` owns the tasks."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from contextvars import Context
from functools import partial
from uuid import UUID

from django.db import Error

from chatapp.catalogue import get_display_name
from chatapp.models import Conversation, PlannedSummary, Refused, User
from chatapp.models.conversations.threads.context_cuts import MAX_SUMMARY
from chatapp.realtime.cluster import Bus
from chatapp.realtime.cluster.messages import StopSummary, SummaryEnded, SummaryProgress
from chatapp.realtime.generation import run_in_write_thread
from chatapp.realtime.generation.unsaved import UnsavedAnswer, book, build_plain_request
from chatapp.realtime.summarising.reports import SummaryReports
from chatapp.realtime.summarising.wording import build_request, piece_bytes, split_into_pieces
from chatapp.realtime.viewers import Viewer, Viewers
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.reply import Ending, Reply
from chatapp.upstream.wire.requests.history import History

logger = logging.getLogger(__name__)

SECONDS = 300.0  # time limit for a summary
REPORT_SECONDS = 1.0  # between two reports
WHOLE = (Ending.COMPLETE, Ending.LENGTH)
NOTHING_CHANGED = "Nothing was left out, and your chat is as it was."
RESTARTED = f"The server was restarted before the summary was written. {NOTHING_CHANGED}"
ONE_AT_A_TIME = "A summary is being written already. Wait for it, or cancel it."

# Shows the conversation that the summary is in; returns what else to tell, or "".
ShowConversation = Callable[[Conversation], Awaitable[str]]


class RunningSummary:
    """A summary that this process is writing; `viewer` is the tab that asked for it."""

    task: asyncio.Task[None]

    def __init__(self, planned: PlannedSummary, person: User, viewer: Viewer) -> None:
        self.planned = planned
        self.person = person
        self.user_id: int = person.pk
        self.viewer = viewer
        self.session_key = viewer.session_key
        self.reply = Reply()  # to the request that is being answered
        self.note = ""  # why it was cancelled, unless the person knows

    @property
    def conversation(self) -> UUID:
        return self.planned.conversation.pk

    @property
    def progress(self) -> SummaryProgress:
        name = get_display_name(self.planned.upstream, self.planned.model)
        words = len(self.reply.answer.split())
        return SummaryProgress(self.user_id, self.conversation, name, words)

    def cancel(self, note: str = "") -> None:
        """Close its upstream; nothing is stored."""
        if not self.task.cancelling():  # a second one would cancel the booking
            self.note = note
            self.task.cancel()


class Summaries:
    """The summaries that this process requests, at most one for each person.

    `reports` are also about those of other processes.
    """

    def __init__(self, client: UpstreamClient, bus: Bus, viewers: Viewers) -> None:
        self.reports = SummaryReports(bus, viewers)
        self._client = client
        self._bus = bus
        self._running: dict[int, RunningSummary] = {}  # by person
        self._beginning: set[int] = set()  # people

    def __iter__(self) -> Iterator[RunningSummary]:
        return iter(list(self._running.values()))

    def __len__(self) -> int:
        return len(self._running)

    @contextmanager
    def beginning(self, person: int) -> Iterator[None]:
        """Reserve this person's only place while a summary is prepared.

        Raises `Refused` if one is being written for them, in this process or in another.
        """
        is_taken = person in self._beginning or person in self._running
        if is_taken or self.reports.is_written_for(person):
            raise Refused(ONE_AT_A_TIME)
        self._beginning.add(person)
        try:
            yield
        finally:
            self._beginning.discard(person)

    def start(
        self,
        planned: PlannedSummary,
        person: User,
        viewer: Viewer,
        show_conversation: ShowConversation,
    ) -> None:
        """Request a summary, store it, and call `show_conversation` with its conversation."""
        running = RunningSummary(planned, person, viewer)
        running.task = asyncio.create_task(
            self._write(running, show_conversation), context=Context()
        )
        self._running[running.user_id] = running
        running.task.add_done_callback(lambda _: self._running.pop(running.user_id, None))

    def stop(self, person: int, conversation: UUID) -> None:
        """Cancel the summary of this person's conversation, in whichever process it is written."""
        self.cancel(person, conversation)
        self._bus.post_to_all(StopSummary(person, conversation))

    def cancel(self, person: int, conversation: UUID) -> None:
        """Cancel the summary of this person's conversation if it is written here."""
        running = self._running.get(person)
        if running and running.conversation == conversation:
            running.cancel()

    async def until_written(self) -> None:
        """Wait for the summaries being written."""
        if self._running:
            await asyncio.wait([summary.task for summary in self])

    async def end(self) -> None:
        """Cancel all, and tell the tabs."""
        for running in self:
            running.cancel(RESTARTED)
        await self.until_written()
        self.reports.close()

    async def _write(self, running: RunningSummary, show_conversation: ShowConversation) -> None:
        reporting = asyncio.create_task(self._report(running))
        planned, person, note = running.planned, running.person, ""
        try:
            summary, note = await self._ask(running)
            if summary and not note:
                conversation = await run_in_write_thread(partial(planned.store, person, summary))
                note = await show_conversation(conversation)
        except asyncio.CancelledError:
            note = running.note
            raise
        except Refused as refused:
            note = str(refused)
        except Error as error:
            logger.warning("A summary could not be stored: %s", error)
            note = f"The database is not responding. {NOTHING_CHANGED}"
        except Exception:  # the person who waits for it must learn that it failed
            logger.exception("No summary for conversation %s", running.conversation)
            note = f"Something went wrong on this server; see its log. {NOTHING_CHANGED}"
        finally:
            reporting.cancel()
            ended = SummaryEnded(running.conversation, note)
            with suppress(asyncio.CancelledError):
                await self.reports.post(running.user_id, ended, running.viewer)

    async def _report(self, running: RunningSummary) -> None:
        """Report the progress until cancelled."""
        while True:
            await self.reports.post(running.user_id, running.progress, running.viewer)
            await asyncio.sleep(REPORT_SECONDS)

    async def _ask(self, running: RunningSummary) -> tuple[str, str]:
        """Return the summary, or "" and a sentence that says why there is none.

        What it costs is booked even if it fails or is cancelled.
        """
        planned = running.planned
        answer = UnsavedAnswer(self._client, planned.reservation)
        messages = planned.history.history().messages
        summary = ""
        try:
            async with asyncio.timeout(SECONDS):
                for piece in split_into_pieces(messages, piece_bytes(planned.window)):
                    history = History.of(build_request(piece, summary))
                    try:
                        await _read_answer(running, history, answer)
                    finally:
                        answer.cost.end_round(answer.choices)
                    summary = answer.reply.answer.strip()[:MAX_SUMMARY]
                    if problem := _find_problem(answer.reply, summary, answer.is_over_budget):
                        return "", problem
        except TimeoutError:
            return "", f"The summary took longer than {SECONDS:.0f} seconds. {NOTHING_CHANGED}"
        finally:
            concerning = (planned.key, planned.conversation.pk, running.user_id)
            charge = partial(
                answer.cost.ended_usage.charge_summary, *concerning, planned.upstream, planned.model
            )
            await run_in_write_thread(partial(book, charge, planned.upstream))
        return summary, ""


async def _read_answer(running: RunningSummary, history: History, answer: UnsavedAnswer) -> None:
    upstream, model = running.planned.upstream, running.planned.model
    request = build_plain_request(upstream, model, history, running.user_id)
    answer.begin_round()
    async with aclosing(answer.read(request)) as batches:
        async for _ in batches:
            running.reply = answer.reply
            if len(answer.reply.answer) > MAX_SUMMARY:
                return


def _find_problem(reply: Reply, summary: str, is_over: bool) -> str:
    """Return a sentence if the answer is no whole summary, else ""."""
    if is_over:
        return f"A limit was reached, so no summary was written. {NOTHING_CHANGED}"
    if reply.error and reply.error.exceeds_context:
        return (
            "This part of the chat is too long for the model that was to summarise it. Choose a "
            f"model with a larger context. {NOTHING_CHANGED}"
        )
    if reply.error:
        detail = f" ({reply.error.message})" if reply.error.message else ""
        return f"The model's server could not write the summary{detail}. {NOTHING_CHANGED}"
    if not summary or (reply.ending not in WHOLE and len(summary) < MAX_SUMMARY):
        return f"The model wrote no whole summary. {NOTHING_CHANGED}"
    return ""
