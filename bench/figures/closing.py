"""How soon the upstream request is closed after its tab closes, is cut off, or Stop is pressed."""

import asyncio
import random
import time
from collections.abc import Callable
from statistics import median

from bench.answers import Order
from bench.driver import Browser, Tab
from bench.server import serving
from bench.table import Row

MEDIAN_MS, WORST_MS = 3.0, 20.0


async def measure(quick: bool) -> list[Row]:
    rows = []
    with serving(CHATAPP_CLOSE_GRACE="0", CHATAPP_DROP_GRACE="0") as server:
        async with Browser.signed_in(server) as browser:
            for name, end in (
                ("tab closed (1001)", _close),
                ("TCP connection aborted", _abort),
                ("Stop pressed", Tab.stop),
            ):
                times = [await _time_to_close(browser, end) for _ in range(5 if quick else 20)]
                rows.append(_row(name, times))
    return rows


async def _time_to_close(browser: Browser, end: Callable[[Tab], float]) -> float:
    """Milliseconds from the tab's doing to the close that the upstream sees, mid-reply."""
    tab = await browser.open_tab()
    order = Order(browser.next_number(), tokens=5000)
    tab.ask(order)
    await tab.reply_began()
    await asyncio.sleep(random.uniform(0.1, 0.4))  # at any phase of tokens and checkpoints
    ended_at = end(tab)
    request = await browser.request_of(order, closed=True)
    assert request.closed_at
    return (request.closed_at - ended_at) * 1000


def _close(tab: Tab) -> float:
    now = time.monotonic()
    tab.socket.close()
    return now


def _abort(tab: Tab) -> float:
    now = time.monotonic()
    tab.socket.abort()
    return now


def _row(name: str, times: list[float]) -> Row:
    middle, worst = median(times), max(times)
    return Row(
        f"{name} to upstream closed, {len(times)} times",
        f"median {middle:.1f}, worst {worst:.1f} ms",
        f"≤ {MEDIAN_MS:g}, ≤ {WORST_MS:g} ms",
        middle <= MEDIAN_MS and worst <= WORST_MS,
    )
