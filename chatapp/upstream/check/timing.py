"""Measure when a stream's chunks came: time to the first, the gaps, and bursts.

If many chunks come at once after a silence, something on the way buffers the stream: models don't
write like that. A model that thinks for long and then writes a token in less than
`BURST_GAP_SECONDS` looks the same, so the result is only a suspicion.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Self

BURST_GAP_SECONDS = 0.002  # chunks closer than this came together
SILENCE_SECONDS = 0.2
BURST_CHUNKS = 8


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in seconds; `first` is since the request."""

    first: float
    median_gap: float
    longest_gap: float
    chunks: int
    chunks_in_bursts: int  # of at least `BURST_CHUNKS`, after a silence

    @classmethod
    def of(cls, times: Sequence[float]) -> Self:
        """Measure the `times` of at least one chunk, in order."""
        gaps = [after - before for before, after in pairwise(times)] or [0.0]
        return cls(times[0], median(gaps), max(gaps), len(times), _in_bursts(times))

    @property
    def can_tell_buffering(self) -> bool:
        return self.chunks >= 2 * BURST_CHUNKS

    @property
    def seems_buffered(self) -> bool:
        return self.can_tell_buffering and 2 * self.chunks_in_bursts >= self.chunks


def _in_bursts(times: Sequence[float]) -> int:
    bursts = [(times[0], 1)]  # the silence before each, and its chunks
    for before, after in pairwise(times):
        if after - before > BURST_GAP_SECONDS:
            bursts.append((after - before, 1))
        else:
            silence, size = bursts[-1]
            bursts[-1] = silence, size + 1
    return sum(
        size for silence, size in bursts if silence >= SILENCE_SECONDS and size >= BURST_CHUNKS
    )
