"""What this worker does about what it hears: of other workers, and of the database at each beat."""

import logging
from collections.abc import Collection, Coroutine
from contextlib import aclosing
from typing import assert_never
from uuid import UUID

from django.db import Error

from chatapp.cluster import Beating, Cluster, Event, Sighting, SnapshotAsked, Stale
from chatapp.cluster.messages import (
    Change,
    ConversationChanged,
    Decide,
    Gone,
    ListChanged,
    PeopleChanged,
    PolicyChanged,
    Stop,
    TurnBegan,
)
from chatapp.generation import stored
from chatapp.models import Message
from chatapp.viewers import Viewer, Viewers
from chatapp.worker.changes import Changes
from chatapp.worker.replies import Replies
from chatapp.worker.revocation import Revocation
from chatapp.worker.tasks import Tasks

logger = logging.getLogger(__name__)


class Hearing:
    """Run `act_on_events` and `see_all` in a task each, until cancelled."""

    def __init__(
        self,
        viewers: Viewers,
        replies: Replies,
        cluster: Cluster,
        revocation: Revocation,
        changes: Changes,
    ) -> None:
        self._viewers = viewers
        self._replies = replies
        self._cluster = cluster
        self._revocation = revocation
        self._changes = changes
        self._tasks = Tasks()

    async def act_on_events(self) -> None:
        async with aclosing(self._cluster.events()) as events:
            async for event in events:
                await self._act_or_skip(event)

    async def see_all(self, heartbeat: Beating) -> None:
        async with aclosing(heartbeat.sightings(self._cluster)) as sightings:
            async for sighting in sightings:
                try:
                    await self.see(sighting)
                except Exception:  # the next one says the same, and more
                    logger.exception("What the database told could not be used")

    async def act(self, event: Event) -> None:
        match event:
            case SnapshotAsked():
                await self._answer(event)
            case Stop(reply, _, ending):
                if generation := self._replies.get(reply):
                    generation.stop(ending)
            case Decide(reply, _, round, call, allowed):
                if generation := self._replies.get(reply):
                    generation.decide(round, call, allowed)
            case Stale(conversation, viewers, anew):
                self._catch_up(conversation, viewers, anew=anew)
            case PeopleChanged() | ConversationChanged() | ListChanged() | PolicyChanged():
                self.act_on_change(event)
            case _:
                assert_never(event)

    def act_on_change(self, change: Change) -> None:
        """What was changed in the database, here or elsewhere, is looked at there."""
        match change:
            case PeopleChanged(people):
                self._revocation.look_again_at(people)
            case ConversationChanged(user, conversation):
                self._tasks.start(self._look_at(self._changes.look_at(user, conversation)))
            case ListChanged(user):
                self._tasks.start(self._look_at(self._changes.look_at_list(user)))
            case PolicyChanged():
                self._tasks.start(self._look_at(self._changes.look_at_policy()))
            case _:
                assert_never(change)

    def redraw(self, conversation: UUID) -> None:
        """Some of what was said there is gone, or is back."""
        self._catch_up(conversation, self._viewers.showing(conversation), anew=True)

    async def see(self, sighting: Sighting) -> None:
        for event in self._cluster.see(sighting, self._replies.conversations()):
            await self._act_or_skip(event)
        for one in sighting.completed:
            self._cluster.bus.post_to_user(one.user, TurnBegan(one.conversation))
            self._catch_up(one.conversation, self._viewers.showing(one.conversation))
        if lost := self._replies.lost(sighting.own):
            self._tasks.start(self._interrupt(lost))
        if unstored := self._replies.unstored(sighting.own):
            self._tasks.start(self._end_deleted(unstored))

    async def _act_or_skip(self, event: Event) -> None:
        try:
            await self.act(event)
        except Exception:  # whatever is wrong with one, the next is acted on
            logger.exception("Nothing could be done about: %s", type(event).__name__)

    async def _answer(self, asked: SnapshotAsked) -> None:
        generation = self._replies.get(asked.reply)
        if generation is None:
            self._cluster.bus.post(asked.worker, Gone(asked.reply))
            return
        followers = self._cluster.followers
        follower = followers.follow(asked.worker, asked.reply, generation.audience)
        await generation.flush()
        follower.post_snapshot(generation.snapshot())

    async def _look_at(self, looking: Coroutine[None, None, None]) -> None:
        try:
            await looking
        except Error as error:
            logger.warning("A changed conversation is shown as it was: %s", error)

    async def _end_deleted(self, replies: frozenset[UUID]) -> None:
        try:
            await self._changes.end_deleted(replies)
        except Error as error:
            logger.info("Replies are looked at when the database is back: %s", error)

    async def _interrupt(self, replies: frozenset[UUID]) -> None:
        """Ends replies that were stored and never begun, or that ended and could not be saved."""
        lost = Message.objects.streaming().filter(pk__in=replies)
        try:
            conversations = [one async for one in lost.values_list("conversation_id", flat=True)]
            await stored(lost.interrupt)
        except Error as error:
            logger.warning("Replies that nobody writes could not be interrupted yet: %s", error)
            return
        logger.error("Replies that nobody was writing were interrupted: %d", len(conversations))
        for conversation in set(conversations):
            self._catch_up(conversation, self._viewers.showing(conversation))

    def _catch_up(
        self, conversation: UUID, viewers: Collection[Viewer], *, anew: bool = False
    ) -> None:
        for viewer in list(viewers):
            self._tasks.start(viewer.catch_up(conversation, anew=anew))
