"""The usage chart: a column for each day or month, and the previous period as an outline. No I/O.

Columns are placed in percent of the chart's width and height, from its top left corner. The outline
is an SVG path, which cannot use percentages (https://www.w3.org/TR/SVG2/paths.html), so it is drawn
in a box of 1000 by 100.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chatapp.staff.usage.figures import Figures

# The parts of a column, from the bottom up.
PARTS: Mapping[str, Sequence[str]] = {
    "cost": ("Cost",),
    "tokens": ("Tokens in", "Tokens out"),
    "answers": ("Complete", "Ended early", "Failed"),
}


@dataclass(frozen=True)
class Part:
    """A part of a column. `shade` counts from 1, in the order of `PARTS`."""

    shade: int
    top: float
    height: float


@dataclass(frozen=True)
class Column:
    label: str
    value: float | None
    x: float
    width: float
    parts: list[Part]
    top: float
    estimated: float  # the height of the estimated part, from the column's top
    is_partial: bool  # the measure is unknown for some replies
    before: float | None  # the height at which the outline crosses the column, if it does


@dataclass(frozen=True)
class Chart:
    top: int  # what the chart's height stands for
    columns: list[Column]
    before: str  # an SVG path; "" if nothing was used

    @property
    def has_estimates(self) -> bool:
        return any(column.estimated for column in self.columns)

    @property
    def has_unknown(self) -> bool:
        return any(column.is_partial for column in self.columns)


def chart(timeline: list[Figures], earlier: list[Figures], measure: str) -> Chart:
    """Lay out the chart of a measure; both lists have an entry per day or month."""
    top = round_up(max(figures.get_amount(measure) for figures in [*timeline, *earlier]))
    each = 100 / len(timeline)
    before = [figures.figure(measure) for figures in earlier]
    columns = [
        _column(figures, measure, top, (position * each, each), past)
        for position, (figures, past) in enumerate(zip(timeline, before, strict=True))
    ]
    return Chart(top, columns, outline(before, top) if any(before) else "")


def round_up(value: float) -> int:
    """Return the next 1, 2 or 5 with zeros, which is easy to read as the top of an axis."""
    if value <= 1:
        return 1
    size: int = 10 ** (len(f"{value:.0f}") - 1)
    return next(step * size for step in (1, 2, 5, 10) if step * size >= value)


def _column(
    figures: Figures,
    measure: str,
    highest: float,
    position: tuple[float, float],
    before: float | None,
) -> Column:
    (x, each), scale = position, 100 / highest
    parts, top = [], 100.0
    for shade, value in enumerate(amounts(figures, measure), start=1):
        if value:
            top -= value * scale
            parts.append(Part(shade, round(top, 2), round(value * scale, 2)))
    return Column(
        label=figures.label,
        value=figures.figure(measure),
        x=round(x + each / 10, 2),
        width=round(each * 0.8, 2),
        parts=parts,
        top=round(top, 2),
        estimated=round(figures.unsure(measure) * scale, 2),
        is_partial=figures.is_partial(measure),
        before=round(100 - before * scale, 2)
        if before and before < figures.get_amount(measure)
        else None,
    )


def amounts(figures: Figures, measure: str) -> list[float]:
    """Return the amounts of a column's parts, in the order of `PARTS`."""
    if measure == "tokens":
        return [figures["prompt_tokens"], figures["completion_tokens"]]
    if measure == "answers":
        return [figures["complete"], figures["stopped"] + figures["limited"], figures["failed"]]
    return [figures.get_amount(measure)]


def outline(values: list[float | None], highest: float, width: float = 1000) -> str:
    """Return the SVG path of a step line on the baseline, with a gap where a value is unknown."""
    each, path, is_open = width / len(values), "", False
    for position, value in enumerate(values):
        if value is None:
            path += "V100" if is_open else ""
        else:
            path += "" if is_open else f"M{position * each:g} 100"
            path += f"V{round(100 - 100 * value / highest, 2):g}H{(position + 1) * each:g}"
        is_open = value is not None
    return f"{path}V100" if is_open else path
