"""The picture of usage: a column for each day or month, and the period before as an outline. Pure.

Places are in percent of the picture, from its left and its top, where SVG begins; the outline is a
path over 1000 by 100 (https://www.w3.org/TR/SVG2/paths.html), which knows no percent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chatapp.staff.usage.figures import Figures

# What a column is made of, from its foot.
PARTS: Mapping[str, Sequence[str]] = {
    "tokens": ("in", "in, from a cache", "out", "out, reasoning"),
    "cost": ("cost",),
    "replies": ("whole", "stopped", "cut short", "failed"),
    "people": ("people",),
    "first_token": ("seconds to the first token, on average",),
    "speed": ("tokens a second, on average",),
}


@dataclass(frozen=True)
class Part:
    """`shade` counts from 1, in the order of `PARTS`."""

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
    estimated: float  # how high, from the top
    unknown: float  # of a hundred
    before: float | None  # where its outline crosses the column


@dataclass(frozen=True)
class Picture:
    highest: float
    columns: list[Column]
    before: str  # empty where there was nothing


def picture(shown: list[Figures], earlier: list[Figures], measure: str) -> Picture:
    """Each of both at its place."""
    highest = max(one.of(measure) for one in [*shown, *earlier]) or 1
    each = 100 / len(shown)
    before = [one.figure(measure) for one in earlier]
    columns = [
        _column(one, measure, highest, (place * each, each), past)
        for place, (one, past) in enumerate(zip(shown, before, strict=True))
    ]
    return Picture(highest, columns, outline(before, highest) if any(before) else "")


def _column(
    one: Figures, measure: str, highest: float, place: tuple[float, float], before: float | None
) -> Column:
    (x, each), scale = place, 100 / highest
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
    """In the order of `PARTS`. No upstream is trusted to have more from a cache than went in."""
    if measure == "tokens":
        cached = min(one["cached_tokens"], one["prompt_tokens"])
        thought = min(one["reasoning_tokens"], one["completion_tokens"])
        fresh, written = one["prompt_tokens"] - cached, one["completion_tokens"] - thought
        return [fresh, cached, written, thought]
    if measure == "replies":
        return [one[name] for name in ("complete", "stopped", "limited", "failed")]
    return [one.of(measure)]


def outline(values: list[float | None], highest: float, width: float = 1000) -> str:
    """Stairs that stand on the foot, with a gap where nothing is known."""
    each, path, is_open = width / len(values), "", False
    for place, value in enumerate(values):
        if value is None:
            path += "V100" if is_open else ""
        else:
            path += "" if is_open else f"M{place * each:g} 100"
            path += f"V{round(100 - 100 * value / highest, 2):g}H{(place + 1) * each:g}"
        is_open = value is not None
    return f"{path}V100" if is_open else path
