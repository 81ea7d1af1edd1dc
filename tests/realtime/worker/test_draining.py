"""Draining a worker, with and without other workers."""

import asyncio
import time
from uuid import uuid4

import pytest

from chatapp.close_codes import CloseCode
from chatapp.realtime.cluster import Bus, NullBus, NullHeartbeat
from chatapp.realtime.summarising import Summaries
from chatapp.realtime.viewers import Viewers
from chatapp.realtime.worker.draining import Draining
from chatapp.realtime.worker.replies import Replies
from chatapp.realtime.worker.tasks import Tasks
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.reply import Ending
from tests.realtime.cluster.network import Network
from tests.realtime.viewers.doubles import Recorder
from tests.realtime.worker.test_replies import Running, run


class DrainedWorker:
    """A worker to be drained."""

    def __init__(self, bus: Bus) -> None:
        self.viewers = Viewers()
        self.replies = Replies(NullHeartbeat())
        self.summaries = Summaries(UpstreamClient(), bus, self.viewers)
        self.writing = Tasks()
        self.draining = Draining(self.viewers, self.replies, self.summaries, bus)

    def open(self) -> "Closing":
        viewer = Closing(self.viewers)
        self.viewers.add(viewer)
        return viewer

    def begin(self) -> Running:
        running = Running()
        self.replies.add(running)
        self.writing.start(run(self.replies, running))
        return running

    async def drain(self, seconds: float, *, alone: bool = True) -> float:
        """Drain and return how long it took, in seconds."""
        began_at = time.monotonic()
        await self.draining.run(seconds, self.writing, alone=alone)
        return time.monotonic() - began_at


class Closing(Recorder):
    """A viewer that leaves when it is closed, as a socket does."""

    def __init__(self, viewers: Viewers) -> None:
        super().__init__()
        self._viewers = viewers

    async def close(self, code: int) -> None:
        await super().close(code)
        self._viewers.remove(self)


@pytest.fixture
def alone() -> DrainedWorker:
    return DrainedWorker(NullBus(uuid4()))


@pytest.fixture
def among_others() -> DrainedWorker:
    return DrainedWorker(Network().bus())


async def test_an_idle_worker_drains_at_once(alone: DrainedWorker) -> None:
    assert await alone.drain(60) < 10
    assert alone.draining.has_begun


async def test_a_running_reply_gets_time_to_end(alone: DrainedWorker) -> None:
    running, viewer = alone.begin(), alone.open()
    draining = asyncio.create_task(alone.drain(60))
    await asyncio.sleep(0.1)
    assert viewer.closed is None  # it keeps watching: there is no other worker
    running.ended.set()
    assert await draining < 10
    assert running.stopped_as is None
    assert viewer.closed == CloseCode.RESTARTING


async def test_a_reply_that_takes_too_long_is_interrupted(alone: DrainedWorker) -> None:
    running = alone.begin()
    await alone.drain(0)
    assert running.stopped_as is Ending.INTERRUPTED
    assert len(alone.writing) == 0


async def test_draining_waits_for_a_prompt_that_is_being_stored(alone: DrainedWorker) -> None:
    with alone.replies.taking_prompt():
        draining = asyncio.create_task(alone.drain(60))
        await asyncio.sleep(0.1)
        assert not draining.done()
    await draining


async def test_viewers_are_sent_to_other_workers_before_replies_end(
    among_others: DrainedWorker,
) -> None:
    running = among_others.begin()
    viewers = [among_others.open() for _ in range(5)]
    draining = asyncio.create_task(among_others.drain(1.0))
    await asyncio.sleep(0)
    assert among_others.draining.sends_viewers_away
    async with asyncio.timeout(10):
        while not all(viewer.closed for viewer in viewers):  # noqa: ASYNC110 - time passes
            await asyncio.sleep(0.01)
    assert not draining.done()
    running.ended.set()
    await draining


async def test_viewers_stay_if_the_other_workers_stop_too(among_others: DrainedWorker) -> None:
    running, viewer = among_others.begin(), among_others.open()
    draining = asyncio.create_task(among_others.drain(60, alone=False))
    await asyncio.sleep(0.1)
    assert viewer.closed is None
    assert not among_others.draining.sends_viewers_away
    running.ended.set()
    await draining
    assert viewer.closed == CloseCode.RESTARTING


async def test_a_lone_worker_sends_no_viewers_away(alone: DrainedWorker) -> None:
    assert not alone.draining.sends_viewers_away
    await alone.drain(0)
    assert not alone.draining.sends_viewers_away
