"""Figures of usage: sums as the tables have them, and what follows from them. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# The sums of which a picture is drawn, by what it is of.
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
# What may be estimated, or not known at all.
ESTIMATED = ("tokens", "cost")
# The sums of the period before that a figure is held against.
COMPARED = (
    *("prompt_tokens", "completion_tokens", "cost", "unpriced", "booked", "replies", "complete"),
    *("timed", "first_token_ms", "written_tokens", "written_ms"),
)


@dataclass(frozen=True)
class Figures:
    """Of a day, a model, a person…; with the sums that were read, and no others."""

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
        """Seconds until it came, on average."""
        return self["first_token_ms"] / self["timed"] / 1000 if self["timed"] else None

    @property
    def speed(self) -> float | None:
        """Tokens a second, from the first one on."""
        return self["written_tokens"] * 1000 / self["written_ms"] if self["written_ms"] else None

    def figure(self, name: str) -> float | None:
        """A sum, or what follows from sums; None where nothing of it is known."""
        if name == "cost" and self._costs_are_unknown:
            return None
        return self.sums[name] if name in self.sums else getattr(self, name)

    @property
    def _costs_are_unknown(self) -> bool:
        """Whether no reply or title has a cost; a sum would be zero, as if they were free."""
        booked = self.sums.get("booked")
        return bool(booked) and self.sums.get("unpriced") == booked

    def of(self, measure: str) -> float:
        return self.figure(measure) or 0

    def unsure(self, measure: str) -> int:
        """How much of that is estimated."""
        return self[f"estimated_{measure}"] if measure in ESTIMATED else 0

    def unknown_share(self, measure: str) -> float:
        """Of replies and titles: for how many of them it is not known at all."""
        if measure not in ESTIMATED:
            return 0.0
        unknown = self["unpriced" if measure == "cost" else "unknown"]
        return unknown / self["booked"] if self["booked"] else 0.0


def added(several: Iterable[Figures], names: Iterable[str]) -> Figures:
    """Those sums of all of them, of whom nobody is the same."""
    several = list(several)
    sums = {name: sum(one[name] for one in several) for name in names}
    return Figures("", sums, sum(one.people for one in several))


def change(now: float | None, before: float | None) -> str:
    """Against the period before: +12 %."""
    if not before or now is None:
        return ""
    percent = round(100 * (now - before) / before)
    return f"{percent:+,} %".replace("-", "\N{MINUS SIGN}") if percent else "as before"
