"""CPU time of the app while 200 tabs show one reply: readers of a shared chat, compared with tabs
of its owner."""

import asyncio

from bench.answers import Order
from bench.driver import Browser
from bench.reading import open_reader, share_live
from bench.server import serving
from bench.table import Row

TABS = 200
TIMES = 1.2
PACE = 50.0  # tokens/s


async def measure(quick: bool) -> list[Row]:
    """From opening the pages to the end of a reply at 50 tokens/s, and of that the reply alone. The
    owner has one tab besides the readers'."""
    tokens = 200 if quick else 1000
    with serving() as server:
        async with Browser.signed_in(server) as browser:
            own = await _measure_reply(browser, tokens, are_readers=False)
            readers = await _measure_reply(browser, tokens, are_readers=True)
    return [
        _row("opening and reading", sum(readers[:2]), sum(own[:2])),
        _row("the reply alone", readers[1], own[1]),
        Row(
            f"tokens that reached each of {TABS} readers, and p99 of their latency",
            f"{readers[2]:.2f} of {tokens}; {readers[3]:.1f} ms",
            "all",
            readers[2] >= tokens,
        ),
    ]


def _row(what: str, readers: float, own: float) -> Row:
    ratio = readers / own
    return Row(
        f"CPU of {TABS} readers of one reply, {what}",
        f"{readers:.2f} s; {own:.2f} with tabs of their own",
        f"≤ {TIMES:g} × own tabs",
        ratio <= TIMES,
        ratio=ratio,
    )


async def _measure_reply(
    browser: Browser, tokens: int, *, are_readers: bool
) -> tuple[float, float, float, float]:
    """Return CPU seconds of opening the tabs and of the reply, the fewest tokens that a tab got,
    and the 99th percentile of their latency in milliseconds."""
    [author] = await browser.open_tabs(1)
    author.ask(Order(browser.next_number(), 1, 1000))
    await author.reply_ended()
    link = await share_live(browser, author.path) if are_readers else ""
    cpu = browser.server.cpu_seconds()
    tabs = [
        await (open_reader(browser, link) if are_readers else browser.open_tab(author.path))
        for _ in range(TABS)
    ]
    await asyncio.sleep(0.5)
    opened = browser.server.cpu_seconds()
    for tab in tabs:
        tab.watch()
    author.ask(Order(browser.next_number(), tokens, PACE))
    await asyncio.gather(*(tab.reply_ended() for tab in (author, *tabs)))
    ended = browser.server.cpu_seconds()
    await browser.close_tabs()
    latencies = sorted(latency for tab in tabs for latency in tab.latencies[-tokens:])
    p99 = latencies[int(len(latencies) * 0.99)] * 1000
    return opened - cpu, ended - opened, min(len(tab.latencies) for tab in tabs), p99
