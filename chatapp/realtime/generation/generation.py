"""One running reply: streams it, shows it to its tabs, and saves it, whatever its ending."""

import asyncio
import logging
import time
from contextlib import suppress
from functools import partial
from uuid import UUID

from django.db import DatabaseError, InterfaceError, OperationalError
from structlog.contextvars import bind_contextvars

from chatapp import metrics
from chatapp.concurrency.turns import served_person
from chatapp.models import Message, Turn, Upstream
from chatapp.models.billing.reservations import Reservation
from chatapp.models.conversations.threads import branches
from chatapp.models.platform.upstream_failures import FAILURES
from chatapp.realtime.generation.arrivals import Arrivals
from chatapp.realtime.generation.budget_guard import BudgetGuard
from chatapp.realtime.generation.flush_rate import FlushRate
from chatapp.realtime.generation.frame_scheduler import FrameScheduler
from chatapp.realtime.generation.storing import run_in_write_thread
from chatapp.realtime.generation.writer import Writer
from chatapp.realtime.journal import Segment
from chatapp.realtime.viewers import Audience, Showing
from chatapp.rendering.fragments import (
    LiveReply,
    delay_fragment,
    ended_fragment,
    shared_snapshot,
    snapshot_fragment,
)
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.reply import Ending, Reply

logger = logging.getLogger(__name__)

CHECKPOINT_SECONDS = 1.0  # the most that is lost when the process dies
JOURNALLED_SECONDS = 5.0  # with a journal, which outlives the process: when the host dies
SAVE_AGAIN_SECONDS = 0.5
UNSAVED = (
    "The database isn't responding. This reply is kept and will be saved as soon as it is back."
)
READ_ON_SECONDS = 60.0  # for a stopped reply's usage, if the upstream is set up to be read on


class Generation:
    """A running reply. Await `run` once; `stop` may be called at any time."""

    def __init__(
        self,
        turn: Turn,
        client: UpstreamClient,
        pace: FlushRate,
        showing: Showing,
        journal: Segment,
        unended: set[UUID],
        session_key: str,
    ) -> None:
        """Prepare the reply of `turn`.

        `unended` is shared by all replies to one prompt and holds the ids of those that have not
        ended yet; `session_key` is the session that sent the prompt.
        """
        self.prompt, self.message = turn.prompt, turn.reply
        self.live = LiveReply(turn.reply)
        self.audience = Audience(showing, finishes=turn.finishes, followers=showing.followers)
        self.began_at = self.saved_at = time.monotonic()
        self._frames = FrameScheduler(self.live, self.audience, pace)
        self._journal = journal
        self._unended = unended
        self.session_key = session_key
        budget = BudgetGuard(turn.reservation, partial(self.stop, Ending.OVER_BUDGET))
        self.arrivals = Arrivals(turn.reply, self.live, self._frames, journal, budget)
        self.writer = Writer(turn, client, self.arrivals)
        self._is_retry = turn.is_retry
        self._writing: asyncio.Task[None] | None = None
        self._stopped_as: Ending | None = None
        self._reading_on: asyncio.TimerHandle | None = None
        self._cancelled_at: float | None = None

    async def run(self) -> None:
        """Stream the reply to its end; return when it is saved and shown."""
        bind_contextvars(reply=str(self.message.pk), upstream=self.writer.upstream.name)
        served_person.set(self.message.conversation.user_id)
        self._writing = asyncio.create_task(self.writer.write())
        leaving = asyncio.create_task(self._stop_when_abandoned())
        await asyncio.wait([self._writing])
        leaving.cancel()
        upstream = self.writer.upstream.name  # of the model that was asked last
        bind_contextvars(upstream=upstream)
        if self._cancelled_at:
            metrics.cancel_time.observe(time.monotonic() - self._cancelled_at)
        if self._reading_on:
            self._reading_on.cancel()
        self.audience.close()
        self.arrivals.end_thinking()
        self.writer.cancel_tools()
        self.message.duration = self.arrivals.seconds
        ending = self._ending()
        metrics.endings.labels(upstream, ending).inc()
        if ending in FAILURES:
            self._log_failure(ending)
        try:
            await self._frames.last()
        finally:
            await self._save(ending)
            self._journal.discard()
        self._unended.discard(self.message.pk)
        mark = "" if self._unended else ended_fragment(self.message.conversation_id)
        await self.audience.show_everywhere(self.live.ended_fragment() + mark)

    @property
    def reply(self) -> UUID:
        """The reply's id, under the same name as on a `RemoteReply`."""
        return self.message.pk

    @property
    def is_due(self) -> bool:
        """Whether it is time for a checkpoint of the text that has arrived."""
        age = time.monotonic() - self.saved_at
        if (reservation := self.reservation) and reservation.wants_more:
            return self.arrivals.budget.is_urgent or age >= CHECKPOINT_SECONDS
        seconds = JOURNALLED_SECONDS if self._journal.is_on else CHECKPOINT_SECONDS
        return self.arrivals.is_dirty and age >= seconds

    @property
    def reservation(self) -> Reservation | None:
        """The reply's budget with what it has used so far, or None if no limit applies."""
        return self.arrivals.budget.reservation

    def end_if_over(self) -> None:
        """End the reply if it has used up its budget."""
        self.arrivals.budget.end_if_over()

    async def flush(self) -> None:
        """Show what has arrived to every tab that shows the reply."""
        await self._frames.now()

    def snapshot(self) -> str:
        """Return the fragment that draws the reply as far as those tabs have it."""
        return snapshot_fragment(self.live.view())

    def shared_snapshot(self) -> str:
        """Return the same for readers of a shared chat, before what is hidden is left out."""
        return shared_snapshot(self.live.view())

    def stop(self, ending: Ending) -> None:
        """Cancel the upstream request or the running tools, and save the reply with this ending.

        Only the first call counts.
        """
        if not self._writing or self._writing.done():
            return
        if self._stopped_as:
            if self._reading_on and ending is Ending.INTERRUPTED:  # no time to wait for usage
                self._reading_on.cancel()
                self._writing.cancel()
            return
        self._stopped_as = ending
        if ending is Ending.STOPPED and self.writer.read_on_for_usage():
            loop = asyncio.get_running_loop()
            self._reading_on = loop.call_later(READ_ON_SECONDS, self._writing.cancel)
        else:
            self._cancelled_at = time.monotonic()
            self._writing.cancel()

    def decide(self, round: int, call: int, allowed: bool, always: bool = False) -> None:
        """Allow or deny a tool call of this round; see `ToolRuns.decide`."""
        self.writer.decide(round, call, allowed, always)

    async def _stop_when_abandoned(self) -> None:
        await self.audience.is_gone.wait()
        self.stop(Ending.ABANDONED)

    def _ending(self) -> Ending:
        assert self._writing
        error = None if self._writing.cancelled() else self._writing.exception()
        if error:
            logger.error("Reply %s failed", self.message.pk, exc_info=error)
            return Ending.FAILED
        return self._choose_ending(self.arrivals.reply)

    def _log_failure(self, ending: Ending) -> None:
        """Write a line without the error's message, which may quote a prompt."""
        error = self.arrivals.reply.error
        fields: dict[str, object] = {"model": self.message.model, "ending": ending.value}
        if error:
            fields |= {"error": error.kind.value, "status": error.status or ""}
        logger.warning("An upstream failed", extra=fields)

    def _choose_ending(self, reply: Reply) -> Ending:
        if self._stopped_as and (not reply.finish_reason or reply.wants_tools):
            return self._stopped_as
        ending = reply.ending
        was_cut_short = ending is Ending.LENGTH and self.arrivals.budget.was_cut_short
        return Ending.OVER_BUDGET if was_cut_short else ending

    async def _save(self, ending: Ending) -> None:
        """Save the reply, retrying while the database is unavailable or locked."""
        has_notified = False

        async def notify() -> None:
            nonlocal has_notified
            if not has_notified:
                has_notified = True
                await self.audience.show(delay_fragment(self.message.pk, UNSAVED))

        while True:
            try:
                await run_in_write_thread(partial(self._save_now, ending), notify)
            except (OperationalError, InterfaceError) as error:
                if not has_notified:
                    logger.error("Reply %s waits for the database: %s", self.message.pk, error)
                await notify()
            except DatabaseError:
                if await self._is_stored():
                    logger.exception("Reply %s could not be saved", self.message.pk)
                else:
                    logger.info("Reply %s was deleted while it was streaming", self.message.pk)
                return
            else:
                return
            await asyncio.sleep(SAVE_AGAIN_SECONDS)

    async def _is_stored(self) -> bool:
        with suppress(OperationalError, InterfaceError):
            return await Message.objects.filter(pk=self.message.pk).aexists()
        return True  # unknown, so assume that it is

    def _save_now(self, ending: Ending) -> None:
        message, upstream = self.message, self.writer.upstream
        usage = self.writer.update_message()
        message.finish(self.arrivals.reply, ending)
        others = [
            message.other_choice(other, self._choose_ending(other))
            for other in self.arrivals.others
            if other.has_arrived
        ]
        message.save_reply(usage, others)
        metrics.count_tokens(upstream.name, usage.as_record(), usage.provenance)
        siblings = getattr(message, "siblings", [message])
        if self._is_retry or len(siblings) > 1:  # some may have been deleted or restored
            families = branches.siblings(message.conversation_id, [message])
            message.siblings = families.get(message.parent_id, [message])
        else:
            message.siblings = [*siblings, *others]
        self.writer.store_lessons()
        has_outgrown = upstream.is_outgrown(message.model, usage.prompt_tokens)
        if has_outgrown and not self.writer.lessons.refused_context:
            Upstream.forget_context_refusals(upstream.pk, [message.model])
