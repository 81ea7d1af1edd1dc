"""This worker among others: their replies that its viewers await, and its own that they show.

The database is the truth, looked at about once a second: what streams in the conversations that are
shown here, and who lives. Messages make it quick. Three kinds of loss are met so: a message that
gets lost (frames are numbered, see `remote`), a worker that dies (the database forgets it), and the
layer itself being away (leases wait, the database still tells of what has ended).

What the cluster can't do by itself comes as events, which the worker takes apart.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import dataclass
from typing import assert_never
from uuid import UUID

from chatapp.cluster.bus import Bus, Heard, HeardAgain
from chatapp.cluster.followers import RENEW_SECONDS, Followers
from chatapp.cluster.heartbeat import Sighting, Streaming
from chatapp.cluster.messages import (
    Change,
    Command,
    ConversationChanged,
    Decide,
    Echo,
    Ended,
    Frame,
    Gone,
    Leave,
    ListChanged,
    Message,
    PeopleChanged,
    PolicyChanged,
    Renew,
    Running,
    Snapshot,
    Stop,
    ThreadChanged,
    TurnBegan,
    Watch,
)
from chatapp.cluster.remotes import Remotes
from chatapp.viewers import Viewer, Viewers

logger = logging.getLogger(__name__)

LISTEN_SECONDS = 0.2  # between looks at whether others are still heard


@dataclass(frozen=True)
class SnapshotAsked:
    """`worker` wants to follow a reply that runs in the conversation, or did."""

    worker: UUID
    reply: UUID
    conversation: UUID


@dataclass(frozen=True)
class Stale:
    """The database has something new in the conversation, which these viewers do not show."""

    conversation: UUID
    viewers: frozenset[Viewer]
    anew: bool = False  # all that they show of it may be other than it was


Event = SnapshotAsked | Command | Stale | Change


class Cluster:
    """`run` it in a task, and act on its `events` in another."""

    def __init__(self, bus: Bus, viewers: Viewers) -> None:
        self.bus = bus
        self.remotes = Remotes(bus, viewers)
        self.followers = Followers(bus)
        self._viewers = viewers

    def conversations(self) -> set[UUID]:
        """What the database is to be asked about; may be asked from any thread."""
        return self._viewers.conversations() | self.remotes.conversations()

    async def run(self) -> None:
        """Is heard, and keeps leases, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.bus.run())
            tasks.create_task(self._renew())
            tasks.create_task(self._notice_silence())

    async def events(self) -> AsyncGenerator[Event, None]:
        """Hears others. Whoever is slow to act on an event reads no messages meanwhile."""
        async with aclosing(self.bus.received()) as received:
            async for one in received:
                match one:
                    case HeardAgain():
                        yield PeopleChanged(None)
                    case Heard(sender, message) if sender != self.bus.worker:
                        # What is told to everybody comes here, too.
                        for event in await self._take_or_skip(sender, message):
                            yield event

    def see(self, sighting: Sighting, written_here: Collection[UUID]) -> list[Event]:
        """Compares what viewers show with what the database says.

        In the conversations `written_here` replies of this worker run, whatever it says.
        """
        self.followers.keep(sighting.alive)
        ended = self.remotes.drop_ended({one.reply for one in sighting.streaming})
        events = [event for conversation in ended for event in self._stale(conversation)]
        unseen = {
            one.conversation
            for one in sighting.streaming
            if one.owner not in (None, self.bus.worker)
            and one.conversation not in written_here
            and not self._is_awaited_by_all(one)
        }
        return events + [event for conversation in unseen for event in self._stale(conversation)]

    async def take(self, sender: UUID, message: Message) -> list[Event]:
        """What another worker posted."""
        match message:
            case Watch(reply, conversation):
                return [SnapshotAsked(sender, reply, conversation)]
            case Stop() | Decide():
                return [message]
            case PeopleChanged() | ConversationChanged() | ListChanged() | PolicyChanged():
                return [message]
            case TurnBegan(conversation):
                return self._stale(conversation)
            case ThreadChanged(conversation):
                return self._stale(conversation, anew=True)
            case Frame() | Snapshot() | Ended() | Gone():
                return await self._take_of_remote(message)
            case Renew(replies):
                self.followers.renew(sender, replies)
            case Leave(reply, grace):
                self.followers.leave(sender, reply, grace)
            case Running(sequences):
                for reply, sequence in sequences.items():
                    if remote := self.remotes.get(reply):
                        remote.take_sequence(sequence)
            case Echo():
                pass  # the bus's own
            case _:
                assert_never(message)
        return []

    async def _take_of_remote(self, message: Frame | Snapshot | Ended | Gone) -> list[Event]:
        remote = self.remotes.get(message.reply)
        if remote is None:
            return []  # nobody here awaits it any more
        match message:
            case Frame(_, sequence, html):
                await remote.take_frame(sequence, html)
            case Snapshot(_, sequence, html):
                await remote.take_snapshot(sequence, html)
            case Ended(_, sequence):
                self.remotes.drop(remote)
                if behind := remote.take_ended(sequence):
                    return [Stale(remote.conversation, frozenset(behind))]
            case Gone():
                remote.is_over = True  # as far as its owner knows; `see` asks the database
            case _:
                assert_never(message)
        return []

    async def _take_or_skip(self, sender: UUID, message: Message) -> list[Event]:
        try:
            return await self.take(sender, message)
        except Exception:  # whatever is wrong with one message, the next is read
            logger.exception("A message could not be used: %s", type(message).__name__)
            return []

    async def _renew(self) -> None:
        """Renews leases on replies elsewhere, ends those on ours that were not renewed."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                self.remotes.renew()
                self.followers.end_leases()
            except Exception:  # whatever is wrong with one reply, the others stay open
                logger.exception("Leases could not be renewed")

    async def _notice_silence(self) -> None:
        while True:
            await asyncio.sleep(LISTEN_SECONDS)
            await self.remotes.notice_silence()

    def _is_awaited_by_all(self, streaming: Streaming) -> bool:
        """Whether every viewer that shows the conversation awaits what is written in it elsewhere,
        and not only what was written before."""
        remote = self.remotes.get(streaming.reply)
        showing = self._viewers.showing(streaming.conversation)
        return all(remote and remote.is_awaited_by(viewer) for viewer in showing)

    def _stale(self, conversation: UUID, *, anew: bool = False) -> list[Event]:
        """Of all that show the conversation, where there are any."""
        showing = self._viewers.showing(conversation)
        return [Stale(conversation, frozenset(showing), anew)] if showing else []
