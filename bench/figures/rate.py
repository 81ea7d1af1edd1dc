"""How many tokens a second come within 100 ms: by one process, by several with a core each.

Ever more replies of 50 tokens/s stream until the p99 of a token is over that; then halves of the
step are tried.
"""

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import partial

from bench import processes
from bench.beside import in_turns, rounds
from bench.cluster import Cluster, cluster
from bench.driver import Browser
from bench.figures.streams import streaming
from bench.table import Row, percentile

P99_MS = 100.0
FIRST = 50  # replies
SHARE, SHARE_OF_A_CORE = 0.2, 0.8
PATIENCE = {"CHATAPP_CLOSE_GRACE": "3600", "CHATAPP_DROP_GRACE": "3600"}


async def alone(quick: bool) -> list[Row]:
    """One process, SQLite."""
    taken = await in_turns(partial(_of_one, quick=quick), rounds(quick))
    figure = f"tokens/s at p99 ≤ {P99_MS:g} ms, one process"
    return [taken["rate"].at_least(figure, "tokens/s", share=SHARE)]


async def workers(quick: bool) -> list[Row]:
    """One, two and three workers with a core each, PostgreSQL; all else shares another core."""
    rates: list[float] = []
    rows = []
    with _on_the_last_core() as cores:
        for count in range(1, min(2 if quick else 3, len(cores)) + 1):
            with cluster(count, **PATIENCE) as here:
                for core, server in zip(cores, here.stack.servers, strict=False):
                    processes.pin(server.pid, {core})
                rates.append(await _of_all(here, quick))
            times, bar = rates[-1] / rates[0], 1 + SHARE_OF_A_CORE * (count - 1)
            rows.append(
                Row(
                    f"tokens/s at p99 ≤ {P99_MS:g} ms, {count} with a core each",
                    f"{rates[-1]:.0f} tokens/s, {times:.2f} × one's",
                    f"≥ {bar:g} × one's",
                    times >= bar,
                )
            )
    return rows


@contextmanager
def _on_the_last_core() -> Iterator[list[int]]:
    """Keeps this process there, and what it starts; the others."""
    *others, last = cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {last})
    try:
        yield others
    finally:
        os.sched_setaffinity(0, cores)


async def _of_one(browser: Browser, quick: bool) -> Mapping[str, float]:
    return {"rate": await _highest([browser], quick)}


async def _of_all(here: Cluster, quick: bool) -> float:
    async with AsyncExitStack() as opened:
        numbers = range(len(here.stack.servers))
        browsers = [await opened.enter_async_context(here.browser(n)) for n in numbers]
        return await _highest(browsers, quick)


async def _highest(browsers: Sequence[Browser], quick: bool) -> float:
    """The most tokens a second at which the p99 was within the bar, to an eighth (or a half)."""
    good, bad, best = 0, 0, 0.0  # replies that were within the bar, and over it; tokens a second
    replies = FIRST
    while not bad or bad - good > max(1, good // (1 if quick else 8)):
        rate = await _rate(browsers, replies, 2.0 if quick else 4.0)
        if rate:
            good, best = replies, rate
        else:
            bad = replies
        replies = (good + bad) // 2 if bad else good * 2
    return best


async def _rate(browsers: Sequence[Browser], replies: int, seconds: float) -> float:
    """Tokens a second; 0 where they came too late twice, since once may be the machine's doing."""
    for _ in range(2):
        with suppress(TimeoutError):  # some reply did not even begin
            async with streaming(browsers, replies) as tabs:
                for tab in tabs:
                    tab.latencies.clear()
                await asyncio.sleep(seconds)
                latencies = [one for tab in tabs for one in tab.latencies]
            if percentile(latencies, 99) * 1000 <= P99_MS:
                return len(latencies) / seconds
    return 0.0


PARTS = {"alone": alone, "workers": workers}
