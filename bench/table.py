"""The table of figures: what was measured, the bar, and whether it was met."""

import math
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

# the argument asks for a quick run
Figure: TypeAlias = "Callable[[bool], Coroutine[Any, Any, list[Row]]]"
NAMES = ("figure", "measured", "limit", "ratio", "bar", "verdict")
HEADINGS = (*NAMES[:-1], "")
WIDTHS = (54, 34, 9, 8, 24, 6)


@dataclass(frozen=True)
class Point:
    """A point of the chart: milliseconds at a number of replies."""

    load: str
    replies: int
    app: float
    limit: float


@dataclass(frozen=True)
class Row:
    figure: str
    measured: str
    bar: str
    ok: bool
    limit: str = ""  # the value at bench/limit.py
    ratio: float | None = None  # the app's value divided by the limit's
    point: Point | None = None

    @property
    def verdict(self) -> str:
        if not self.ok:
            return "MISSED"
        return "ok" if self.bar else ""

    @property
    def times(self) -> str:
        return "" if self.ratio is None else f"{self.ratio:.{1 if self.ratio < 10 else 0}f} ×"

    @property
    def cells(self) -> Sequence[str]:
        """The cells in the order of `NAMES`."""
        return self.figure, self.measured, self.limit, self.times, self.bar, self.verdict


def at_most(figure: str, value: float, bar: float, unit: str, digits: int = 0) -> Row:
    """Return a row that passes if its value is at most the bar."""
    return Row(figure, f"{value:.{digits}f} {unit}", f"≤ {bar:g} {unit}", value <= bar)


def percentile(values: Iterable[float], percent: float) -> float:
    """Return the nearest-rank percentile. Raises `ValueError` if there are no values."""
    ranked = sorted(values)
    if not ranked:
        raise ValueError("nothing was measured")
    return ranked[max(0, math.ceil(len(ranked) * percent / 100) - 1)]


def line(cells: Sequence[str]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    return " ".join(padded).rstrip()


def heading() -> str:
    return line(HEADINGS) + "\n" + line(["-" * width for width in WIDTHS])


def format_row(row: Row) -> str:
    return line(row.cells)
