"""One worker: its parts, and what its viewers ask of it."""

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
from chatapp.cluster import Beating, Bus, Cluster
from chatapp.cluster.messages import (
    Change,
    ConversationChanged,
    ListChanged,
    PeopleChanged,
    PolicyChanged,
    ThreadChanged,
    TurnBegan,
)
from chatapp.fairness.allowance import Allowance, Allowances
from chatapp.fairness.turns import FewAtATime, OneAtATime
from chatapp.generation import Generation, Unsupported, stored
from chatapp.journal import Journal, Segment
from chatapp.models import Message, Turn
from chatapp.titling import Titles
from chatapp.tools import close_shared_toolbox
from chatapp.upstream.client import UpstreamClient
from chatapp.viewers import Viewer, Viewers
from chatapp.worker.changes import Changes
from chatapp.worker.draining import Draining
from chatapp.worker.hearing import Hearing
from chatapp.worker.housekeeping import Housekeeping
from chatapp.worker.indexing import Indexing
from chatapp.worker.replies import Replies
from chatapp.worker.revocation import Revocation
from chatapp.worker.tasks import Tasks
from chatapp.worker.temporaries import Temporaries
from chatapp.worker.upkeep import complete_ledger, keep_prices, keep_up, release_holds

logger = logging.getLogger(__name__)

STORED_HOURS = 8  # in which one person may store as much as they may have
# From a prompt that came to its request upstream. With all of a storm's at once, the first would
# wait until the last is checked; with fewer, the thread that stores them would wait for the next.
TURNS_AT_ONCE = 8
TURN_SECONDS = 0.1  # after which one waits for something itself, and the next need not


class Worker:
    """`begin` it where other workers and the database are to hear of it; `drain` it in the end."""

    def __init__(self, bus: Bus, heartbeat: Beating) -> None:
        self.id = bus.worker
        self.client = UpstreamClient(usage_seconds=settings.CHATAPP_USAGE_SECONDS)
        self.catalogue = Catalogue(self.client, keep_prices)
        self.viewers = Viewers()
        self.replies = Replies(heartbeat)
        self.temporaries = Temporaries(self.id, self.conversation_changed)
        self.titles = Titles(self.id, self.client, self._runs_in, self.conversation_changed)
        self.cluster = Cluster(bus, self.viewers)
        self.revocation = Revocation(self.viewers, self.replies)
        self.changes = Changes(self.viewers, self.replies)
        self.hearing = Hearing(
            self.viewers, self.replies, self.cluster, self.revocation, self.changes
        )
        self.housekeeping = Housekeeping(self.conversation_changed)
        self.draining = Draining(self.viewers, self.replies, bus)
        self.indexing = Indexing()
        an_hour = settings.CHATAPP_STORED_BYTES_PER_PERSON / STORED_HOURS
        self.stored_bytes = Allowances(partial(Allowance, an_hour / 3600, an_hour))
        self.one_fork_at_a_time = OneAtATime()
        self.one_prompt_at_a_time = OneAtATime()
        self.few_turns_at_a_time = FewAtATime(TURNS_AT_ONCE, TURN_SECONDS)
        self._heartbeat = heartbeat
        self._journal: Journal | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # there is one when somebody comes
        self._unsupported = Unsupported()
        self._writing = Tasks()
        self._upkeep = Tasks()

    def begin(self) -> None:
        """Is a worker of the installation from now on: seen by others, and heard by them."""
        self._loop = asyncio.get_running_loop()
        self._journal = Journal(self.id)
        self._upkeep.start(self.revocation.run())
        self._upkeep.start(keep_up(self.temporaries.sweep, complete_ledger, release_holds))
        self._upkeep.start(self.housekeeping.run())
        self._upkeep.start(self.hearing.see_all(self._heartbeat))
        for company in (self.hearing.act_on_events(), self.cluster.run()):
            self._upkeep.start(company).add_done_callback(_log_failure)

    @property
    def database_answers(self) -> bool:
        """Whether the database could be reached about a second ago."""
        return self._heartbeat.database_answers

    def start(self, turn: Turn, viewer: Viewer) -> None:
        """Streams its replies; `viewer` and those that show them wait for each."""
        unended = {reply.pk for reply in turn.replies}
        for one in (turn, *turn.others):
            self._begin(one, viewer, unended)
        self._tell_of_turn(turn.reply)
        self.indexing.look()

    def _begin(self, turn: Turn, viewer: Viewer, unended: set[UUID]) -> None:
        showing = self.viewers.showing(turn.conversation.pk)
        generation = Generation(
            turn,
            self.client,
            self.replies.pace,
            self._unsupported,
            showing,
            self._journal.open(turn.reply.pk) if self._journal else Segment.off(),
            unended,
            viewer.session_key,
        )
        for one in {viewer, *showing}:
            generation.audience.join(one)
        self.replies.add(generation)
        self._writing.start(self._run(generation))

    async def until_saved(self) -> None:
        """Waits for the end of all that is being written."""
        await self._writing.until_done()

    async def welcome(self, viewer: Viewer) -> None:
        self._loop = asyncio.get_running_loop()
        metrics.viewers.inc()
        self.viewers.add(viewer)
        await self.cluster.bus.subscribe(viewer.user_id)
        if self.draining.sends_viewers_away:  # since it was let in
            self.draining.send_away(viewer)

    def show(self, viewer: Viewer, conversation: UUID | None) -> None:
        """`viewer` shows this conversation now, and waits for the replies that run in it."""
        self.viewers.show(viewer, conversation)
        for generation in self.replies.of(conversation):
            generation.audience.join(viewer)

    def open_temporary(self, viewer: Viewer, conversation: UUID) -> None:
        """`viewer` shows this one, which is gone with the last tab that has it open."""
        self.temporaries.open(conversation, viewer if viewer in self.viewers else None)

    def leave(self, viewer: Viewer, grace: float) -> None:
        """`viewer` is gone: replies that only it waited for end in `grace` seconds."""
        if viewer in self.viewers:
            self.viewers.remove(viewer)
            metrics.viewers.dec()
            self.cluster.bus.unsubscribe(viewer.user_id)
        for generation in self.replies:
            generation.audience.leave(viewer, grace)
        self.cluster.remotes.leave(viewer, grace)
        self.temporaries.leave(viewer, grace)

    def look_again_at(self, people: Iterable[int] | None) -> None:
        """Something has changed about these people, or about anybody: told from any thread."""
        self._tell_all(PeopleChanged(None if people is None else frozenset(people)))

    def conversation_changed(self, user: int, conversation: UUID) -> None:
        """A person renamed or deleted a conversation of theirs: told from any thread."""
        self._tell_all(ConversationChanged(user, conversation))

    def has_to_delete(self) -> None:
        """Something is to be deleted that nobody finds any more: told from any thread."""
        if self._loop:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.housekeeping.ask, context=Context())

    def list_changed(self, user: int) -> None:
        """Conversations of a person stand elsewhere in their lists now, or nowhere: told from any
        thread."""
        self._tell_all(ListChanged(user))

    def policy_changed(self) -> None:
        """What reviewers may read of what is begun now was set: told from any thread."""
        self._tell_all(PolicyChanged())

    def thread_changed(self, user: int, conversation: UUID) -> None:
        """A person deleted some of what was said in a conversation of theirs, or brought it back:
        told on the event loop."""
        self.cluster.bus.post_to_user(user, ThreadChanged(conversation))
        self.hearing.redraw(conversation)

    def _tell_all(self, changed: Change) -> None:
        """Acts on it, and lets every other worker do so."""

        self.indexing.look()

        def tell() -> None:
            self.cluster.bus.post_to_all(changed)
            self.hearing.act_on_change(changed)

        if self._loop:
            with suppress(RuntimeError):  # it is closed: nobody has a tab here any more
                # Not in the context of a request, whose thread works for that one alone.
                self._loop.call_soon_threadsafe(tell, context=Context())

    async def drain(self, seconds: float, *, alone: bool = True) -> None:
        """Takes no more prompts, gives what runs this long to end, saves the rest, and closes.

        Not `alone` where the other workers stop, too.
        """
        await self.draining.run(seconds, self._writing, alone=alone)
        await self.titles.end()
        await self.temporaries.close()
        self.revocation.close()
        await self.cluster.bus.until_sent()
        await self._upkeep.end()
        await asyncio.to_thread(self.indexing.stop)
        await asyncio.to_thread(self._heartbeat.stop)
        await self.catalogue.aclose()
        await self.client.aclose()
        await close_shared_toolbox()
        if self._journal:
            self._journal.close()

    async def _run(self, generation: Generation) -> None:
        try:
            await self.replies.run(generation)
        finally:
            self.cluster.followers.end(generation.message.pk)
            if not self.draining.has_begun:
                self.titles.reply_ended(generation.prompt, generation.message)
            self.indexing.look()
            await self._mark_unseen(generation)
            if self._heartbeat.was_given_up(since=generation.began_at):
                # Other tabs may show that it was interrupted; what is saved now is the truth.
                self._tell_of_turn(generation.message)

    def _runs_in(self, conversation: UUID) -> bool:
        return conversation in self.replies.conversations()

    async def _mark_unseen(self, generation: Generation) -> None:
        """Lets the list say that a reply ended while no tab showed it.

        A tab of another worker that shows it says so in turn (`Changes.look_at_list`).
        """
        conversation = generation.message.conversation
        if self.viewers.showing(conversation.pk):
            return
        try:
            await stored(conversation.mark_unread)
        except Error as error:
            logger.info("A reply that nobody saw is not marked: %s", error)
        else:
            self.list_changed(conversation.user_id)

    def _tell_of_turn(self, message: Message) -> None:
        conversation = message.conversation
        self.cluster.bus.post_to_user(conversation.user_id, TurnBegan(conversation.pk))


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        logger.critical("Other processes are not heard any more; restart this one", exc_info=error)
