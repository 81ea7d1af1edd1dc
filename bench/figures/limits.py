"""500 prompts at once under one limit for everybody, whose single row each of them locks. They are
admitted by the app's own code over 16 connections, each in its transaction, without the limit and
with it, in turns: the ratio of the two is the cost of the row. Then the same through the whole
page, from the prompt sent over a socket to the first token of its answer, on one server."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import httpx

from bench.admitting import CAP
from bench.answers import Order
from bench.cluster import site_on_postgres
from bench.driver import WAIT_SECONDS, Browser
from bench.server import ONE_FOR_ALL, Server, scripted_upstream
from bench.table import Row, percentile
from tests.support.live import Site, run

PROMPTS, QUICK_PROMPTS, TOKENS = 500, 100, 5
MAX_TIMES = 2.0
WRITERS = {"PostgreSQL": (4, 4), "SQLite": (1, 1)}  # processes, and connections of each
SET_LIMIT = f"""
import django; django.setup()
from chatapp.models import Limit
Limit.objects.create(cap={CAP}, measure="tokens", period="month")
"""


async def measure(quick: bool) -> list[Row]:
    prompts, rounds = (QUICK_PROMPTS, 1) if quick else (PROMPTS, 3)
    rows = []
    for database, writers in WRITERS.items():
        with (
            tempfile.TemporaryDirectory(prefix="bench-") as folder,
            _site(database, Path(folder)) as site,
        ):
            words = [str(number) for number in (prompts, *writers, rounds)]
            process = await asyncio.to_thread(run, site.copy(), "-m", "bench.admitting", *words)
            taken = json.loads(process.stdout)
            rows.append(_row(f"{prompts} admitted at once, {database}", taken))
            taken = await _through_pages(site, prompts, rounds)
            rows.append(_row(f"{prompts} prompts to first tokens, {database}", taken))
    return rows


@contextmanager
def _site(database: str, folder: Path) -> Iterator[Site]:
    if database == "PostgreSQL":
        with site_on_postgres(folder, is_durable=True) as site:
            yield site
        return
    site = Site(folder, "")
    site.prepare()
    yield site


def _row(figure: str, taken: dict[str, list[list[float]]]) -> Row:
    """Return a row with medians of the rounds; the ratio compares the times until all are done."""
    ratio = _median_percentile(taken["with"], 100) / _median_percentile(taken["without"], 100)
    with_limit = " / ".join(
        f"{_median_percentile(taken['with'], percent):.0f}" for percent in (50, 95, 100)
    )
    without = " / ".join(
        f"{_median_percentile(taken['without'], percent):.0f}" for percent in (50, 95, 100)
    )
    return Row(
        f"{figure}: p50 / p95 / all",
        f"{with_limit} ms; without {without}",
        f"≤ {MAX_TIMES:g} × without",
        ratio <= MAX_TIMES,
        ratio=ratio,
    )


def _median_percentile(rounds: Sequence[list[float]], percent: float) -> float:
    """Return the median of the rounds' percentiles, in milliseconds."""
    return median(percentile(times, percent) for times in rounds) * 1000


async def _through_pages(site: Site, prompts: int, rounds: int) -> dict[str, list[list[float]]]:
    async with _browser(site) as without, _browser(site, SET_LIMIT) as limited:
        browsers = {"without": without, "with": limited}
        for browser in browsers.values():
            await _first_tokens(browser, 20)  # so that nothing is done for the first time later
        taken: dict[str, list[list[float]]] = {name: [] for name in browsers}
        for _ in range(rounds):
            for name, browser in browsers.items():
                taken[name].append(await _first_tokens(browser, prompts))
    return taken


@asynccontextmanager
async def _browser(site: Site, script: str = "") -> AsyncIterator[Browser]:
    """Open a browser at a server of its own; the script runs before the server starts."""
    person = site.person()
    with scripted_upstream() as upstream:
        server = site.server(OPENAI_BASE_URL=f"http://{upstream}/v1", **ONE_FOR_ALL)
        if script:
            await asyncio.to_thread(run, server.environment, "-c", script)
        with server:
            address = Server(server.pid, urlsplit(server.url).netloc, upstream, 0.0)
            async with httpx.AsyncClient(
                base_url=server.url,
                cookies=person.cookies,
                timeout=WAIT_SECONDS,
                trust_env=False,
            ) as client:
                yield Browser(address, client)


async def _first_tokens(browser: Browser, prompts: int) -> list[float]:
    """Return seconds from each prompt to its first token; all are sent at the same time."""
    tabs = await browser.open_tabs(prompts)
    orders = [Order(browser.next_number(), TOKENS) for _ in tabs]
    asked_at = [tab.ask(order) for tab, order in zip(tabs, orders, strict=True)]
    first = [await tab.reply_began() - at for tab, at in zip(tabs, asked_at, strict=True)]
    await asyncio.gather(*(tab.reply_ended() for tab in tabs))
    await browser.close_tabs()
    return first
