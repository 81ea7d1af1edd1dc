"""CPU time of the app while 200 tabs show one reply: readers of a shared chat, compared with tabs
of its owner."""

import asyncio
import re

from bench.answers import Order
from bench.driver import INPUT, Browser, Tab
from bench.server import serving
from bench.table import Row
from bench.websocket import open_websocket

TABS = 200
TIMES = 1.2
PACE = 50.0  # tokens/s
_LINK = re.compile(r'value="http://[^/]+(/s/[^"]+)"')


async def measure(quick: bool) -> list[Row]:
    """From opening the pages to the end of a reply at 50 tokens/s, and of that the reply alone. The
    owner has one tab besides the readers'."""
    tokens = 200 if quick else 1000
    with serving() as server:
        async with Browser.signed_in(server) as browser:
            own = await _taken(browser, tokens, are_readers=False)
            readers = await _taken(browser, tokens, are_readers=True)
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


async def _taken(
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
    latencies = sorted(one for tab in tabs for one in tab.latencies[-tokens:])
    p99 = latencies[int(len(latencies) * 0.99)] * 1000
    return opened - cpu, ended - opened, min(len(tab.latencies) for tab in tabs), p99


async def share_live(browser: Browser, path: str) -> str:
    """Share the conversation live with everyone who signs in; return the link's path."""
    address = f"{path}share/"
    page = (await browser.client.get(address)).raise_for_status().text
    fields = dict(INPUT.findall(page)) | {"who": "everyone", "live": "on", "days": "7"}
    origin = {"Origin": str(browser.client.base_url).rstrip("/")}
    answer = await browser.client.post(address, data=fields, headers=origin)
    found = _LINK.search(answer.raise_for_status().text)
    if found is None:
        raise RuntimeError("the chat was not shared")
    return found[1]


async def open_reader(browser: Browser, link: str) -> Tab:
    """Load the readers' page, and open its socket."""
    page = (await browser.client.get(link)).raise_for_status().text
    found = re.search(r'data-head="([^"]+)" data-ending="([^"]*)"', page)
    if found is None:
        raise RuntimeError("the page has no messages")
    tab = Tab({})
    cookies = {cookie.name: cookie.value for cookie in browser.client.cookies.jar}
    tab.socket = await open_websocket(
        browser.client.base_url.netloc.decode(),
        f"/ws{link}?head={found[1]}&ending={found[2]}",
        "; ".join(f"{name}={value}" for name, value in cookies.items()),
        tab.receive,
    )
    browser.tabs.append(tab)
    return tab
