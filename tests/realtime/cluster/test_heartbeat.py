"""The rows that a worker writes to the database once a second, and what it learns from it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async
from django.db import OperationalError

from chatapp.models import Conversation, Message, Process, Upstream, User
from chatapp.models.platform.processes import EXPIRY_SECONDS, ProcessQuerySet
from chatapp.realtime.cluster import Heartbeat, HeartbeatReport, heartbeat

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


def store_streaming(conversation: Conversation, upstream: Upstream, owner: UUID) -> Message:
    _, reply = conversation.ask(uuid4(), "Why?", None, upstream, "m", owner)
    return reply


class RunningHeartbeat:
    """A process that beats while the test lasts."""

    def __init__(self, *, is_alone: bool = False) -> None:
        self.process = Process.current(is_alone=is_alone)
        self.process.save()
        self.heartbeat = Heartbeat(self.process)
        self.heartbeat.start()

    async def next(self, *conversations: UUID) -> HeartbeatReport:
        """Return the report of the next beat."""
        async with (
            asyncio.timeout(10),
            aclosing(self.heartbeat.reports(Shown(*conversations))) as seen,
        ):
            return await anext(seen)

    async def until(
        self, condition: Callable[[HeartbeatReport], bool], *conversations: UUID
    ) -> HeartbeatReport:
        async with (
            asyncio.timeout(10),
            aclosing(self.heartbeat.reports(Shown(*conversations))) as seen,
        ):
            async for report in seen:
                if condition(report):
                    return report
        raise AssertionError


@pytest.fixture
async def beats(quick: None, saved_upstream: Upstream) -> AsyncIterator[Callable[..., Any]]:
    started_heartbeats: list[RunningHeartbeat] = []

    async def begin(**options: bool) -> RunningHeartbeat:
        started_heartbeats.append(
            await database_sync_to_async(lambda: RunningHeartbeat(**options))()
        )
        return started_heartbeats[-1]

    yield begin
    for beating in started_heartbeats:
        await asyncio.to_thread(beating.heartbeat.stop)


async def test_a_report_has_own_replies_and_those_of_shown_conversations(
    beats: Callable[..., Any], conversation: Conversation, saved_upstream: Upstream
) -> None:
    first, other = await beats(), await beats()
    reply = await database_sync_to_async(store_streaming)(
        conversation, saved_upstream, other.process.pk
    )
    seen = await first.until(lambda seen: bool(seen.streaming), conversation.pk)
    [streaming] = seen.streaming
    assert streaming == heartbeat.StreamingReply(conversation.pk, reply.pk, other.process.pk)
    assert seen.alive == {first.process.pk, other.process.pk}
    assert seen.own == frozenset()
    seen = await other.next()
    assert (seen.own, seen.streaming) == ({reply.pk}, ())


async def test_a_lone_process_reports_only_its_own_replies(
    beats: Callable[..., Any], conversation: Conversation, saved_upstream: Upstream
) -> None:
    alone = await beats(is_alone=True)
    reply = await database_sync_to_async(store_streaming)(
        conversation, saved_upstream, alone.process.pk
    )
    seen = await alone.until(lambda seen: bool(seen.own), conversation.pk)
    assert seen == HeartbeatReport(frozenset({reply.pk}))


async def test_replies_of_dead_workers_are_interrupted(
    beats: Callable[..., Any],
    conversation: Conversation,
    saved_upstream: Upstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Slow enough that the database answers in time and no beat is missed.
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.2)
    monkeypatch.setattr(heartbeat, "EXPIRY_SECONDS", 0.1)
    reply = await database_sync_to_async(store_streaming)(conversation, saved_upstream, uuid4())
    beating = await beats()
    async with asyncio.timeout(10):
        while (await Message.objects.aget(pk=reply.pk)).is_streaming:
            await beating.next()
    assert (await Message.objects.aget(pk=reply.pk)).ending == "interrupted"


async def test_a_process_that_was_presumed_dead_notices(beats: Callable[..., Any]) -> None:
    beating = await beats()
    await beating.next()
    assert not beating.heartbeat.was_given_up(since=0.0)
    await Process.objects.all().adelete()
    await beating.until(lambda seen: beating.heartbeat.was_given_up(since=0.0))
    assert await Process.objects.filter(pk=beating.process.pk).aexists()


async def test_a_database_outage_is_logged_once_and_beats_go_on(
    beats: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: object) -> None:
        raise OperationalError("away")

    beating = await beats()
    await beating.next()
    assert beating.heartbeat.database_answers
    with monkeypatch.context() as patched:
        patched.setattr(ProcessQuerySet, "read_heartbeats", fail)
        async with asyncio.timeout(10):
            while beating.heartbeat.database_answers:  # noqa: ASYNC110 - in a thread
                await asyncio.sleep(BEAT)
        await asyncio.sleep(3 * BEAT)
    async with asyncio.timeout(10):
        while not beating.heartbeat.database_answers:  # noqa: ASYNC110
            await asyncio.sleep(BEAT)
    logged = [record.getMessage() for record in caplog.records if record.name == heartbeat.__name__]
    assert logged == [
        "The database can't be reached; replies go on: away",
        "The database can be reached again",
    ]


async def test_a_locked_database_counts_as_answering(
    beats: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0

    def wait_for_lock(_: Process) -> bool:
        nonlocal now
        now += EXPIRY_SECONDS
        monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 60.0)  # this one was the last
        raise OperationalError("database is locked")

    monkeypatch.setattr(heartbeat, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(Process, "record_heartbeat", wait_for_lock)
    beating = await beats()
    async with asyncio.timeout(10):
        while "The database is locked" not in caplog.text:  # noqa: ASYNC110 - in a thread
            await asyncio.sleep(BEAT)
    assert beating.heartbeat.database_answers


async def test_a_stopped_process_is_removed(beats: Callable[..., Any]) -> None:
    beating = await beats()
    await asyncio.to_thread(beating.heartbeat.stop)
    assert not await Process.objects.aexists()
