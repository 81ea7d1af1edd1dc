"""The worker: wires its parts together and offers what viewers and views need from them."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from contextvars import Context
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import Error

from chatapp import metrics
from chatapp.catalogue import Catalogue
from chatapp.concurrency.event_loop import FairLock
from chatapp.concurrency.token_bucket import TokenBucket, TokenBuckets
from chatapp.concurrency.turns import Turns
from chatapp.models import Attachment, Message, Turn
from chatapp.realtime.cluster import Bus, Cluster, HeartbeatSource
from chatapp.realtime.cluster.messages import (
    Change,
    ConversationChanged,
    DraftChanged,
    ListChanged,
    PeopleChanged,
    PolicyChanged,
    SharesChanged,
    ThreadChanged,
    TurnBegan,
)
from chatapp.realtime.completions import Completions
from chatapp.realtime.generation import Generation, run_in_write_thread
from chatapp.realtime.journal import Journal, Segment
from chatapp.realtime.readers import Readers
from chatapp.realtime.summarising import Summaries
from chatapp.realtime.titling import Titles
from chatapp.realtime.viewers import Viewer, Viewers
from chatapp.realtime.worker.changes import Changes
from chatapp.realtime.worker.draining import Draining
from chatapp.realtime.worker.event_dispatcher import EventDispatcher
from chatapp.realtime.worker.housekeeping import Housekeeping
from chatapp.realtime.worker.indexing import Indexing
from chatapp.realtime.worker.job_process import JobProcess
from chatapp.realtime.worker.replies import Replies
from chatapp.realtime.worker.revocation import Revocation
from chatapp.realtime.worker.tasks import Tasks
from chatapp.realtime.worker.temporaries import Temporaries
from chatapp.realtime.worker.upkeep import complete_ledger, release_holds, run_upkeep, store_prices
from chatapp.tools import close_shared_registry
from chatapp.upstream.client import UpstreamClient

logger = logging.getLogger(__name__)

STORED_HOURS = 8  # hours in which one person may store their whole quota
FILE_HOURS = 4  # the same for files
# How many turns may be between receiving the prompt and sending the upstream request. If a burst
# of prompts all ran at once, the first would wait until the last is checked; with fewer than this,
# the thread that stores them would idle between turns.
TURNS_AT_ONCE, TURNS_EACH = 8, 4
TURN_SECONDS = 0.1  # a slower turn is itself waiting for something, and the next may start


class Worker:
    """Call `begin` to join the other workers and the database, and `drain` to shut it down."""

    def __init__(self, bus: Bus, heartbeat: HeartbeatSource) -> None:
        self.id = bus.worker
        self.client = UpstreamClient(usage_seconds=settings.CHATAPP_USAGE_SECONDS)
        self.catalogue = Catalogue(self.client, store_prices)
        self.viewers = Viewers()
        self.replies = Replies(heartbeat)
        self.temporaries = Temporaries(self.id, self.conversation_changed)
        self.titles = Titles(self.id, self.client, self._is_running_in, self.conversation_changed)
        self.summaries = Summaries(self.client, bus, self.viewers)
        self.completions = Completions(self.id, self.client)
        self.cluster = Cluster(bus, self.viewers)
        self.revocation = Revocation(self.viewers, self.replies, self.summaries, self.completions)
        self.readers = Readers(self.viewers, self.replies, self.cluster)
        self.changes = Changes(self.viewers, self.replies, self.summaries)
        self.dispatcher = EventDispatcher(
            self.viewers,
            self.replies,
            self.cluster,
            self.revocation,
            self.changes,
            self.summaries,
            self.readers,
        )
        self.housekeeping = Housekeeping(self.conversation_changed)
        self.draining = Draining(self.viewers, self.replies, self.summaries, bus)
        self.jobs = JobProcess(self.id, self.list_changed, lambda: self.indexing.wake())
        self.indexing = Indexing(is_done_elsewhere=self.jobs.index)
        an_hour = settings.CHATAPP_STORED_BYTES_PER_PERSON / STORED_HOURS
        self.stored_bytes = TokenBuckets(partial(TokenBucket, an_hour / 3600, an_hour))
        of_files = settings.CHATAPP_FILE_BYTES_PER_PERSON / FILE_HOURS
        an_hour = max(of_files, settings.CHATAPP_FILE_BYTES)
        self.file_bytes = TokenBuckets(partial(TokenBucket, an_hour / 3600, an_hour))
        self.one_fork_at_a_time = FairLock()
        self.one_prompt_at_a_time = FairLock()
        self.few_turns_at_a_time = Turns(TURNS_AT_ONCE, TURN_SECONDS, each=TURNS_EACH)
        self._heartbeat = heartbeat
        self._journal: Journal | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # set when the first viewer connects
        self._writing = Tasks()
        self._upkeep = Tasks()

    def begin(self) -> None:
        """Join the installation: start the background tasks and exchange events with the others."""
        self._loop = asyncio.get_running_loop()
        self._journal = Journal(self.id)
        self._upkeep.start(self.revocation.run())
        self._upkeep.start(self.readers.run())
        self._upkeep.start(
            run_upkeep(
                self.temporaries.sweep, complete_ledger, release_holds, self._fail_orphaned_files
            )
        )
        self._upkeep.start(self.housekeeping.run())
        self._upkeep.start(self.dispatcher.apply_reports(self._heartbeat))
        for listening in (self.dispatcher.act_on_events(), self.cluster.run()):
            self._upkeep.start(listening).add_done_callback(_log_failure)

    @property
    def database_answers(self) -> bool:
        """Whether the database was reachable about a second ago."""
        return self._heartbeat.database_answers

    def start(self, turn: Turn, viewer: Viewer) -> None:
        """Stream the turn's replies to `viewer` and to every viewer showing the conversation."""
        unended = {reply.pk for reply in turn.replies}
        for each in (turn, *turn.others):
            self._begin(each, viewer, unended)
        self._announce_turn(turn.reply)
        self.readers.catch_up(turn.conversation.pk)
        self.indexing.wake()

    def _begin(self, turn: Turn, viewer: Viewer, unended: set[UUID]) -> None:
        showing = self.viewers.showing(turn.conversation.pk)
        generation = Generation(
            turn,
            self.client,
            self.replies.pace,
            showing,
            self._journal.open(turn.reply.pk) if self._journal else Segment.off(),
            unended,
            viewer.session_key,
        )
        for each in {viewer, *showing}:
            generation.audience.join(each)
        self.replies.add(generation)
        self._writing.start(self._stream(generation))

    async def until_saved(self) -> None:
        """Wait until every running reply has ended and been saved."""
        await self._writing.until_done()

    async def welcome(self, viewer: Viewer) -> None:
        """Register a viewer whose socket has just been accepted."""
        self._loop = asyncio.get_running_loop()
        metrics.viewers.inc()
        self.viewers.add(viewer)
        await self.cluster.bus.subscribe(viewer.user_id)
        if self.draining.sends_viewers_away:  # draining began after the socket was accepted
            self.draining.send_away(viewer)

    def show(self, viewer: Viewer, conversation: UUID | None) -> None:
        """Record which conversation `viewer` shows, and add it to the replies running there."""
        self.viewers.show(viewer, conversation)
        for generation in self.replies.for_conversation(conversation):
            generation.audience.join(viewer)

    def open_temporary(self, viewer: Viewer, conversation: UUID) -> None:
        """Record that `viewer` has this temporary conversation open.

        The conversation is erased after the last tab that has it open is closed.
        """
        self.temporaries.open(conversation, viewer if viewer in self.viewers else None)

    def leave(self, viewer: Viewer, grace: float) -> None:
        """Remove `viewer`; replies that nobody else is watching end after `grace` seconds."""
        if viewer in self.viewers:
            self.viewers.remove(viewer)
            metrics.viewers.dec()
            self.cluster.bus.unsubscribe(viewer.user_id)
        for generation in self.replies:
            generation.audience.leave(viewer, grace)
        self.cluster.remotes.leave(viewer, grace)
        self.temporaries.leave(viewer, grace)

    def recheck_access(self, people: Iterable[int] | None) -> None:
        """Recheck the sessions of these people in every worker; None means everybody.

        Thread-safe.
        """
        self._broadcast(PeopleChanged(None if people is None else frozenset(people)))

    def conversation_changed(self, user: int, conversation: UUID) -> None:
        """Show in every worker that `user` renamed or deleted a conversation, or changed its
        settings. Thread-safe."""
        self._broadcast(ConversationChanged(user, conversation))

    def schedule_purge(self) -> None:
        """Start housekeeping soon, because something is waiting to be purged. Thread-safe."""
        if self._loop:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.housekeeping.wake, context=Context())

    def list_changed(self, user: int) -> None:
        """Refresh the person's conversation lists in every worker. Thread-safe.

        For conversations that moved within a list, changed lists or were removed.
        """
        self._broadcast(ListChanged(user))

    def draft_changed(self, user: int, conversation: UUID | None) -> None:
        """Show a draft's attachments in the person's tabs, in every worker. Thread-safe.

        None is the draft of a new chat.
        """
        self._broadcast(DraftChanged(user, conversation))

    def policy_changed(self) -> None:
        """Show a changed review policy on every page that can start a new chat. Thread-safe."""
        self._broadcast(PolicyChanged())

    def shares_changed(self, conversation: UUID) -> None:
        """Check the readers of a conversation, and redraw it for them, in every worker.

        Thread-safe.
        """
        self._broadcast(SharesChanged(conversation))

    def thread_changed(self, user: int, conversation: UUID) -> None:
        """Redraw a conversation in which the person deleted or restored messages.

        Call it on the event loop.
        """
        self.cluster.bus.post_to_user(user, ThreadChanged(conversation))
        self.dispatcher.redraw(conversation)

    def _broadcast(self, changed: Change) -> None:
        """Handle a change in this worker and send it to all the others. Thread-safe."""

        self.indexing.wake()

        def broadcast() -> None:
            self.cluster.bus.post_to_all(changed)
            self.dispatcher.act_on_change(changed)

        if self._loop:
            with suppress(RuntimeError):  # the loop is closed, so no tabs are connected here
                # A fresh context: asgiref binds the request's context to that request's thread.
                self._loop.call_soon_threadsafe(broadcast, context=Context())

    async def drain(self, seconds: float, *, alone: bool = True) -> None:
        """Refuse new prompts, give running replies `seconds` to end, save the rest, and close.

        Pass `alone=False` if the other workers are stopping too.
        """
        await asyncio.gather(
            self.draining.run(seconds, self._writing, alone=alone),
            self.completions.end(seconds),
            asyncio.to_thread(self.jobs.stop),
        )
        await self.readers.close_all()
        await self.titles.end()
        await self.temporaries.close()
        self.revocation.close()
        await self.cluster.bus.until_sent()
        await self._upkeep.end()
        await asyncio.to_thread(self.indexing.stop)
        await asyncio.to_thread(self._heartbeat.stop)
        await self.catalogue.aclose()
        await self.client.aclose()
        await close_shared_registry()
        if self._journal:
            self._journal.close()

    async def _stream(self, generation: Generation) -> None:
        """Run a reply until it has ended, been saved and shown; then note that everywhere."""
        try:
            await generation.run()
        finally:
            self.replies.remove(generation)
            self.cluster.followers.end(generation.message.pk)
            if not self.draining.has_begun:
                self.titles.reply_ended(generation.prompt, generation.message)
            self.indexing.wake()
            self.readers.catch_up(generation.message.conversation_id)
            await self._mark_unseen(generation)
            if self._heartbeat.was_given_up(since=generation.began_at):
                # Other tabs may show it as interrupted; make them load what was saved just now.
                self._announce_turn(generation.message)

    def _is_running_in(self, conversation: UUID) -> bool:
        return conversation in self.replies.conversations()

    async def _mark_unseen(self, generation: Generation) -> None:
        """Mark the conversation unread if no tab here was showing it when the reply ended.

        A worker with a tab that shows it clears the mark again (`Changes.refresh_list`).
        """
        conversation = generation.message.conversation
        if self.viewers.showing(conversation.pk):
            return
        try:
            await run_in_write_thread(conversation.mark_unread)
        except Error as error:
            logger.info("Could not mark a conversation as unread: %s", error)
        else:
            self.list_changed(conversation.user_id)

    async def _fail_orphaned_files(self) -> None:
        for user, conversation in await run_in_write_thread(Attachment.objects.fail_orphans):
            self.draft_changed(user, conversation)

    def _announce_turn(self, message: Message) -> None:
        conversation = message.conversation
        self.cluster.bus.post_to_user(conversation.user_id, TurnBegan(conversation.pk))


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        logger.critical(
            "This process no longer receives events from other processes; restart it",
            exc_info=error,
        )
