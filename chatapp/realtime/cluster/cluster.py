"""This worker's part in the cluster: remote replies watched here, and followers of its own replies.

The database is the source of truth, queried about once a second for the replies streaming in the
conversations shown here and for the living workers. Messages only make it faster. So three kinds
of loss are covered: a lost message (frames are numbered, see `remote`), a dead worker (the database
removes it), and an outage of the layer (leases are extended; the database still shows endings).

What the cluster cannot do itself it yields as events for the worker.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import dataclass
from typing import assert_never
from uuid import UUID

from chatapp.realtime.cluster.bus import Bus, BusRecovered, MessageReceived
from chatapp.realtime.cluster.followers import RENEW_SECONDS, Followers
from chatapp.realtime.cluster.heartbeat import HeartbeatReport, StreamingReply
from chatapp.realtime.cluster.messages import (
    Change,
    Command,
    ConversationChanged,
    Decide,
    DraftChanged,
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
    SharesChanged,
    Snapshot,
    Stop,
    StopSummary,
    SummaryEnded,
    SummaryMessage,
    SummaryProgress,
    ThreadChanged,
    TurnBegan,
    Watch,
)
from chatapp.realtime.cluster.remotes import Remotes
from chatapp.realtime.viewers import Viewer, Viewers

logger = logging.getLogger(__name__)

SILENCE_CHECK_SECONDS = 0.2  # between checks whether the owners are still heard from


@dataclass(frozen=True)
class SnapshotRequested:
    """`worker` asks for a snapshot of a reply, which may have ended by now."""

    worker: UUID
    reply: UUID
    conversation: UUID
    waits: bool = True
    is_shared: bool = False


@dataclass(frozen=True)
class StaleViewers:
    """These viewers do not show what the database now has in the conversation."""

    conversation: UUID
    viewers: frozenset[Viewer]
    redraw: bool = False  # anything they show may have changed: redraw it all


Event = SnapshotRequested | Command | StaleViewers | Change | SummaryMessage


class Cluster:
    """Run `run` in one task and handle `events` in another."""

    def __init__(self, bus: Bus, viewers: Viewers) -> None:
        self.bus = bus
        self.remotes = Remotes(bus, viewers)
        self.followers = Followers(bus)
        self._viewers = viewers

    def conversations(self) -> set[UUID]:
        """Return the conversations to query the database about. Thread-safe."""
        return self._viewers.conversations() | self.remotes.conversations()

    async def run(self) -> None:
        """Run the bus and renew leases until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.bus.run())
            tasks.create_task(self._renew())
            tasks.create_task(self._notice_silence())

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the events that result from received messages.

        No message is read while the caller is handling an event.
        """
        async with aclosing(self.bus.receive_messages()) as received:
            async for arrival in received:
                match arrival:
                    case BusRecovered():
                        yield PeopleChanged(None)
                    case MessageReceived(sender, message) if sender != self.bus.worker:
                        # Messages to all workers also arrive at their sender, hence the guard.
                        for event in await self._apply_or_log(sender, message):
                            yield event

    def apply_report(self, report: HeartbeatReport, written_here: Collection[UUID]) -> list[Event]:
        """Compare what viewers show with a heartbeat's report; return the events that follow.

        This worker runs replies in the conversations `written_here`, whatever the report says.
        """
        self.followers.remove_dead_workers(report.alive)
        ended = self.remotes.remove_ended(
            {streaming_reply.reply for streaming_reply in report.streaming}
        )
        events = [event for conversation in ended for event in self._stale(conversation)]
        unwatched = {
            streaming_reply.conversation
            for streaming_reply in report.streaming
            if streaming_reply.owner not in (None, self.bus.worker)
            and streaming_reply.conversation not in written_here
            and not self._is_awaited_by_all(streaming_reply)
        }
        return events + [event for conversation in unwatched for event in self._stale(conversation)]

    async def apply_message(self, sender: UUID, message: Message) -> list[Event]:
        """Apply a message from another worker; return the events that follow."""
        match message:
            case Watch(reply, conversation, waits, is_shared):
                return [SnapshotRequested(sender, reply, conversation, waits, is_shared)]
            case Stop() | Decide():
                return [message]
            case (
                PeopleChanged()
                | ConversationChanged()
                | ListChanged()
                | DraftChanged()
                | PolicyChanged()
                | SharesChanged()
                | SummaryProgress()
                | SummaryEnded()
                | StopSummary()
            ):
                return [message]
            case TurnBegan(conversation):
                return self._stale(conversation)
            case ThreadChanged(conversation):
                return self._stale(conversation, redraw=True)
            case Frame() | Snapshot() | Ended() | Gone():
                return await self._apply_remote_message(message)
            case Renew(replies):
                self.followers.renew(sender, replies)
            case Leave(reply, grace):
                self.followers.leave(sender, reply, grace)
            case Running(sequences):
                for reply, sequence in sequences.items():
                    if remote := self.remotes.get(reply):
                        remote.apply_sequence(sequence)
            case Echo():
                pass  # handled by the bus
            case _:
                assert_never(message)
        return []

    async def _apply_remote_message(self, message: Frame | Snapshot | Ended | Gone) -> list[Event]:
        remote = self.remotes.get(message.reply)
        if remote is None:
            return []  # nobody here watches it any more
        match message:
            case Frame(_, sequence, html):
                await remote.apply_frame(sequence, html)
            case Snapshot(_, sequence, html, shared):
                await remote.apply_snapshot(sequence, html, shared)
            case Ended(_, sequence):
                self.remotes.remove(remote)
                behind = remote.mark_ended(sequence)
                if behind or remote.has_followers:
                    return [StaleViewers(remote.conversation, frozenset(behind))]
            case Gone():
                remote.is_over = True  # according to its owner; `apply_report` asks the database
            case _:
                assert_never(message)
        return []

    async def _apply_or_log(self, sender: UUID, message: Message) -> list[Event]:
        try:
            return await self.apply_message(sender, message)
        except Exception:  # a failing message must not hold up the next
            logger.exception("Could not handle a message: %s", type(message).__name__)
            return []

    async def _renew(self) -> None:
        """Renew the leases on remote replies, and end expired leases on this worker's replies."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                self.remotes.renew()
                self.followers.end_leases()
            except Exception:  # try again: other replies depend on these leases
                logger.exception("Could not renew leases")

    async def _notice_silence(self) -> None:
        while True:
            await asyncio.sleep(SILENCE_CHECK_SECONDS)
            await self.remotes.notice_silence()

    def _is_awaited_by_all(self, streaming: StreamingReply) -> bool:
        """Whether every viewer showing the conversation watches this reply, not just another.

        The same goes for its followers.
        """
        remote = self.remotes.get(streaming.reply)
        showing = self._viewers.showing(streaming.conversation)
        are_watching = all(remote and remote.is_awaited_by(viewer) for viewer in showing)
        return are_watching and all(
            remote and remote.is_followed_by(follower) for follower in showing.followers
        )

    def _stale(self, conversation: UUID, *, redraw: bool = False) -> list[Event]:
        """Return a `StaleViewers` event for the viewers that show it, or who follow it, if any."""
        showing = self._viewers.showing(conversation)
        is_shown = showing or showing.followers
        return [StaleViewers(conversation, frozenset(showing), redraw)] if is_shown else []
