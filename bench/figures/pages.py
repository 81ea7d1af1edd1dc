"""The cost of many pages at once for the replies that stream meanwhile, and the time they take."""

import json
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median

from bench.answers import Order
from bench.driver import Browser
from bench.figures.streams import streaming
from bench.server import ROOT, Server, serving
from bench.table import Row, at_most, percentile

REPLIES, PAGES = 40, 50
TOKEN_MS, PAGE_MS = 25.0, 500.0


async def measure(quick: bool) -> list[Row]:
    """50 pages of a chat are opened at the same time while 40 replies stream, again and again."""
    rounds = 3 if quick else 10
    with serving() as server:
        async with Browser.signed_in(server) as browser:
            path = await _chat(browser)
            seconds: list[float] = []
            async with streaming(browser, REPLIES) as tabs, _opening(server, path) as pages:
                for tab in tabs:
                    tab.latencies.clear()
                for _ in range(rounds):
                    seconds += await _open(pages)
                latencies = [latency * 1000 for tab in tabs for latency in tab.latencies]
    who = f"while {PAGES} pages are opened at once"
    return [
        at_most(
            f"a token, {REPLIES} replies, {who}: p99", percentile(latencies, 99), TOKEN_MS, "ms", 1
        ),
        Row(f"a token, {REPLIES} replies, {who}: p50", f"{median(latencies):.1f} ms", "", ok=True),
        at_most(
            f"a page, {PAGES} at once beside {REPLIES} replies: p50",
            median(seconds) * 1000,
            PAGE_MS,
            "ms",
            0,
        ),
    ]


async def _chat(browser: Browser) -> str:
    [tab] = await browser.open_tabs(1)
    tab.ask(Order(browser.next_number(), 20, 1000))
    await tab.reply_ended()
    return tab.path


@asynccontextmanager
async def _opening(server: Server, path: str) -> AsyncIterator[Process]:
    """Run `bench.opening`."""
    arguments = (server.host, server.upstream, path, str(PAGES))
    process = await create_subprocess_exec(
        *(sys.executable, "-m", "bench.opening", *arguments), cwd=ROOT, stdin=PIPE, stdout=PIPE
    )
    assert process.stdout
    try:
        if not await process.stdout.readline():
            raise RuntimeError("the pages could not be opened")
        yield process
    finally:
        process.kill()
        await process.wait()


async def _open(pages: Process) -> list[float]:
    """Open all pages at the same time; return the seconds that each took."""
    assert pages.stdin
    assert pages.stdout
    pages.stdin.write(b"\n")
    taken: list[float] = json.loads(await pages.stdout.readline())
    return taken
