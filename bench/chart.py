"""The geometry of the chart in docs/performance.md: replies to the right, milliseconds upwards.

The scale of milliseconds is logarithmic, since the app and the limit are that far apart.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.table import Point

LEFT, RIGHT, TOP, BOTTOM = 76, 700, 72, 332


@dataclass(frozen=True)
class Mark:
    """A point of a line, or a tick of an axis, with its label."""

    x: float
    y: float
    says: str


@dataclass(frozen=True)
class Line:
    who: str  # app or limit
    load: str
    marks: list[Mark]

    @property
    def path(self) -> str:
        return " ".join(f"{mark.x:g},{mark.y:g}" for mark in self.marks)


@dataclass(frozen=True)
class Chart:
    lines: list[Line]
    replies: list[Mark]  # ticks of the horizontal axis
    powers: list[Mark]  # ticks of the vertical axis
    right: float = RIGHT


def chart(points: Sequence[Point]) -> Chart:
    """Lay out the chart. Raises `ValueError` if there are no points."""
    times = [ms for point in points for ms in (point.app, point.limit)]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    max_replies = max(point.replies for point in points)

    def x(replies: int) -> float:
        return round(LEFT + (RIGHT - LEFT) * replies / max_replies, 1)

    def y(ms: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (math.log10(ms) - low) / (high - low or 1), 1)

    def line(who: str, load: str) -> Line:
        of_load = sorted((p for p in points if p.load == load), key=lambda p: p.replies)
        times = [(p.replies, p.app if who == "app" else p.limit) for p in of_load]
        marks = [Mark(x(n), y(ms), f"{who}, {load} of {n}: {ms:.2g} ms") for n, ms in times]
        return Line(who, load, marks)

    loads = sorted({point.load for point in points})
    ticks = sorted({point.replies for point in points})
    powers = [10.0**power for power in range(low, high + 1)]
    return Chart(
        [line(who, load) for who in ("app", "limit") for load in loads],
        [Mark(x(n), BOTTOM, str(n)) for n in ticks],
        [Mark(LEFT, y(ms), f"{ms:g} ms") for ms in powers],
    )
