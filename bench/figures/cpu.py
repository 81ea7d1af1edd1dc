"""CPU time of the server's process: for a token while many stream, and for a turn."""

import asyncio

from bench.answers import Order
from bench.driver import Browser, Tab
from bench.server import Server, serving
from bench.table import Row, at_most

TOKEN_MS, TURN_MS = 0.13, 12.0
REPLIES = 100
CONVERSATIONS, TURNS = 20, 10


async def measure(quick: bool) -> list[Row]:
    with serving() as server:
        async with Browser.signed_in(server) as browser:
            turn = await _per_turn(browser, server, CONVERSATIONS // 4 if quick else CONVERSATIONS)
            token, frames = await _per_token(browser, server, seconds=4 if quick else 15)
    return [
        Row(
            f"CPU a token, {REPLIES} replies at 50 tokens/s",
            f"{token:.3f} ms, {frames:.2f} frames a token",  # fewer where the app sees a lag
            f"≤ {TOKEN_MS:g} ms",
            token <= TOKEN_MS,
        ),
        at_most(f"CPU a turn, {TURNS} in a conversation, one token each", turn, TURN_MS, "ms", 1),
    ]


async def _per_token(browser: Browser, server: Server, seconds: float) -> tuple[float, float]:
    """Milliseconds and frames a token while all stream, prompts and endings not included."""
    tabs = await browser.open_tabs(REPLIES)
    for tab in tabs:
        tab.ask(Order(browser.next_number(), tokens=int((seconds + 5) * 50)))
    await asyncio.gather(*(tab.reply_began() for tab in tabs))
    await asyncio.sleep(1)
    cpu, frames, tokens = server.cpu_seconds(), _frames(tabs), _tokens(tabs)
    await asyncio.sleep(seconds)
    cpu = server.cpu_seconds() - cpu
    frames, tokens = _frames(tabs) - frames, _tokens(tabs) - tokens
    await asyncio.gather(*(tab.reply_ended() for tab in tabs))
    return cpu / tokens * 1000, frames / tokens


def _frames(tabs: list[Tab]) -> int:
    return sum(tab.frames for tab in tabs)


def _tokens(tabs: list[Tab]) -> int:
    return sum(len(tab.latencies) for tab in tabs)


async def _per_turn(browser: Browser, server: Server, conversations: int) -> float:
    """Milliseconds from prompt to saved reply, one after another, pages not included."""
    tabs = await browser.open_tabs(conversations)
    cpu = server.cpu_seconds()
    for tab in tabs:
        for _ in range(TURNS):
            tab.ask(Order(browser.next_number(), tokens=1))
            if (ending := await tab.reply_ended()) != "complete":
                raise RuntimeError(f"a turn ended as {ending}")
    cpu = server.cpu_seconds() - cpu
    await browser.close_tabs()
    return cpu / (conversations * TURNS) * 1000
