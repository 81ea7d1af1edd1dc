"""Usage figures: the stored sums, and averages and shares computed from them. No I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# The sums that the chart of each measure is drawn from.
DRAWN = {
    "tokens": (
        *("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens"),
        *("estimated_tokens", "unknown", "booked"),
    ),
    "cost": ("cost", "estimated_cost", "unpriced", "booked"),
    "replies": ("replies", "complete", "stopped", "limited", "failed"),
    "people": (),
    "first_token": ("timed", "first_token_ms"),
    "speed": ("written_tokens", "written_ms"),
}
# Measures that can be estimated or unknown.
ESTIMATED = ("tokens", "cost")
# The sums of the previous period that figures are compared with.
COMPARED = (
    *("prompt_tokens", "completion_tokens", "cost", "unpriced", "booked", "replies", "complete"),
    *("timed", "first_token_ms", "written_tokens", "written_ms"),
)


@dataclass(frozen=True)
class Figures:
    """The sums of one row: a day, a model, a person or another group.

    Only the sums that were queried are present.
    """

    label: str
    sums: Mapping[str, int]
    people: int = 0

    def __getitem__(self, name: str) -> int:
        return self.sums[name]

    @property
    def tokens(self) -> int:
        return self["prompt_tokens"] + self["completion_tokens"]

    @property
    def first_token(self) -> float | None:
        """The average time to the first token, in seconds."""
        return self["first_token_ms"] / self["timed"] / 1000 if self["timed"] else None

    @property
    def speed(self) -> float | None:
        """Tokens per second from the first token on."""
        return self["written_tokens"] * 1000 / self["written_ms"] if self["written_ms"] else None

    def figure(self, name: str) -> float | None:
        """Return a sum or a computed figure; None if it is unknown."""
        if name == "cost" and self._costs_are_unknown:
            return None
        return self.sums[name] if name in self.sums else getattr(self, name)

    @property
    def _costs_are_unknown(self) -> bool:
        """Whether no reply or title has a known cost. A sum of 0 would look free."""
        booked = self.sums.get("booked")
        return bool(booked) and self.sums.get("unpriced") == booked

    def of(self, measure: str) -> float:
        return self.figure(measure) or 0

    def unsure(self, measure: str) -> int:
        """Return how much of a measure is estimated."""
        return self[f"estimated_{measure}"] if measure in ESTIMATED else 0

    def unknown_share(self, measure: str) -> float:
        """Return the share of replies and titles for which a measure is unknown, from 0 to 1."""
        if measure not in ESTIMATED:
            return 0.0
        unknown = self["unpriced" if measure == "cost" else "unknown"]
        return unknown / self["booked"] if self["booked"] else 0.0


def added(rows: Iterable[Figures], names: Iterable[str]) -> Figures:
    """Add the named sums up. People are added too, so the rows must not share any."""
    rows = list(rows)
    sums = {name: sum(row[name] for row in rows) for name in names}
    return Figures("", sums, sum(row.people for row in rows))


def change(now: float | None, before: float | None) -> str:
    """Return the change from the previous period, for example "+12 %"; "" if it is unknown."""
    if not before or now is None:
        return ""
    percent = round(100 * (now - before) / before)
    return f"{percent:+,} %".replace("-", "\N{MINUS SIGN}") if percent else "no change"
