"""The time until the upstream request is closed after its tab closes, is cut off, or Stop is
pressed."""

import asyncio
import random
import time
from collections.abc import Callable

from bench.answers import Order
from bench.beside import in_turns
from bench.driver import Browser, Tab
from bench.table import Row, at_most

MEDIAN_MS, WORST_MS = 3.0, 20.0
WITHOUT_GRACE = {"CHATAPP_CLOSE_GRACE": "0", "CHATAPP_DROP_GRACE": "0"}


async def measure(quick: bool) -> list[Row]:
    times = 5 if quick else 20
    taken = await in_turns(_each_way, times, **WITHOUT_GRACE)
    rows = []
    for way, pair in taken.items():
        figure = f"upstream closed after {way}:"
        rows += [
            pair.at_most(f"{figure} median", "ms", 1, bar=MEDIAN_MS),
            at_most(f"{figure} worst of {times}", max(pair.app), WORST_MS, "ms", 1),
        ]
    return rows


async def _each_way(browser: Browser) -> dict[str, float]:
    return {way: await _time_to_close(browser, end) for way, end in WAYS.items()}


async def _time_to_close(browser: Browser, end: Callable[[Tab], float]) -> float:
    """Return milliseconds from the tab's action in mid-reply to the close seen by the upstream."""
    tab = await browser.open_tab()
    order = Order(browser.next_number(), tokens=5000)
    tab.ask(order)
    await tab.reply_began()
    await asyncio.sleep(random.uniform(0.1, 0.4))  # at any phase of tokens and checkpoints
    ended_at = end(tab)
    request = await browser.wait_for_request(order, closed=True)
    assert request.closed_at
    await browser.close_tabs()
    return (request.closed_at - ended_at) * 1000


def _close(tab: Tab) -> float:
    now = time.monotonic()
    tab.socket.close()
    return now


def _abort(tab: Tab) -> float:
    now = time.monotonic()
    tab.socket.abort()
    return now


WAYS = {"a close (1001)": _close, "a reset of TCP": _abort, "Stop": Tab.stop}
