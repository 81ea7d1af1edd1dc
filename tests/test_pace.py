"""How far apart flushes are."""

import asyncio
import time

from chatapp.pace import (
    BUSY_SHARE,
    DISPLAY_FRAME_SECONDS,
    SLICE_SECONDS,
    WIDEST_SECONDS,
    OneAtATime,
    Pace,
)


def settled(load: float) -> Pace:
    """The pace after a while, where flushes at display rate would take `load` of a core."""
    pace = Pace()
    for _ in range(200):
        pace.adjust(min(1.0, load * DISPLAY_FRAME_SECONDS / pace.spread))
    return pace


def test_an_idle_process_flushes_at_display_rate() -> None:
    assert settled(0.3).interval(0.0) == DISPLAY_FRAME_SECONDS


def test_flushes_move_apart_until_the_process_is_just_not_too_busy() -> None:
    spread = settled(3.0).interval(0.0)
    assert abs(3.0 * DISPLAY_FRAME_SECONDS / spread - BUSY_SHARE) < 0.02


def test_flushes_move_together_again_when_the_load_is_gone() -> None:
    pace = settled(3.0)
    for _ in range(50):
        pace.adjust(0.1)
    assert pace.interval(0.0) == DISPLAY_FRAME_SECONDS


def test_slow_rendering_is_done_less_often_but_not_too_seldom() -> None:
    assert 0.09 < Pace().interval(0.01) < 0.11
    assert Pace().interval(10.0) == settled(1e6).interval(0.0) == WIDEST_SECONDS


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
