"""The time between frames."""

from chatapp.realtime.generation.flush_rate import (
    BUSY_SHARE,
    DISPLAY_FRAME_SECONDS,
    WIDEST_SECONDS,
    FlushRate,
)


def adjust_to_load(load: float) -> FlushRate:
    """Return the pace after a while if flushing at display rate would take `load` of a core."""
    pace = FlushRate()
    for _ in range(200):
        pace.adjust(min(1.0, load * DISPLAY_FRAME_SECONDS / pace.spread))
    return pace


def test_an_idle_process_flushes_at_display_rate() -> None:
    assert adjust_to_load(0.3).interval(0.0) == DISPLAY_FRAME_SECONDS


def test_flushes_move_apart_until_the_process_is_no_longer_too_busy() -> None:
    spread = adjust_to_load(3.0).interval(0.0)
    assert abs(3.0 * DISPLAY_FRAME_SECONDS / spread - BUSY_SHARE) < 0.02


def test_flushes_move_together_again_when_the_load_is_gone() -> None:
    pace = adjust_to_load(3.0)
    for _ in range(50):
        pace.adjust(0.1)
    assert pace.interval(0.0) == DISPLAY_FRAME_SECONDS


def test_slow_rendering_is_flushed_less_often_within_a_limit() -> None:
    assert 0.09 < FlushRate().interval(0.01) < 0.11
    assert FlushRate().interval(10.0) == adjust_to_load(1e6).interval(0.0) == WIDEST_SECONDS
