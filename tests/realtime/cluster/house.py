"""The clusters of a few workers over one fake network and one fake database.

A reply's text is words: a frame holds one, a snapshot all of them, each with the reply's id.
Nothing waits: time passes, messages are delivered and heartbeats happen when the test says so.
"""

import math
from dataclasses import dataclass, field
from typing import assert_never
from uuid import UUID, uuid4

from chatapp.realtime.cluster import (
    Cluster,
    Event,
    HeartbeatReport,
    SnapshotRequested,
    StaleViewers,
    StreamingReply,
)
from chatapp.realtime.cluster.messages import (
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
from chatapp.realtime.viewers import Audience, Viewers
from tests.realtime.cluster.network import Network
from tests.realtime.viewers.doubles import Recorder

ALICE = 1


class Reader(Recorder):
    """A tab that shows the newest reply of a conversation."""

    def __init__(self, member: "Member", conversation: UUID) -> None:
        super().__init__(ALICE)
        self._member = member
        self._conversation = conversation
        self.reply: UUID | None = None
        self.text = ""
        self.shows_silence = False

    async def show(self, frame: str) -> None:
        await super().show(frame)
        reply, kind, text = frame[:32], frame[32:33], frame[33:]
        if kind not in ("+", "="):
            self.shows_silence = True
        elif self.reply and reply == self.reply.hex:  # other replies are not on the page
            self.text = self.text + text if kind == "+" else text
            self.shows_silence = self.shows_silence and kind == "+"

    async def catch_up(self, conversation: UUID, *, redraw: bool = False) -> None:
        """Draw what the database has, and watch the reply if it streams in another worker."""
        await super().catch_up(conversation, redraw=redraw)
        self._member.draw_conversation(self, conversation)

    def draw(self, reply: UUID | None, text: str) -> None:
        self.reply, self.text, self.shows_silence = reply, text, False


@dataclass
class Reply:
    """A reply as its owner has it."""

    conversation: UUID
    pk: UUID = field(default_factory=uuid4)
    text: str = ""
    decisions: list[bool] = field(default_factory=list)


class Database:
    def __init__(self) -> None:
        self.streaming: dict[UUID, tuple[Reply, UUID]] = {}  # by conversation, with the owner
        self.saved: dict[UUID, Reply] = {}
        self.alive: set[UUID] = set()

    def report(self) -> HeartbeatReport:
        streaming = [
            StreamingReply(conversation, reply.pk, owner)
            for conversation, (reply, owner) in self.streaming.items()
        ]
        return HeartbeatReport(frozenset(), frozenset(self.alive), tuple(streaming))


class Member:
    """A minimal worker around a cluster."""

    def __init__(self, network: Network, database: Database) -> None:
        self.bus = network.bus()
        self.viewers = Viewers()
        self.cluster = Cluster(self.bus, self.viewers)
        self.looked_at: list[frozenset[int] | None] = []
        self.audiences: dict[UUID, Audience] = {}
        self._replies: dict[UUID, Reply] = {}
        self._database = database
        database.alive.add(self.bus.worker)

    def begin(self, conversation: UUID) -> Reply:
        reply = self._replies[conversation] = Reply(conversation)
        self.audiences[reply.pk] = Audience(self.viewers.showing(conversation))
        for viewer in self.viewers.showing(conversation):
            assert isinstance(viewer, Reader)
            self.draw_conversation(viewer, conversation)
        self._database.streaming[conversation] = reply, self.bus.worker
        self.bus.post_to_user(ALICE, TurnBegan(conversation))
        return reply

    async def write(self, reply: Reply, word: str) -> None:
        reply.text += word
        await self.audiences[reply.pk].show(f"{reply.pk.hex}+{word}")

    def end(self, reply: Reply) -> None:
        """Save the reply and tell its followers."""
        del self._replies[reply.conversation], self._database.streaming[reply.conversation]
        self._database.saved[reply.conversation] = reply
        self.cluster.followers.end(reply.pk)

    async def open(self, conversation: UUID) -> Reader:
        reader = Reader(self, conversation)
        self.viewers.add(reader)
        self.viewers.show(reader, conversation)
        await self.bus.subscribe(ALICE)
        self.draw_conversation(reader, conversation)
        return reader

    def close(self, reader: Reader, grace: float = 0.0) -> None:
        self.viewers.remove(reader)
        self.bus.unsubscribe(ALICE)
        for audience in self.audiences.values():
            audience.leave(reader, grace)
        self.cluster.remotes.leave(reader, grace)

    def draw_conversation(self, reader: Reader, conversation: UUID) -> None:
        """Draw the conversation as a page does that reads the database."""
        if mine := self._replies.get(conversation):
            self.audiences[mine.pk].join(reader)
            reader.draw(mine.pk, mine.text)
        elif streaming := self._database.streaming.get(conversation):
            reply, owner = streaming
            reader.draw(reply.pk, "")
            self.cluster.remotes.forget_finished(reader, conversation, {reply.pk})
            self.cluster.remotes.watch(reader, conversation, reply.pk, owner)
        else:
            saved = self._database.saved.get(conversation)
            self.cluster.remotes.forget_finished(reader, conversation, ())
            reader.draw(saved.pk if saved else None, saved.text if saved else "")

    async def act(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case SnapshotRequested():
                    self._answer(event)
                case Stop(_, conversation, _):
                    if reply := self._replies.get(conversation):
                        self.end(reply)
                case Decide(_, conversation, _, _, allowed):
                    if reply := self._replies.get(conversation):
                        reply.decisions.append(allowed)
                case StaleViewers(conversation, viewers):
                    for viewer in viewers:
                        await viewer.catch_up(conversation)
                case PeopleChanged(people):
                    self.looked_at.append(people)
                case (
                    ConversationChanged()
                    | ListChanged()
                    | DraftChanged()
                    | PolicyChanged()
                    | SharesChanged()
                ):
                    pass
                case SummaryProgress() | SummaryEnded() | StopSummary():
                    pass
                case _:
                    assert_never(event)

    async def beat(self) -> None:
        report = self._database.report()
        await self.act(self.cluster.apply_report(report, list(self._replies)))

    async def keep_up(self) -> None:
        """Do what is due about once a second."""
        self.cluster.remotes.renew()
        self.cluster.followers.end_leases()
        await self.cluster.remotes.notice_silence()

    def _answer(self, request: SnapshotRequested) -> None:
        reply = self._replies.get(request.conversation)
        if reply is None or reply.pk != request.reply:
            self.bus.post(request.worker, Gone(request.reply))
            return
        audience = self.audiences[reply.pk]
        follower = self.cluster.followers.follow(request.worker, reply.pk, audience)
        follower.post_snapshot(f"{reply.pk.hex}={reply.text}")


class House:
    def __init__(self, workers: int) -> None:
        self.network = Network()
        self.database = Database()
        self.members = [Member(self.network, self.database) for _ in range(workers)]
        self._stopped: set[UUID] = set()

    def kill(self, member: Member) -> None:
        """Let a worker die; its replies are saved as the others would save them."""
        self.stop(member)
        self.members.remove(member)
        self.database.alive.discard(member.bus.worker)
        for conversation, (reply, owner) in list(self.database.streaming.items()):
            if owner == member.bus.worker:
                del self.database.streaming[conversation]
                self.database.saved[conversation] = reply

    def stop(self, member: Member) -> None:
        """Let a worker hang: messages to it wait."""
        self._stopped.add(member.bus.worker)

    def wake(self, member: Member) -> None:
        self._stopped.discard(member.bus.worker)

    async def deliver(self, limit: float = math.inf) -> None:
        """Deliver the messages in transit and the answers to them, at most `limit`."""
        waiting, undelivered = self.network.on_their_way, []
        while waiting and limit > 0:
            posted = waiting.popleft()
            if posted.to in self._stopped:
                undelivered.append(posted)
                continue
            for member in self.members:
                if member.bus.worker == posted.to != posted.sender:
                    await member.act(
                        await member.cluster.apply_message(posted.sender, posted.message)
                    )
                    limit -= 1
        waiting.extendleft(reversed(undelivered))

    async def pass_seconds(self, seconds: int) -> None:
        """Let time pass and deliver everything that is posted meanwhile."""
        for _ in range(seconds):
            self.network.clock += 1.0
            for member in self._awake():
                await member.keep_up()
            await self.deliver()
            for member in self._awake():
                await member.beat()
            await self.deliver()

    def _awake(self) -> list[Member]:
        return [member for member in self.members if member.bus.worker not in self._stopped]
