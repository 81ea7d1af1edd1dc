"""Dispatches the events this worker receives from other workers and from each heartbeat."""

import logging
from collections.abc import Collection, Coroutine
from contextlib import aclosing
from typing import assert_never
from uuid import UUID

from django.db import Error

from chatapp.models import Message
from chatapp.realtime.cluster import (
    Cluster,
    Event,
    HeartbeatReport,
    HeartbeatSource,
    SnapshotRequested,
    StaleViewers,
)
from chatapp.realtime.cluster.messages import (
    Change,
    ConversationChanged,
    Decide,
    DraftChanged,
    Gone,
    ListChanged,
    PeopleChanged,
    PolicyChanged,
    SharesChanged,
    Stop,
    StopSummary,
    SummaryEnded,
    SummaryProgress,
    TurnBegan,
)
from chatapp.realtime.generation import run_in_write_thread
from chatapp.realtime.readers import Readers
from chatapp.realtime.summarising import Summaries
from chatapp.realtime.viewers import Viewer, Viewers
from chatapp.realtime.worker.changes import Changes
from chatapp.realtime.worker.replies import Replies
from chatapp.realtime.worker.revocation import Revocation
from chatapp.realtime.worker.tasks import Tasks

logger = logging.getLogger(__name__)


class EventDispatcher:
    """Run `act_on_events` and `apply_reports` in one task each; both run until cancelled."""

    def __init__(
        self,
        viewers: Viewers,
        replies: Replies,
        cluster: Cluster,
        revocation: Revocation,
        changes: Changes,
        summaries: Summaries,
        readers: Readers,
    ) -> None:
        self._viewers = viewers
        self._replies = replies
        self._cluster = cluster
        self._revocation = revocation
        self._changes = changes
        self._summaries = summaries
        self._readers = readers
        self._tasks = Tasks()

    async def act_on_events(self) -> None:
        async with aclosing(self._cluster.events()) as events:
            async for event in events:
                await self._act_or_skip(event)

    async def apply_reports(self, heartbeat: HeartbeatSource) -> None:
        async with aclosing(heartbeat.reports(self._cluster)) as reports:
            async for report in reports:
                try:
                    await self.apply_report(report)
                except Exception:  # the next report repeats what this one said
                    logger.exception("A heartbeat report could not be handled")

    async def act(self, event: Event) -> None:
        match event:
            case SnapshotRequested():
                await self._send_snapshot(event)
            case Stop(reply, _, ending):
                if generation := self._replies.get(reply):
                    generation.stop(ending)
            case Decide(reply, _, round, call, allowed, always):
                if generation := self._replies.get(reply):
                    generation.decide(round, call, allowed, always)
            case StaleViewers(conversation, viewers, redraw):
                self._catch_up(conversation, viewers, redraw=redraw)
            case (
                PeopleChanged()
                | ConversationChanged()
                | ListChanged()
                | DraftChanged()
                | PolicyChanged()
                | SharesChanged()
            ):
                self.act_on_change(event)
            case SummaryProgress() | SummaryEnded():
                await self._summaries.reports.show_report(event)
            case StopSummary(user, conversation):
                self._summaries.cancel(user, conversation)
            case _:
                assert_never(event)

    def act_on_change(self, change: Change) -> None:
        """Read from the database what was changed, here or in another worker, and show it."""
        match change:
            case PeopleChanged(people):
                self._revocation.recheck_access(people)
                self._readers.check()
            case ConversationChanged(user, conversation):
                self._readers.check_conversation(conversation)
                self._readers.show_title(conversation)
                self._tasks.start(
                    self._log_errors(self._changes.refresh_conversation(user, conversation))
                )
            case ListChanged(user):
                self._readers.check_owner(user)
                self._tasks.start(self._log_errors(self._changes.refresh_list(user)))
            case DraftChanged(user, drafted_conversation):
                self._tasks.start(self._changes.refresh_draft(user, drafted_conversation))
            case SharesChanged(conversation):
                self._readers.check_conversation(conversation)
                self._readers.catch_up(conversation, redraw=True)
            case PolicyChanged():
                self._tasks.start(self._log_errors(self._changes.refresh_policy()))
            case _:
                assert_never(change)

    def redraw(self, conversation: UUID) -> None:
        """Redraw a conversation in which messages were deleted or restored."""
        self._catch_up(conversation, self._viewers.showing(conversation), redraw=True)

    async def apply_report(self, report: HeartbeatReport) -> None:
        for event in self._cluster.apply_report(report, self._replies.conversations()):
            await self._act_or_skip(event)
        for completed_reply in report.completed:
            self._cluster.bus.post_to_user(
                completed_reply.user, TurnBegan(completed_reply.conversation)
            )
            self._catch_up(
                completed_reply.conversation, self._viewers.showing(completed_reply.conversation)
            )
        if lost_ids := self._replies.find_lost(report.own):
            self._tasks.start(self._interrupt(lost_ids))
        if unstored_ids := self._replies.find_unstored(report.own):
            self._tasks.start(self._end_deleted(unstored_ids))

    async def _act_or_skip(self, event: Event) -> None:
        try:
            await self.act(event)
        except Exception:  # a failing event must not hold up the next
            logger.exception("Could not handle an event: %s", type(event).__name__)

    async def _send_snapshot(self, request: SnapshotRequested) -> None:
        generation = self._replies.get(request.reply)
        if generation is None:
            self._cluster.bus.post(request.worker, Gone(request.reply))
            return
        followers = self._cluster.followers
        audience, waits = generation.audience, request.waits
        follower = followers.follow(request.worker, request.reply, audience, waits=waits)
        await generation.flush()
        shared = generation.shared_snapshot() if request.is_shared else ""
        follower.post_snapshot(generation.snapshot(), shared)

    async def _log_errors(self, update: Coroutine[None, None, None]) -> None:
        try:
            await update
        except Error as error:
            logger.warning("Open tabs do not show a change yet: %s", error)

    async def _end_deleted(self, replies: frozenset[UUID]) -> None:
        try:
            await self._changes.end_deleted(replies)
        except Error as error:
            logger.info("Replies are checked when the database is back: %s", error)

    async def _interrupt(self, replies: frozenset[UUID]) -> None:
        """Mark replies as interrupted that never started, or that ended but could not be saved."""
        lost = Message.objects.streaming().filter(pk__in=replies)
        try:
            conversations = [pk async for pk in lost.values_list("conversation_id", flat=True)]
            await run_in_write_thread(lost.interrupt)
        except Error as error:
            logger.warning("Could not mark lost replies as interrupted yet: %s", error)
            return
        logger.error("Lost replies were marked as interrupted: %d", len(conversations))
        for conversation in set(conversations):
            self._catch_up(conversation, self._viewers.showing(conversation))

    def _catch_up(
        self, conversation: UUID, viewers: Collection[Viewer], *, redraw: bool = False
    ) -> None:
        for viewer in list(viewers):
            self._tasks.start(viewer.catch_up(conversation, redraw=redraw))
        self._readers.catch_up(conversation, redraw=redraw)
