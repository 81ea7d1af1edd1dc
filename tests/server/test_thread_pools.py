"""Thread pools: first come, first served, and long work doesn't block the rest."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from asgiref.sync import async_to_sync

from chatapp.server import thread_pools
from chatapp.server.thread_pools import BoundedThreadPool

WAIT_SECONDS = 60.0


@pytest.fixture
async def work_event() -> AsyncIterator[threading.Event]:
    """An event for work to wait for; set when the test ends."""
    event = threading.Event()
    yield event
    event.set()


async def test_threads_are_reused() -> None:
    pool = BoundedThreadPool(threads=3, at_once=1, name="test")
    assert len({await pool.run(threading.get_ident) for _ in range(20)}) <= 3


async def test_hundreds_of_calls_run_in_order() -> None:
    pool = BoundedThreadPool(
        threads=1, at_once=1, name="test"
    )  # a second thread could overtake the first
    done: list[int] = []
    await asyncio.gather(*(pool.run(lambda n=n: done.append(n)) for n in range(500)))  # type: ignore[misc]
    assert done == list(range(500))


async def test_work_that_waits_does_not_block_the_rest(work_event: threading.Event) -> None:
    pool = BoundedThreadPool(threads=2, at_once=1, name="test")
    waiting = asyncio.create_task(pool.run(lambda: work_event.wait(WAIT_SECONDS)))
    async with asyncio.timeout(WAIT_SECONDS):
        assert await pool.run(lambda: "done") == "done"
    assert not waiting.done()
    work_event.set()
    assert await waiting


async def test_work_cancelled_before_its_turn_never_starts(work_event: threading.Event) -> None:
    pool = BoundedThreadPool(threads=1, at_once=1, name="test")
    calls: list[str] = []
    first = asyncio.create_task(pool.run(lambda: work_event.wait(WAIT_SECONDS)))
    second = asyncio.create_task(pool.run(lambda: calls.append("second")))
    await asyncio.sleep(0)
    second.cancel()
    work_event.set()
    await first
    await pool.run(lambda: calls.append("third"))
    assert calls == ["third"]


async def test_work_cancelled_later_keeps_its_place_until_it_is_done(
    work_event: threading.Event,
) -> None:
    pool = BoundedThreadPool(threads=2, at_once=1, name="test")
    started = threading.Event()

    def work() -> None:
        started.set()
        work_event.wait(WAIT_SECONDS)

    first = asyncio.create_task(pool.run(work))
    second = asyncio.create_task(pool.run(lambda: work_event.is_set()))
    await asyncio.to_thread(started.wait, WAIT_SECONDS)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    work_event.set()
    assert await second


async def test_an_exception_reaches_the_caller() -> None:
    pool = BoundedThreadPool(threads=1, at_once=1, name="test")
    with pytest.raises(ZeroDivisionError):
        await pool.run(lambda: 1 / 0)
    assert await pool.run(lambda: 1) == 1


async def test_finishing_cancels_work_that_waits_for_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thread_pools, "FINISH_SECONDS", 0.05)
    pool = BoundedThreadPool(threads=1, at_once=1, name="test")
    has_begun = asyncio.Event()

    async def view() -> None:
        has_begun.set()
        await asyncio.Event().wait()

    answering = asyncio.create_task(pool.run(lambda: async_to_sync(view)()))
    async with asyncio.timeout(WAIT_SECONDS):
        await has_begun.wait()
        await thread_pools.finish()
        assert answering.cancelled()
        assert await pool.run(lambda: "the thread is free") == "the thread is free"


async def test_finishing_waits_for_short_work(work_event: threading.Event) -> None:
    pool = BoundedThreadPool(threads=1, at_once=1, name="test")
    working = asyncio.create_task(pool.run(lambda: work_event.wait(WAIT_SECONDS)))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(work_event.set)
    await thread_pools.finish()
    assert await working
