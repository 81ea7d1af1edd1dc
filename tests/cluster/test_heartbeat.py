"""What a worker tells the database once a second, and what the database tells it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async
from django.db import OperationalError

from chatapp.cluster import Heartbeat, Sighting, heartbeat
from chatapp.models import Conversation, Message, Process, Upstream, User
from chatapp.models.processes import EXPIRY_SECONDS, ProcessQuerySet

pytestmark = pytest.mark.django_db

BEAT = 0.02


class Shown:
    def __init__(self, *conversations: UUID) -> None:
        self._conversations = conversations

    def conversations(self) -> tuple[UUID, ...]:
        return self._conversations


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", BEAT)


@pytest.fixture
def conversation(alice: User) -> Conversation:
    return Conversation(user=alice, title="Sky")


def asked(conversation: Conversation, upstream: Upstream, owner: UUID) -> Message:
    _, reply = conversation.ask(uuid4(), "Why?", None, upstream, "m", owner)
    return reply


class Beating:
    """A process that beats, for as long as the test lasts."""

    def __init__(self, *, is_alone: bool = False) -> None:
        self.process = Process.here(is_alone=is_alone)
        self.process.save()
        self.heartbeat = Heartbeat(self.process)
        self.heartbeat.start()

    async def next(self, *shown: UUID) -> Sighting:
        """What is seen at the next beat."""
        async with asyncio.timeout(10), aclosing(self.heartbeat.sightings(Shown(*shown))) as seen:
            return await anext(seen)

    async def until(self, condition: Callable[[Sighting], bool], *shown: UUID) -> Sighting:
        async with asyncio.timeout(10), aclosing(self.heartbeat.sightings(Shown(*shown))) as seen:
            async for one in seen:
                if condition(one):
                    return one
        raise AssertionError


@pytest.fixture
async def beats(quick: None, connected: Upstream) -> AsyncIterator[Callable[..., Any]]:
    begun: list[Beating] = []

    async def begin(**options: bool) -> Beating:
        begun.append(await database_sync_to_async(lambda: Beating(**options))())
        return begun[-1]

    yield begin
    for one in begun:
        await asyncio.to_thread(one.heartbeat.stop)


async def test_it_sees_its_own_replies_and_what_streams_where_somebody_looks(
    beats: Callable[..., Any], conversation: Conversation, connected: Upstream
) -> None:
    one, other = await beats(), await beats()
    reply = await database_sync_to_async(asked)(conversation, connected, other.process.pk)
    seen = await one.until(lambda seen: bool(seen.streaming), conversation.pk)
    [streaming] = seen.streaming
    assert streaming == heartbeat.Streaming(conversation.pk, reply.pk, other.process.pk)
    assert seen.alive == {one.process.pk, other.process.pk}
    assert seen.own == frozenset()
    seen = await other.next()
    assert (seen.own, seen.streaming) == ({reply.pk}, ())


async def test_one_that_is_alone_looks_after_its_own_alone(
    beats: Callable[..., Any], conversation: Conversation, connected: Upstream
) -> None:
    alone = await beats(is_alone=True)
    reply = await database_sync_to_async(asked)(conversation, connected, alone.process.pk)
    seen = await alone.until(lambda seen: bool(seen.own), conversation.pk)
    assert seen == Sighting(frozenset({reply.pk}))


async def test_it_reaps_what_dead_workers_left(
    beats: Callable[..., Any],
    conversation: Conversation,
    connected: Upstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Slow enough for the database to answer in time, of which no beat was missed.
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.2)
    monkeypatch.setattr(heartbeat, "EXPIRY_SECONDS", 0.1)
    reply = await database_sync_to_async(asked)(conversation, connected, uuid4())
    one = await beats()
    async with asyncio.timeout(10):
        while (await Message.objects.aget(pk=reply.pk)).is_streaming:
            await one.next()
    assert (await Message.objects.aget(pk=reply.pk)).ending == "interrupted"


async def test_whoever_was_taken_for_dead_knows_it(beats: Callable[..., Any]) -> None:
    one = await beats()
    await one.next()
    assert not one.heartbeat.was_given_up(since=0.0)
    await Process.objects.all().adelete()
    await one.until(lambda seen: one.heartbeat.was_given_up(since=0.0))
    assert await Process.objects.filter(pk=one.process.pk).aexists()


async def test_a_database_that_is_away_is_told_once_and_beats_go_on(
    beats: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: object) -> None:
        raise OperationalError("away")

    one = await beats()
    await one.next()
    assert one.heartbeat.database_answers
    with monkeypatch.context() as patched:
        patched.setattr(ProcessQuerySet, "beats", fail)
        async with asyncio.timeout(10):
            while one.heartbeat.database_answers:  # noqa: ASYNC110 - in a thread
                await asyncio.sleep(BEAT)
        await asyncio.sleep(3 * BEAT)
    async with asyncio.timeout(10):
        while not one.heartbeat.database_answers:  # noqa: ASYNC110
            await asyncio.sleep(BEAT)
    told = [record.getMessage() for record in caplog.records if record.name == heartbeat.__name__]
    assert told == ["The database can't be reached, replies go on: away", "The database is back"]


async def test_a_database_that_was_locked_for_as_long_as_a_beat_waits_did_answer(
    beats: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0

    def wait_for_lock(_: Process) -> bool:
        nonlocal now
        now += EXPIRY_SECONDS
        monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 60.0)  # this one was the last
        raise OperationalError("database is locked")

    monkeypatch.setattr(heartbeat, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(Process, "beat", wait_for_lock)
    one = await beats()
    async with asyncio.timeout(10):
        while "The database is locked" not in caplog.text:  # noqa: ASYNC110 - in a thread
            await asyncio.sleep(BEAT)
    assert one.heartbeat.database_answers


async def test_when_it_stops_it_is_forgotten(beats: Callable[..., Any]) -> None:
    one = await beats()
    await asyncio.to_thread(one.heartbeat.stop)
    assert not await Process.objects.aexists()
