"""Usage figures: the stored sums, and averages and shares computed from them. No I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

# The sums that the chart of each measure is drawn from.
CHART_SUMS = {
    "cost": ("cost", "estimated_cost", "unpriced", "with_fees"),
    "tokens": ("prompt_tokens", "completion_tokens", "estimated_tokens", "unknown"),
    "answers": ("replies", "requests", "complete", "stopped", "limited", "failed"),
}
# Measures that can be estimated or unknown.
UNSURE = ("cost", "tokens")
# The sums of the previous period that figures are compared with.
COMPARED_SUMS = (
    *("prompt_tokens", "completion_tokens", "unknown", "cost", "unpriced", "with_fees"),
    *("replies", "requests"),
)


@dataclass(frozen=True)
class Figures:
    """The sums of one row: a day, a model, a person or another group.

    Only the sums that were queried are present.
    """

    label: str
    sums: Mapping[str, int]
    people: int = 0
    day: date | None = None  # of a day, or the first of a month

    def __getitem__(self, name: str) -> int:
        return self.sums[name]

    @property
    def tokens(self) -> int:
        return self["prompt_tokens"] + self["completion_tokens"]

    @property
    def answers(self) -> int:
        """Replies, and answers to requests over the API."""
        return self["replies"] + self["requests"]

    @property
    def estimated_share(self) -> float:
        """The part of the tokens that is estimated, from 0 to 1."""
        return self["estimated_tokens"] / self.tokens if self.tokens else 0

    @property
    def first_token(self) -> float | None:
        """The average time to the first token, in seconds."""
        return self["first_token_ms"] / self["timed"] / 1000 if self["timed"] else None

    @property
    def speed(self) -> float | None:
        """Tokens per second from the first token on."""
        return self["written_tokens"] * 1000 / self["written_ms"] if self["written_ms"] else None

    def figure(self, name: str) -> float | None:
        """Return a sum or a computed figure; None if it is unknown. A sum of 0 would look free."""
        value: float | None = self.sums[name] if name in self.sums else getattr(self, name)
        return None if not value and self.is_partial(name) else value

    def is_partial(self, measure: str) -> bool:
        """Whether a measure is unknown for some replies or titles, so that its sum is too small."""
        if measure == "cost":
            return self.sums["unpriced"] > 0 or self.sums["with_fees"] > 0
        return measure == "tokens" and self.sums["unknown"] > 0

    def get_amount(self, measure: str) -> float:
        return self.figure(measure) or 0

    def unsure(self, measure: str) -> int:
        """Return how much of a measure is estimated."""
        return self[f"estimated_{measure}"] if measure in UNSURE else 0


def add_figures(rows: Iterable[Figures], names: Iterable[str]) -> Figures:
    """Add the named sums up. People are added too, so the rows must not share any."""
    rows = list(rows)
    sums = {name: sum(row[name] for row in rows) for name in names}
    return Figures("", sums, sum(row.people for row in rows))


def change(now: Figures, before: Figures, measure: str) -> str:
    """Return the change of a measure in words, for example "12% more than"; "" if it is unknown.

    The name of the previous period follows.
    """
    value, earlier = now.figure(measure), before.figure(measure)
    if value is None or not earlier:
        return ""
    percent = round(100 * (value / earlier - 1))
    words = (
        f"{abs(percent):,}% {'more' if percent > 0 else 'less'} than" if percent else "the same as"
    )
    is_partial = now.is_partial(measure) or before.is_partial(measure)
    return f"known: {words}" if is_partial else words
