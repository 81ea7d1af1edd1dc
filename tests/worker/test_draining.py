"""The end of a worker, with others and without."""

import asyncio
import time
from uuid import uuid4

import pytest

from chatapp.close_codes import CloseCode
from chatapp.cluster import Alone, Bus, NoHeartbeat
from chatapp.upstream.wire.reply import Ending
from chatapp.viewers import Viewers
from chatapp.worker.draining import Draining
from chatapp.worker.replies import Replies
from chatapp.worker.tasks import Tasks
from tests.cluster.network import Network
from tests.viewers.doubles import Recorder
from tests.worker.test_replies import Running


class Ender:
    """A worker that ends."""

    def __init__(self, bus: Bus) -> None:
        self.viewers = Viewers()
        self.replies = Replies(NoHeartbeat())
        self.writing = Tasks()
        self.draining = Draining(self.viewers, self.replies, bus)

    def open(self) -> "Closing":
        viewer = Closing(self.viewers)
        self.viewers.add(viewer)
        return viewer

    def begin(self) -> Running:
        running = Running()
        self.replies.add(running)
        self.writing.start(self.replies.run(running))
        return running

    async def drain(self, seconds: float, *, alone: bool = True) -> float:
        """Returns how long it took."""
        began_at = time.monotonic()
        await self.draining.run(seconds, self.writing, alone=alone)
        return time.monotonic() - began_at


class Closing(Recorder):
    """Leaves when it is closed, as a socket does."""

    def __init__(self, viewers: Viewers) -> None:
        super().__init__()
        self._viewers = viewers

    async def close(self, code: int) -> None:
        await super().close(code)
        self._viewers.remove(self)


@pytest.fixture
def alone() -> Ender:
    return Ender(Alone(uuid4()))


@pytest.fixture
def among_others() -> Ender:
    return Ender(Network().bus())


async def test_one_that_has_nothing_to_do_ends_at_once(alone: Ender) -> None:
    assert await alone.drain(60) < 10
    assert alone.draining.has_begun


async def test_what_runs_gets_time_to_end(alone: Ender) -> None:
    running, viewer = alone.begin(), alone.open()
    draining = asyncio.create_task(alone.drain(60))
    await asyncio.sleep(0.1)
    assert viewer.closed is None  # it reads along, since it has nowhere to go
    running.ended.set()
    assert await draining < 10
    assert running.stopped_as is None
    assert viewer.closed == CloseCode.RESTARTING


async def test_what_takes_longer_is_interrupted(alone: Ender) -> None:
    running = alone.begin()
    await alone.drain(0)
    assert running.stopped_as is Ending.INTERRUPTED
    assert len(alone.writing) == 0


async def test_a_prompt_that_is_being_stored_is_waited_for(alone: Ender) -> None:
    with alone.replies.taking_prompt():
        draining = asyncio.create_task(alone.drain(60))
        await asyncio.sleep(0.1)
        assert not draining.done()
    await draining


async def test_where_there_are_others_viewers_are_sent_to_them_before_replies_end(
    among_others: Ender,
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


async def test_where_the_others_end_too_viewers_read_along(among_others: Ender) -> None:
    running, viewer = among_others.begin(), among_others.open()
    draining = asyncio.create_task(among_others.drain(60, alone=False))
    await asyncio.sleep(0.1)
    assert viewer.closed is None
    assert not among_others.draining.sends_viewers_away
    running.ended.set()
    await draining
    assert viewer.closed == CloseCode.RESTARTING


async def test_one_that_is_alone_sends_nobody_away(alone: Ender) -> None:
    assert not alone.draining.sends_viewers_away
    await alone.drain(0)
    assert not alone.draining.sends_viewers_away
