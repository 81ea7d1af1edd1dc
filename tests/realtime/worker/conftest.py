"""Two workers that share a database and an upstream, connected by an in-memory network."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from pytest_django import Settings

from chatapp.models import Message, ModelChoice, Prompt, Turn, Upstream, User
from chatapp.realtime.cluster import HeartbeatReport, HeartbeatSource
from chatapp.realtime.cluster.heartbeat import ShownConversations
from chatapp.realtime.worker import Worker
from tests.realtime.cluster.network import Network
from tests.realtime.viewers.doubles import Recorder


class Heart(HeartbeatSource):
    """A heartbeat that the test controls."""

    database_answers = True
    was_dead = False
    is_stopped = False

    def was_given_up(self, since: float) -> bool:
        return self.was_dead

    async def reports(self, source: ShownConversations) -> AsyncGenerator[HeartbeatReport, None]:
        yield HeartbeatReport(frozenset())

    def stop(self) -> None:
        self.is_stopped = True


class Reader(Recorder):
    """A viewer that also follows replies which another worker streams in its conversation."""

    def __init__(self, user: User, worker: Worker) -> None:
        super().__init__(user.pk)
        self._worker = worker

    async def catch_up(self, conversation: UUID, *, redraw: bool = False) -> None:
        await super().catch_up(conversation, redraw=redraw)
        async for reply in Message.objects.streaming().filter(conversation=conversation):
            if reply.streamed_by and reply.streamed_by != self._worker.id:
                remotes = self._worker.cluster.remotes
                remotes.watch(self, conversation, reply.pk, reply.streamed_by)

    @property
    def frames_text(self) -> str:
        return "".join(self.frames)


class Company:
    def __init__(self, alice: User, upstream: Upstream) -> None:
        self.alice = alice
        self.upstream = upstream
        self.network = Network()
        self.hearts = [Heart(), Heart()]
        self.workers = [Worker(self.network.bus(), heart) for heart in self.hearts]

    async def ask(self, worker: Worker) -> Message:
        """Store a prompt of Alice's and return its reply, to be streamed by this worker."""
        return (await self._turn(worker, "m")).reply

    async def begin(self, worker: Worker) -> tuple[Message, Reader]:
        """Start a reply in this worker; return it and the tab that requested it."""
        [reply], reader = await self.begin_several(worker, "m")
        return reply, reader

    async def begin_several(self, worker: Worker, *models: str) -> tuple[list[Message], Reader]:
        """Start a reply by each of these models to the same prompt."""
        turn = await self._turn(worker, *models)
        reader = await self.open(worker, turn.conversation.pk)
        worker.start(turn, reader)
        return turn.replies, reader

    async def open(self, worker: Worker, conversation: UUID) -> Reader:
        reader = Reader(self.alice, worker)
        await worker.welcome(reader)
        worker.show(reader, conversation)
        await reader.catch_up(conversation)
        return reader

    async def deliver(self) -> None:
        """Deliver and handle all messages in transit."""
        while self.network.on_their_way:
            for worker in self.workers:
                async with aclosing(worker.cluster.events()) as events:
                    async for event in events:
                        await worker.dispatcher.act(event)

    async def _turn(self, worker: Worker, *models: str) -> Turn:
        first, *others = (ModelChoice(self.upstream.pk, model) for model in models)
        prompt = Prompt("Why?", first, others=others)
        turn: Turn = await database_sync_to_async(prompt.store)(self.alice, worker.id)
        return turn


@pytest.fixture
async def company(
    alice: User, saved_upstream: Upstream, settings: Settings
) -> AsyncIterator[Company]:
    settings.CHATAPP_CLOSE_GRACE = settings.CHATAPP_DROP_GRACE = 0.0
    company = Company(alice, saved_upstream)
    yield company
    for worker in company.workers:
        await worker.drain(0)


async def load_ending(reply: Message) -> str:
    return (await Message.objects.aget(pk=reply.pk)).ending
