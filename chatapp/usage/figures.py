"""Figures of usage: sums as the tables have them, and what follows from them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from chatapp.models.daily_usage import SUMS

NONE: Mapping[str, int] = dict.fromkeys(SUMS, 0)


@dataclass(frozen=True)
class Figures:
    """Of a day, a model, a person…"""

    label: str
    sums: Mapping[str, int]
    people: int = 0

    def __getitem__(self, name: str) -> int:
        return self.sums[name]

    def plus(self, other: "Figures") -> Self:
        """Of both, of whom nobody is the same."""
        sums = {name: value + other.sums[name] for name, value in self.sums.items()}
        return replace(self, sums=sums, people=self.people + other.people)

    @property
    def tokens(self) -> int:
        return self["prompt_tokens"] + self["completion_tokens"]

    @property
    def first_token(self) -> float | None:
        """Seconds until it came, on average."""
        return self["first_token_ms"] / self["timed"] / 1000 if self["timed"] else None

    @property
    def speed(self) -> float | None:
        """Tokens a second, from the first one on."""
        return self["written_tokens"] * 1000 / self["written_ms"] if self["written_ms"] else None

    def figure(self, name: str) -> float | None:
        """A sum, or what follows from sums."""
        return self.sums[name] if name in self.sums else getattr(self, name)

    def of(self, measure: str) -> int:
        return self.tokens if measure == "tokens" else self[measure]

    def unsure(self, measure: str) -> int:
        """How much of that is estimated; of replies, how many were not written to their end."""
        if measure == "replies":
            return self["replies"] - self["complete"]
        return self[f"estimated_{measure}"]

    def unknown_share(self, measure: str) -> float:
        """Of replies and titles: for how many of them it is not known at all."""
        unknown = self["unpriced" if measure == "cost" else "unknown"]
        return unknown / self["booked"] if self["booked"] else 0.0


def change(now: float | None, before: float | None) -> str:
    """Against the period before: +12 %."""
    if not before or now is None:
        return ""
    percent = round(100 * (now - before) / before)
    return f"{percent:+,} %".replace("-", "\N{MINUS SIGN}") if percent else "as before"


@dataclass(frozen=True)
class Bar:
    """Of a chart that is 100 high: where each part begins, from the top, and how high it is."""

    x: float
    width: float
    sure: float
    unsure: float
    unknown: float  # of 1
    label: str

    @property
    def foot(self) -> float:
        """Where what is sure begins, on which stands what is not."""
        return round(100 - self.sure, 2)

    @property
    def top(self) -> float:
        return round(self.foot - self.unsure, 2)


def bars(rows: list[Figures], measure: str, width: float = 1000) -> list[Bar]:
    """One beside the other, with a fifth of each left free."""
    most = max((one.of(measure) for one in rows), default=0) or 1
    each = width / max(1, len(rows))
    return [
        Bar(
            x=round(place * each + each / 10, 2),
            width=round(each * 0.8, 2),
            sure=round(100 * (one.of(measure) - one.unsure(measure)) / most, 2),
            unsure=round(100 * one.unsure(measure) / most, 2),
            unknown=round(one.unknown_share(measure), 3),
            label=one.label,
        )
        for place, one in enumerate(rows)
    ]
