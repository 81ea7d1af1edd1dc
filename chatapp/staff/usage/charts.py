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
    "tokens": ("in", "in, cached", "out", "out, reasoning"),
    "cost": ("cost",),
    "replies": ("complete", "stopped", "cut short", "failed"),
    "people": ("people",),
    "first_token": ("seconds to the first token, on average",),
    "speed": ("tokens a second, on average",),
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
    unknown: float  # in percent of the replies
    before: float | None  # the height at which the outline crosses the column, if it does


@dataclass(frozen=True)
class Chart:
    highest: float
    columns: list[Column]
    before: str  # an SVG path; "" if nothing was used


def chart(shown: list[Figures], earlier: list[Figures], measure: str) -> Chart:
    """Lay out the chart of a measure; both lists have an entry per day or month."""
    highest = max(one.of(measure) for one in [*shown, *earlier]) or 1
    each = 100 / len(shown)
    before = [one.figure(measure) for one in earlier]
    columns = [
        _column(one, measure, highest, (position * each, each), past)
        for position, (one, past) in enumerate(zip(shown, before, strict=True))
    ]
    return Chart(highest, columns, outline(before, highest) if any(before) else "")


def _column(
    one: Figures, measure: str, highest: float, position: tuple[float, float], before: float | None
) -> Column:
    (x, each), scale = position, 100 / highest
    parts, top = [], 100.0
    for shade, value in enumerate(amounts(one, measure), start=1):
        if value:
            top -= value * scale
            parts.append(Part(shade, round(top, 2), round(value * scale, 2)))
    return Column(
        label=one.label,
        value=one.figure(measure),
        x=round(x + each / 10, 2),
        width=round(each * 0.8, 2),
        parts=parts,
        top=round(top, 2),
        estimated=round(one.unsure(measure) * scale, 2),
        unknown=round(100 * one.unknown_share(measure), 1),
        before=round(100 - before * scale, 2) if before and before < one.of(measure) else None,
    )


def amounts(one: Figures, measure: str) -> list[float]:
    """Return the amounts of a column's parts, in the order of `PARTS`.

    An upstream may report more cached than prompt tokens; the excess is ignored.
    """
    if measure == "tokens":
        cached = min(one["cached_tokens"], one["prompt_tokens"])
        thought = min(one["reasoning_tokens"], one["completion_tokens"])
        fresh, written = one["prompt_tokens"] - cached, one["completion_tokens"] - thought
        return [fresh, cached, written, thought]
    if measure == "replies":
        return [one[name] for name in ("complete", "stopped", "limited", "failed")]
    return [one.of(measure)]


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
