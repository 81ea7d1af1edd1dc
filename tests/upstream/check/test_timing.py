"""Buffering on the way is detected by when the chunks came."""

import pytest

from chatapp.upstream.check.timing import Timing


@pytest.mark.parametrize(
    ("times", "seems_buffered"),
    [
        ([0.5 + 0.02 * n for n in range(40)], False),  # a model that writes
        ([0.001 * n for n in range(40)], False),  # a fast one, without silence
        ([0.5] * 40, True),  # the whole reply at once
        ([0.5 * (n // 10 + 1) for n in range(40)], True),  # a block of ten at a time
        ([0.5 + 0.1 * (n // 4) for n in range(40)], False),  # four at a time, often
        ([0.5] * 5, False),  # too few to say
        ([0.5] * 8 + [0.6 + 0.02 * n for n in range(40)], False),  # a burst only at the start
    ],
)
def test_bursts_after_silence_mean_buffering(times: list[float], seems_buffered: bool) -> None:
    assert Timing.of(times).seems_buffered is seems_buffered


def test_times_are_measured() -> None:
    measured = Timing.of([0.5, 0.6, 0.8, 0.9])
    assert measured.first == 0.5
    assert measured.median_gap == pytest.approx(0.1)
    assert measured.longest_gap == pytest.approx(0.2)
