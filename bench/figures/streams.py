"""What the app adds to each token's way from the upstream to the tab, many replies at a time."""

import asyncio

from bench.answers import Order
from bench.driver import Browser, Tab
from bench.server import serving
from bench.table import Row, percentile

PACE = 50.0
P99_MS = {1: 2.0, 50: 8.0, 100: 15.0, 200: 40.0}


async def measure(quick: bool) -> list[Row]:
    return [await _row(replies, tokens=200 if quick else 750) for replies in P99_MS]


async def _row(replies: int, tokens: int) -> Row:
    with serving() as server:
        async with Browser.signed_in(server) as browser:
            await stream_at_once(browser, 1, 20)  # so that nothing is done for the first time
            tabs, complete = await stream_at_once(browser, replies, tokens)
    latencies = [latency * 1000 for tab in tabs for latency in tab.latencies]
    p50, p99 = percentile(latencies, 50), percentile(latencies, 99)
    all_there = complete == replies and len(latencies) == replies * tokens
    measured = f"p50 {p50:.1f}, p99 {p99:.1f} ms"
    if not all_there:
        measured += f"; {complete} finished, {len(latencies)}/{replies * tokens} tokens"
    return Row(
        f"added latency, {replies} {'reply' if replies == 1 else 'replies'} at {PACE:g} tokens/s",
        measured,
        f"p99 ≤ {P99_MS[replies]:g} ms, all finish",
        all_there and p99 <= P99_MS[replies],
    )


async def stream_at_once(browser: Browser, replies: int, tokens: int) -> tuple[list[Tab], int]:
    """Starts that many replies at the same time; returns their tabs and how many completed."""
    tabs = await browser.open_tabs(replies)
    for tab in tabs:
        tab.ask(Order(browser.next_number(), tokens, PACE))
    endings = await asyncio.gather(*(tab.reply_ended() for tab in tabs))
    await browser.close_tabs()
    return tabs, endings.count("complete")
