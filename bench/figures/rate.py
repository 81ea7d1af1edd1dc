"""The number of tokens per second that arrive within 100 ms: from one process, and from several
with a core each. The number of replies of 50 tokens/s is doubled until the p99 of a token exceeds
that, and then bisected."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

from bench import processes
from bench.beside import in_turns, rounds
from bench.driver import Browser
from bench.figures.streams import streaming
from bench.server import serving
from bench.table import Row, percentile
from tests.deployment.services import Redis

P99_MS = 100.0
FIRST = 50  # replies
BEGIN_SECONDS = 10.0  # that all first tokens may take
SHARE, SHARE_OF_A_CORE = 0.2, 0.8


async def alone(quick: bool) -> list[Row]:
    """One process, on SQLite."""
    taken = await in_turns(partial(_measure_one, quick=quick), rounds(quick))
    figure = f"tokens/s at p99 ≤ {P99_MS:g} ms, one process"
    return [taken["rate"].at_least(figure, "tokens/s", share=SHARE)]


async def workers(quick: bool) -> list[Row]:
    """One, two and three workers with a core each, SQLite and Redis; everything else shares
    another."""
    rates: list[float] = []
    rows = []
    with _on_the_last_core() as cores, Redis() as redis:
        for count in range(1, min(2 if quick else 3, len(cores)) + 1):
            with serving(WORKERS=str(count), REDIS_URL=redis.url) as server:
                for worker, core in zip(server.workers(count), cores, strict=False):
                    processes.pin(worker, {core})
                async with Browser.signed_in(server) as browser:
                    rates.append(await _highest(browser, quick))
            times, bar = rates[-1] / rates[0], 1 + SHARE_OF_A_CORE * (count - 1)
            rows.append(
                Row(
                    f"tokens/s at p99 ≤ {P99_MS:g} ms, {count} with a core each",
                    f"{rates[-1]:.0f} tokens/s, {times:.2f} × one's",
                    f"≥ {bar:g} × one's" if count > 1 else "",
                    times >= bar,
                )
            )
    return rows


@contextmanager
def _on_the_last_core() -> Iterator[list[int]]:
    """Keep this process and its children on the last core; yield the other cores."""
    *others, last = cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {last})
    try:
        yield others
    finally:
        os.sched_setaffinity(0, cores)


async def _measure_one(browser: Browser, quick: bool) -> Mapping[str, float]:
    return {"rate": await _highest(browser, quick)}


async def _highest(browser: Browser, quick: bool) -> float:
    """Return the most tokens per second with the p99 within the bar, to 1/8 (quick: 1/2)."""
    good, bad, best = 0, 0, 0.0  # replies within the bar, and over it; tokens per second
    replies = FIRST
    while not bad or bad - good > max(1, good // (1 if quick else 8)):
        rate = await _rate(browser, replies, quick)
        if rate:
            good, best = replies, rate
        else:
            bad = replies
        replies = (good + bad) // 2 if bad else good * 2
    return best


async def _rate(browser: Browser, replies: int, quick: bool) -> float:
    """Return tokens per second, or 0 if they were late twice: once may be due to the machine."""
    seconds = 2.0 if quick else 4.0
    for _ in range(1 if quick else 2):
        with suppress(TimeoutError):  # a reply did not even begin
            async with streaming(browser, replies, BEGIN_SECONDS) as tabs:
                for tab in tabs:
                    tab.latencies.clear()
                await asyncio.sleep(seconds)
                latencies = [latency for tab in tabs for latency in tab.latencies]
            if percentile(latencies, 99) * 1000 <= P99_MS:
                return len(latencies) / seconds
    return 0.0


PARTS = {"alone": alone, "workers": workers}
