"""The app beside the limit: the same is measured at both in turns, and their medians are compared.

What a shared machine does meanwhile meets both alike, and the ratio is the same on others.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

from bench.answers import Order
from bench.driver import Browser
from bench.server import limiting, serving
from bench.table import Point, Row

Measure: TypeAlias = Callable[[Browser], Awaitable[Mapping[str, float]]]


def rounds(quick: bool) -> int:
    return 1 if quick else 3


@dataclass(frozen=True)
class Pair:
    """One figure of each round, at the app and at the limit."""

    app: list[float]
    limit: list[float]

    @property
    def ratio(self) -> float:
        return median(self.app) / median(self.limit)

    def at_most(
        self,
        figure: str,
        unit: str,
        digits: int = 2,
        *,
        times: float | None = None,
        bar: float | None = None,
        point: tuple[str, int] | None = None,
    ) -> Row:
        """A row that may be `times` the limit's, or `bar` in its own unit, or anything.

        The load and the number of replies of its `point` give it a place in the picture.
        """
        value = median(self.app)
        bars = [f"≤ {times:g} ×"] if times is not None else []
        bars += [f"≤ {bar:g} {unit}"] if bar is not None else []
        ok = (times is None or self.ratio <= times) and (bar is None or value <= bar)
        limit = median(self.limit)
        return Row(
            figure,
            f"{value:.{digits}f} {unit}",
            ", ".join(bars),
            ok,
            f"{limit:.{digits}f}",
            self.ratio,
            Point(*point, value, limit) if point else None,
        )

    def at_least(self, figure: str, unit: str, digits: int = 0, *, share: float) -> Row:
        """A row that must be that share of the limit's."""
        value, limit = (f"{median(taken):.{digits}f}" for taken in (self.app, self.limit))
        ok = self.ratio >= share
        return Row(figure, f"{value} {unit}", f"≥ {share:g} ×", ok, limit, self.ratio)


async def in_turns(measure: Measure, rounds: int, **settings: str) -> dict[str, Pair]:
    """What `measure` finds, by its names. Settings are the app's environment variables."""
    with serving(before=None, **settings) as app, limiting() as limit:
        async with Browser.signed_in(app) as at_app, Browser.signed_in(limit) as at_limit:
            for browser in (at_app, at_limit):
                await _warm_up(browser)
            taken = [(await measure(at_app), await measure(at_limit)) for _ in range(rounds)]
    return {
        name: Pair([app[name] for app, _ in taken], [limit[name] for _, limit in taken])
        for name in taken[0][0]
    }


async def _warm_up(browser: Browser) -> None:
    """So that nothing is done for the first time."""
    tab = await browser.open_tab()
    tab.ask(Order(browser.next_number(), tokens=20))
    await tab.reply_ended()
    await browser.close_tabs()
