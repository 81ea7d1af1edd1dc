"""The app compared with the limit: both are measured in turns, and their medians compared.

Other load on a shared machine affects both alike, and the ratio is the same on other machines.
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
    """One figure at the app and at the limit, with a value for each round."""

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
        """Return a row that passes up to `times` the limit's value, or up to `bar` in its own unit.

        Without either it always passes. `point`, a load and a number of replies, puts it in the
        chart.
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
        """Return a row that passes from this share of the limit's value on."""
        value, limit = (f"{median(taken):.{digits}f}" for taken in (self.app, self.limit))
        ok = self.ratio >= share
        return Row(figure, f"{value} {unit}", f"≥ {share:g} ×", ok, limit, self.ratio)


async def in_turns(measure: Measure, rounds: int, **settings: str) -> dict[str, Pair]:
    """Measure the app and the limit in turns; return the figures by name.

    Settings are environment variables of the app.
    """
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
    """Run one reply, so that nothing is done for the first time later."""
    tab = await browser.open_tab()
    tab.ask(Order(browser.next_number(), tokens=20))
    await tab.reply_ended()
    await browser.close_tabs()
