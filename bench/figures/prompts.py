"""From the prompt sent over the socket to the arrival of the request at the upstream."""

import asyncio
from functools import partial
from statistics import median

from bench.answers import Order
from bench.beside import in_turns
from bench.driver import Browser
from bench.table import Row

ALONE_MS, AT_ONCE_MS = 25.0, 300.0
AT_ONCE = 50


async def measure(quick: bool) -> list[Row]:
    alone = await in_turns(partial(_p50, prompts=1), 10 if quick else 40)
    at_once = await in_turns(partial(_p50, prompts=AT_ONCE), 1 if quick else 5)
    figure = "prompt to upstream request"
    return [
        alone["p50"].at_most(f"{figure}, alone: p50", "ms", 1, bar=ALONE_MS),
        at_once["p50"].at_most(f"{figure}, {AT_ONCE} at once: p50", "ms", 1, bar=AT_ONCE_MS),
    ]


async def _p50(browser: Browser, prompts: int) -> dict[str, float]:
    """Return the median in milliseconds of first prompts, all sent at the same time."""
    tabs = await browser.open_tabs(prompts)
    orders = [Order(browser.next_number(), tokens=5) for _ in tabs]
    sent_at = [tab.ask(order) for tab, order in zip(tabs, orders, strict=True)]
    await asyncio.gather(*(tab.reply_ended() for tab in tabs))
    requests = [await browser.wait_for_request(order) for order in orders]
    await browser.close_tabs()
    times = [
        (request.arrived_at - at) * 1000 for request, at in zip(requests, sent_at, strict=True)
    ]
    return {"p50": median(times)}
