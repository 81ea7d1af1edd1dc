"""Threads that are kept: who comes first has its turn first, and long work holds up nobody."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from asgiref.sync import async_to_sync

from chatapp.server import lanes
from chatapp.server.lanes import Lane

WAIT_SECONDS = 60.0


@pytest.fixture
async def held() -> AsyncIterator[threading.Event]:
    """What work waits for; it is let go in the end."""
    event = threading.Event()
    yield event
    event.set()


async def test_threads_are_kept_from_one_to_the_next() -> None:
    lane = Lane(threads=3, at_once=1, name="test")
    assert len({await lane.run(threading.get_ident) for _ in range(20)}) <= 3


async def test_hundreds_at_once_wait_and_come_in_order() -> None:
    lane = Lane(threads=1, at_once=1, name="test")  # another would overtake one that is held up
    done: list[int] = []
    await asyncio.gather(*(lane.run(lambda n=n: done.append(n)) for n in range(500)))  # type: ignore[misc]
    assert done == list(range(500))


async def test_what_waits_for_something_holds_up_nobody(held: threading.Event) -> None:
    lane = Lane(threads=2, at_once=1, name="test")
    waiting = asyncio.create_task(lane.run(lambda: held.wait(WAIT_SECONDS)))
    async with asyncio.timeout(WAIT_SECONDS):
        assert await lane.run(lambda: "done") == "done"
    assert not waiting.done()
    held.set()
    assert await waiting


async def test_whoever_leaves_before_its_turn_is_forgotten(held: threading.Event) -> None:
    lane = Lane(threads=1, at_once=1, name="test")
    begun: list[str] = []
    first = asyncio.create_task(lane.run(lambda: held.wait(WAIT_SECONDS)))
    second = asyncio.create_task(lane.run(lambda: begun.append("second")))
    await asyncio.sleep(0)
    second.cancel()
    held.set()
    await first
    await lane.run(lambda: begun.append("third"))
    assert begun == ["third"]


async def test_whoever_leaves_later_keeps_its_turn_until_its_work_is_done(
    held: threading.Event,
) -> None:
    lane = Lane(threads=2, at_once=1, name="test")
    started = threading.Event()

    def work() -> None:
        started.set()
        held.wait(WAIT_SECONDS)

    first = asyncio.create_task(lane.run(work))
    second = asyncio.create_task(lane.run(lambda: held.is_set()))
    await asyncio.to_thread(started.wait, WAIT_SECONDS)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    held.set()
    assert await second


async def test_what_it_raises_is_raised() -> None:
    lane = Lane(threads=1, at_once=1, name="test")
    with pytest.raises(ZeroDivisionError):
        await lane.run(lambda: 1 / 0)
    assert await lane.run(lambda: 1) == 1


async def test_at_the_end_work_that_waits_for_the_event_loop_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes, "FINISH_SECONDS", 0.05)
    lane = Lane(threads=1, at_once=1, name="test")
    has_begun = asyncio.Event()

    async def view() -> None:
        has_begun.set()
        await asyncio.Event().wait()

    answering = asyncio.create_task(lane.run(lambda: async_to_sync(view)()))
    async with asyncio.timeout(WAIT_SECONDS):
        await has_begun.wait()
        await lanes.finish()
        assert answering.cancelled()
        assert await lane.run(lambda: "the thread is free") == "the thread is free"


async def test_at_the_end_work_may_finish(held: threading.Event) -> None:
    lane = Lane(threads=1, at_once=1, name="test")
    working = asyncio.create_task(lane.run(lambda: held.wait(WAIT_SECONDS)))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(held.set)
    await lanes.finish()
    assert await working
