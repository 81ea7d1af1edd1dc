"""Fair turns of the event loop."""

import asyncio
import time

from chatapp.concurrency.event_loop import SLICE_SECONDS, FairLock


async def test_rare_work_does_not_yield() -> None:
    one_at_a_time = FairLock()
    turns = 0

    def count() -> None:
        nonlocal turns
        turns += 1

    for _ in range(3):
        asyncio.get_running_loop().call_soon(count)
        async with one_at_a_time:
            pass
    assert turns == 0


async def test_a_burst_of_work_leaves_others_as_much_time() -> None:
    one_at_a_time = FairLock()
    began_at = time.monotonic()
    await asyncio.gather(*(_busy(one_at_a_time, SLICE_SECONDS / 2) for _ in range(20)))
    assert time.monotonic() - began_at > 1.5 * 20 * SLICE_SECONDS / 2


async def test_a_long_job_goes_on_and_the_next_one_waits() -> None:
    one_at_a_time = FairLock()
    had_turn = asyncio.Event()
    asyncio.get_running_loop().call_soon(had_turn.set)
    await _busy(one_at_a_time, 2 * SLICE_SECONDS)
    assert not had_turn.is_set()
    await _busy(one_at_a_time, 0)
    assert had_turn.is_set()


async def test_a_job_cancelled_while_yielding_blocks_nobody() -> None:
    one_at_a_time = FairLock()
    await _busy(one_at_a_time, 2 * SLICE_SECONDS)
    leaving = asyncio.create_task(_busy(one_at_a_time, 0))
    await asyncio.sleep(0)
    leaving.cancel()
    async with asyncio.timeout(10):
        await _busy(one_at_a_time, 0)


async def _busy(one_at_a_time: FairLock, seconds: float) -> None:
    async with one_at_a_time:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass
