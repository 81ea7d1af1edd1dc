"""Whose turn of the event loop it is."""

import asyncio
import time

from chatapp.fairness.turns import SLICE_SECONDS, OneAtATime


async def test_work_that_comes_seldom_gives_no_turn_away() -> None:
    one_at_a_time = OneAtATime()
    turns = 0

    def count() -> None:
        nonlocal turns
        turns += 1

    for _ in range(3):
        asyncio.get_running_loop().call_soon(count)
        async with one_at_a_time:
            pass
    assert turns == 0


async def test_much_work_at_once_leaves_others_as_much_time() -> None:
    one_at_a_time = OneAtATime()
    began_at = time.monotonic()
    await asyncio.gather(*(_busy(one_at_a_time, SLICE_SECONDS / 2) for _ in range(20)))
    assert time.monotonic() - began_at > 1.5 * 20 * SLICE_SECONDS / 2


async def _busy(one_at_a_time: OneAtATime, seconds: float) -> None:
    async with one_at_a_time:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass
