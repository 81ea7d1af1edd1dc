"""One worker: its parts, and what its viewers ask of it."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from contextvars import Context
from uuid import UUID

from django.conf import settings

from chatapp import metrics
from chatapp.catalogue import Catalogue
from chatapp.cluster import Beating, Bus, Cluster
from chatapp.cluster.messages import ConversationChanged, PeopleChanged, TurnBegan
from chatapp.fairness.allowance import Allowances
from chatapp.fairness.turns import OneAtATime
from chatapp.generation import Generation, Toolless
from chatapp.journal import Journal, Segment
from chatapp.models import Message, Turn
from chatapp.tools import close_shared_toolbox
from chatapp.upstream.client import UpstreamClient
from chatapp.viewers import Viewer, Viewers
from chatapp.worker.changes import Changes
from chatapp.worker.draining import Draining
from chatapp.worker.hearing import Hearing
from chatapp.worker.replies import Replies
from chatapp.worker.revocation import Revocation
from chatapp.worker.tasks import Tasks

logger = logging.getLogger(__name__)

VIEWERS_AT_WORK = 4  # that one person may use with all haste at once


class Worker:
    """`begin` it where other workers and the database are to hear of it; `drain` it in the end."""

    def __init__(self, bus: Bus, heartbeat: Beating) -> None:
        self.id = bus.worker
        self.client = UpstreamClient(usage_seconds=settings.CHATAPP_USAGE_SECONDS)
        self.catalogue = Catalogue(self.client)
        self.viewers = Viewers()
        self.replies = Replies(heartbeat)
        self.cluster = Cluster(bus, self.viewers)
        self.revocation = Revocation(self.viewers, self.replies)
        self.changes = Changes(self.viewers, self.replies)
        self.hearing = Hearing(
            self.viewers, self.replies, self.cluster, self.revocation, self.changes
        )
        self.draining = Draining(self.viewers, self.replies, bus)
        actions = settings.CHATAPP_ACTIONS_PER_SECOND
        # A person may act in several tabs at once, and after a restart all of them come back.
        tabs = settings.CHATAPP_TABS_PER_PERSON
        self.allowances = Allowances(VIEWERS_AT_WORK * actions, 2 * tabs)
        self.one_prompt_at_a_time = OneAtATime()
        self._heartbeat = heartbeat
        self._journal: Journal | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # there is one when somebody comes
        self._toolless: Toolless = set()
        self._writing = Tasks()
        self._upkeep = Tasks()

    def begin(self) -> None:
        """Is a worker of the installation from now on: seen by others, and heard by them."""
        self._loop = asyncio.get_running_loop()
        self._journal = Journal(self.id)
        self._upkeep.start(self.revocation.run())
        self._upkeep.start(self.hearing.see_all(self._heartbeat))
        for company in (self.hearing.act_on_events(), self.cluster.run()):
            self._upkeep.start(company).add_done_callback(_log_failure)

    @property
    def database_answers(self) -> bool:
        """Whether the database could be reached about a second ago."""
        return self._heartbeat.database_answers

    def start(self, turn: Turn, viewer: Viewer) -> Generation:
        """Streams its reply; `viewer` and those that show it wait for it."""
        showing = self.viewers.showing(turn.conversation.pk)
        generation = Generation(
            turn,
            self.client,
            self.replies.pace,
            self._toolless,
            showing,
            self._journal.open(turn.reply.pk) if self._journal else Segment.off(),
        )
        for one in {viewer, *showing}:
            generation.audience.join(one)
        self.replies.add(generation)
        self._writing.start(self._run(generation))
        self._tell_of_turn(turn.reply)
        return generation

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
        """`viewer` shows this conversation now, and waits for the reply that runs in it."""
        self.viewers.show(viewer, conversation)
        if generation := self.replies.get(conversation):
            generation.audience.join(viewer)

    def leave(self, viewer: Viewer, grace: float) -> None:
        """`viewer` is gone: replies that only it waited for end in `grace` seconds."""
        if viewer in self.viewers:
            self.viewers.remove(viewer)
            metrics.viewers.dec()
            self.cluster.bus.unsubscribe(viewer.user_id)
        for generation in self.replies:
            generation.audience.leave(viewer, grace)
        self.cluster.remotes.leave(viewer, grace)

    def look_again_at(self, people: Iterable[int] | None) -> None:
        """Something has changed about these people, or about anybody: told from any thread."""
        self._tell_all(PeopleChanged(None if people is None else frozenset(people)))

    def conversation_changed(self, user: int, conversation: UUID) -> None:
        """A person renamed or deleted a conversation of theirs: told from any thread."""
        self._tell_all(ConversationChanged(user, conversation))

    def _tell_all(self, changed: PeopleChanged | ConversationChanged) -> None:
        """Acts on it, and lets every other worker do so."""

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
        self.revocation.close()
        await self.cluster.bus.until_sent()
        await self._upkeep.end()
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
            if self._heartbeat.was_given_up(since=generation.began_at):
                # Other tabs may show that it was interrupted; what is saved now is the truth.
                self._tell_of_turn(generation.message)

    def _tell_of_turn(self, message: Message) -> None:
        conversation = message.conversation
        self.cluster.bus.post_to_user(conversation.user_id, TurnBegan(conversation.pk))


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        logger.critical("Other processes are not heard any more; restart this one", exc_info=error)
