"""CPU time of the app's processes, compared with the limit's: per token, per turn, per page."""

import asyncio
from collections.abc import Mapping
from functools import partial

from bench.answers import Order
from bench.beside import in_turns, rounds
from bench.driver import Browser, Tab
from bench.figures.streams import PACE, streaming
from bench.server import serving
from bench.table import Row, at_most

TOKEN_TIMES, TURN_MS, PAGE_MS = 4.0, 3.0, 8.0
FRAMES = 0.9
REPLIES = 100
CONVERSATIONS, TURNS = 10, 10
PAGES = 100


async def token(quick: bool) -> list[Row]:
    """While 100 replies stream at 50 tokens/s; prompts and endings are not included."""
    measure = partial(_token, seconds=4 if quick else 10)
    taken = await in_turns(measure, rounds(quick))
    figure = f"{REPLIES} replies at {PACE:g} tokens/s"
    return [
        taken["cpu"].at_most(f"CPU a token, {figure}", "µs", 1, times=TOKEN_TIMES),
        # If the app notices a lag it sends fewer frames, which would make a token look cheaper.
        taken["frames"].at_least(f"frames a token, {figure}", "frames", 2, share=FRAMES),
    ]


async def turn(quick: bool) -> list[Row]:
    """From prompt to saved reply of one token, one after another, ten in each conversation; the
    page is not included."""
    measure = partial(_turn, conversations=CONVERSATIONS // 2 if quick else CONVERSATIONS)
    taken = await in_turns(measure, rounds(quick))
    return [taken["cpu"].at_most("CPU a turn, page apart", "ms", bar=TURN_MS)]


async def page(quick: bool) -> list[Row]:
    """A page opened by a signed-in person, one after another: a new chat, and a conversation of ten
    turns."""
    with serving() as server:
        async with Browser.signed_in(server) as browser:
            [tab] = await browser.open_tabs(1)
            await _turns(browser, tab, tokens=50)
            costs = {path: await _page(browser, path, quick) for path in ("/", tab.path)}
    return [
        at_most(f"CPU of page {path[:3]}{'…' * (path != '/')}", cost, PAGE_MS, "ms", 1)
        for path, cost in costs.items()
    ]


async def _token(browser: Browser, seconds: float) -> Mapping[str, float]:
    async with streaming(browser, REPLIES) as tabs:
        cpu, frames, tokens = browser.server.cpu_seconds(), _frames(tabs), _tokens(tabs)
        await asyncio.sleep(seconds)
        cpu = browser.server.cpu_seconds() - cpu
        frames, tokens = _frames(tabs) - frames, _tokens(tabs) - tokens
    return {"cpu": cpu / tokens * 1e6, "frames": frames / tokens}


def _frames(tabs: list[Tab]) -> int:
    return sum(tab.frames for tab in tabs)


def _tokens(tabs: list[Tab]) -> int:
    return sum(len(tab.latencies) for tab in tabs)


async def _turn(browser: Browser, conversations: int) -> Mapping[str, float]:
    tabs = await browser.open_tabs(conversations)
    cpu = browser.server.cpu_seconds()
    for tab in tabs:
        await _turns(browser, tab, tokens=1)
    cpu = browser.server.cpu_seconds() - cpu
    await browser.close_tabs()
    return {"cpu": cpu / (conversations * TURNS) * 1000}


async def _turns(browser: Browser, tab: Tab, tokens: int) -> None:
    for _ in range(TURNS):
        tab.ask(Order(browser.next_number(), tokens, pace=1000))
        if (ending := await tab.reply_ended()) != "complete":
            raise RuntimeError(f"a turn ended as {ending}")


async def _page(browser: Browser, path: str, quick: bool) -> float:
    """Return milliseconds per page; the first few are not counted."""
    count = PAGES // 5 if quick else PAGES
    for number in range(-5, count):
        if number == 0:
            cpu = browser.server.cpu_seconds()
        (await browser.client.get(path)).raise_for_status()
    return (browser.server.cpu_seconds() - cpu) / count * 1000


PARTS = {"token": token, "turn": turn, "page": page}
