"""From the prompt sent over the socket to the request that arrives at the upstream."""

import asyncio
from statistics import median

from bench.answers import Order
from bench.driver import Browser
from bench.server import serving
from bench.table import Row, at_most

ALONE_MS, AT_ONCE_MS = 25.0, 300.0
AT_ONCE = 50


async def measure(quick: bool) -> list[Row]:
    with serving() as server:
        async with Browser.signed_in(server) as browser:
            alone = [time for _ in range(10 if quick else 40) for time in await _times(browser, 1)]
            at_once = [
                time for _ in range(1 if quick else 4) for time in await _times(browser, AT_ONCE)
            ]
    return [
        at_most("prompt to upstream request, alone, p50", median(alone), ALONE_MS, "ms", 1),
        at_most(
            f"prompt to upstream request, {AT_ONCE} at once, p50", median(at_once), AT_ONCE_MS, "ms"
        ),
    ]


async def _times(browser: Browser, count: int) -> list[float]:
    """Milliseconds for each of `count` first prompts, all sent at the same time."""
    tabs = await browser.open_tabs(count)
    orders = [Order(browser.next_number(), tokens=5) for _ in tabs]
    sent_at = [tab.ask(order) for tab, order in zip(tabs, orders, strict=True)]
    await asyncio.gather(*(tab.reply_ended() for tab in tabs))
    requests = [await browser.request_of(order) for order in orders]
    await browser.close_tabs()
    return [(one.arrived_at - at) * 1000 for one, at in zip(requests, sent_at, strict=True)]
