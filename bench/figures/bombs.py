"""The longest response time of /healthz while a text that is hard to render ("bomb") arrives. Each
bomb takes the real path: a scripted upstream or the composer, two tabs that show it, and the page
loaded afterwards."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from bench.bomb_upstream import prompt_for
from bench.bombs import PROMPTS, REPLIES, formulas
from bench.driver import Browser, Tab
from bench.polling import Polling, polling
from bench.server import ROOT, Server, serving
from bench.table import Row, at_most

WORST_MS = 50.0
TABS, MANY_TABS, MANY_PROMPTS = 2, 3000, 500
PATIENCE_SECONDS = 60.0
SETTLE_SECONDS = 1.5  # after the start
LINEAR = 20.0  # times the CPU for ten times the size; quadratic work would take a hundred times


async def measure(quick: bool) -> list[Row]:
    """Each bomb has a server of its own; `quick` leaves out the prompts and the crowds."""
    rows = [await _gap("at rest", "A prompt")]
    rows += [await _gap(f"reply: {name}", prompt_for(name)) for name in REPLIES]
    with serve_bombs() as (server, gaps):
        async with Browser.signed_in(server) as browser:
            rows.append(await _short_prompt_in_a_long_thread(browser, gaps))
    if not quick:
        rows += [await _gap(f"prompt: {name}", text(1)) for name, text in PROMPTS.items()]
        rows += await _crowds()
    return rows


async def _gap(name: str, prompt: str) -> Row:
    with serve_bombs() as (server, gaps):
        async with Browser.signed_in(server) as browser:
            browser.client.timeout = httpx.Timeout(PATIENCE_SECONDS)
            await asyncio.sleep(SETTLE_SECONDS)
            gaps.worst()
            await _go_off(browser, prompt)
            return _row(name, gaps)


async def measure_growth(quick: bool) -> list[Row]:
    """CPU for the whole message at a tenth of the size and at full size: ten times is linear."""
    rows = []
    with serve_bombs() as (server, _):
        async with Browser.signed_in(server) as browser:
            for name in list(REPLIES)[:: 4 if quick else 1]:
                small, large = [await _cpu(browser, server, name, scale) for scale in (0.1, 1)]
                ratio = large / max(small, 0.05)
                figure = f"CPU of {name}: {small:.2f} s at a tenth, {large:.2f} s"
                rows.append(at_most(figure, ratio, LINEAR, "times", 1))
    return rows


@contextmanager
def serve_bombs() -> Iterator[tuple[Server, Polling]]:
    """Run the app with an upstream that answers with bombs, and a process that polls it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.bomb_upstream"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        upstream = f"127.0.0.1:{int(process.stdout.readline())}"
        with serving(upstream=upstream) as server, polling(server.host) as gaps:
            yield server, gaps
    finally:
        process.kill()
        process.communicate()


def _row(name: str, gaps: Polling) -> Row:
    row = at_most(name, gaps.worst(), WORST_MS, "ms")
    print(f"    {row.figure}: {row.measured}", file=sys.stderr, flush=True)
    return row


async def _cpu(browser: Browser, server: Server, name: str, scale: float) -> float:
    before = server.cpu_seconds()
    await _go_off(browser, prompt_for(name, scale))
    return server.cpu_seconds() - before


async def _go_off(browser: Browser, prompt: str) -> None:
    """Send a prompt, wait for its reply in two tabs, and load its page."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            tab = await browser.open_tab()
            tab.say(prompt)
            await tab.has_conversation()
            other = await browser.open_tab(tab.path)
            await tab.reply_ended()
            await browser.client.get(tab.path, timeout=PATIENCE_SECONDS)
            other.socket.close()
    except (TimeoutError, httpx.TimeoutException):
        print(f"    not over after {PATIENCE_SECONDS:.0f} s", file=sys.stderr, flush=True)
    await browser.close_tabs()


async def _short_prompt_in_a_long_thread(browser: Browser, gaps: Polling) -> Row:
    first = await browser.open_tab()
    for _ in range(3):  # a single frame of everything would be over a megabyte
        first.say(formulas(60_000))
        await first.reply_ended()
    tabs = [first, *[await browser.open_tab(first.path) for _ in range(7)]]
    await asyncio.sleep(1)
    gaps.worst()
    await _say_in_all(tabs)
    row = _row("8 characters in a thread of formulas, 8 tabs", gaps)
    await browser.close_tabs()
    return row


async def _say_in_all(tabs: list[Tab]) -> None:
    """Send one prompt, and wait for its reply in all tabs of the conversation."""
    for tab in tabs[1:]:
        tab.watch()
    tabs[0].say("A prompt")
    await asyncio.gather(*(tab.reply_ended() for tab in tabs))


async def _crowds() -> list[Row]:
    rows = []
    with serve_bombs() as (server, gaps):
        async with Browser.signed_in(server) as browser:
            tabs = await browser.open_tabs(MANY_PROMPTS)
            gaps.worst()
            for tab in tabs:
                tab.say("A prompt")
            await asyncio.gather(*(tab.reply_ended() for tab in tabs))
            rows.append(_row(f"{MANY_PROMPTS} prompts at once", gaps))
            await browser.close_tabs()
            first = await browser.open_tab()
            first.say("A prompt")
            await first.reply_ended()
            tabs = [first, *[await browser.open_tab(first.path) for _ in range(MANY_TABS - 1)]]
            await asyncio.sleep(1)
            gaps.worst()
            await _say_in_all(tabs)
            rows.append(_row(f"one prompt in {MANY_TABS} tabs", gaps))
    return rows
