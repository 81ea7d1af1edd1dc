"""The latency that the app adds to each token from the upstream to the tab, with many replies at
once."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from itertools import chain

from bench.answers import Order
from bench.beside import in_turns, rounds
from bench.driver import Browser, Tab
from bench.table import Row, percentile

PACE = 50.0
LONG = 6000  # tokens; no reply ends by itself while it is measured
STEADY_TIMES = {1: None, 50: 6.0, 100: 8.0, 200: 30.0}  # p99, by the number of replies
STORM_TIMES = {50: 10.0, 100: None, 200: 40.0}
STORM_TOKENS = 200
FIRST_TOKEN_MS = {50: 60.0}


async def steady(quick: bool) -> list[Row]:
    """Replies begun one after another over a second: while all stream, and from the first prompt
    on, when the other prompts delay tokens as well."""
    seconds = 3.0 if quick else 10.0
    rows = []
    for replies in [50] if quick else STEADY_TIMES:
        times = STEADY_TIMES[replies]
        measure = partial(_steady, replies=replies, seconds=seconds)
        taken = await in_turns(measure, rounds(quick))
        figure = f"a token, {replies} {'reply' if replies == 1 else 'replies'}"
        point = "steady", replies
        rows += [
            taken["p50"].at_most(f"{figure}, steady: p50", "ms"),
            taken["p99"].at_most(f"{figure}, steady: p99", "ms", times=times, point=point),
            taken["all"].at_most(f"{figure}, from the first prompt on: p99", "ms"),
        ]
    return rows


async def storm(quick: bool) -> list[Row]:
    """First prompts all at the same time, each for 200 tokens, until the last has ended."""
    rows = []
    for replies in [50] if quick else STORM_TIMES:
        times = STORM_TIMES[replies]
        taken = await in_turns(partial(_storm, replies=replies), rounds(quick))
        figure = f"{replies} prompts at once"
        point, bar = ("storm", replies), FIRST_TOKEN_MS.get(replies)
        rows += [
            taken["p50"].at_most(f"a token, {figure}: p50", "ms"),
            taken["p99"].at_most(f"a token, {figure}: p99", "ms", times=times, point=point),
            taken["first"].at_most(f"prompt to first token, {figure}: p50", "ms", bar=bar),
        ]
    return rows


@asynccontextmanager
async def streaming(
    browser: Browser, replies: int, begin_seconds: float = 60.0
) -> AsyncIterator[list[Tab]]:
    """Stream that many replies, begun over a second; stop them at the end.

    Raises `TimeoutError` if one does not begin within `begin_seconds`.
    """
    tabs = await browser.open_tabs(replies)
    try:
        began_at = time.monotonic()
        for number, tab in enumerate(tabs):
            await asyncio.sleep(began_at + number / replies - time.monotonic())
            tab.ask(Order(browser.next_number(), LONG, PACE))
        async with asyncio.timeout(begin_seconds):
            await asyncio.gather(*(tab.reply_began() for tab in tabs))
        await asyncio.sleep(1)
        yield tabs
        for tab in tabs:
            tab.stop()
        await asyncio.gather(*(tab.reply_ended() for tab in tabs))
    finally:
        await browser.close_tabs()  # which stops those whose prompt would come after a stop


async def stream_at_once(browser: Browser, replies: int, tokens: int) -> tuple[list[Tab], int]:
    """Start that many replies at the same time; return their tabs and how many completed."""
    tabs = await browser.open_tabs(replies)
    for tab in tabs:
        tab.ask(Order(browser.next_number(), tokens, PACE))
    endings = await asyncio.gather(*(tab.reply_ended() for tab in tabs))
    await browser.close_tabs()
    return tabs, endings.count("complete")


async def _steady(browser: Browser, replies: int, seconds: float) -> Mapping[str, float]:
    async with streaming(browser, replies) as tabs:
        before = [len(tab.latencies) for tab in tabs]
        await asyncio.sleep(seconds)
        all_of = [tab.latencies.copy() for tab in tabs]
    window = [latencies[start:] for latencies, start in zip(all_of, before, strict=True)]
    return {"p50": _ms(window, 50), "p99": _ms(window, 99), "all": _ms(all_of, 99)}


async def _storm(browser: Browser, replies: int) -> Mapping[str, float]:
    tabs = await browser.open_tabs(replies)
    asked_at = [tab.ask(Order(browser.next_number(), STORM_TOKENS, PACE)) for tab in tabs]
    endings = await asyncio.gather(*(tab.reply_ended() for tab in tabs))
    first = [await tab.reply_began() - at for tab, at in zip(tabs, asked_at, strict=True)]
    latencies = [tab.latencies for tab in tabs]
    await browser.close_tabs()
    if endings.count("complete") < replies or sum(map(len, latencies)) < replies * STORM_TOKENS:
        raise RuntimeError(f"of {replies} replies not all came whole: {Counter(endings)}")
    return {
        "p50": _ms(latencies, 50),
        "p99": _ms(latencies, 99),
        "first": percentile(first, 50) * 1000,
    }


def _ms(latencies: Iterable[list[float]], percent: float) -> float:
    return percentile(chain.from_iterable(latencies), percent) * 1000
