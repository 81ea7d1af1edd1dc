"""The cost of long conversations, of 1,000 and 10,000 messages, and a sidebar of 10,000 of them."""

import asyncio
import html
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from statistics import median
from urllib.parse import urlencode

from playwright.async_api import Browser as Chromium
from playwright.async_api import Page

from bench.answers import Order
from bench.chromium import SLOWER, chromium, signed_in_page, slow_down
from bench.driver import Browser
from bench.server import serving
from bench.table import Row, at_most

LENGTHS = (1_000, 10_000)
CONVERSATIONS = 10_000
FIRST_BYTE_MS, FIRST_PAINT_MS, LENGTH_TIMES = 60.0, 300.0, 1.1
TURN_TIMES = 1.2
SIDEBAR_MS, SIDEBAR_TIMES = 20.0, 1.2
TASK_MS = 50.0
PASTED = 200_000
TURNS = 10
REPLIES, REPLY_TOKENS, SIDE_BY_SIDE_TIMES = 4, 500, 1.0
PATIENCE_MS = 120_000  # long enough to give even what is far too slow a figure

_OLDER = re.compile(r'<li class="edge older"\s+hx-get="([^"]*)"[^>]*hx-vals=\'([^\']*)\'', re.S)
_OBSERVE_TASKS = """
window.tasks = [];
new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) window.tasks.push([startTime, duration]);
}).observe({ type: "longtask", buffered: true });
"""


async def opening(quick: bool) -> list[Row]:
    """Loading its page: until the first byte, at the driver; and until the first paint in a
    Chromium that has visited before, at a quarter of its speed. Both lengths in turns."""
    with serving(stock=_stock(0, *LENGTHS)) as server:
        async with Browser.signed_in(server) as browser, chromium() as launched:
            byte = await _in_turns(server.stocked, _first_byte(browser), 5 if quick else 30)
            page = await signed_in_page(launched, browser)
            await slow_down(page, SLOWER)
            paint = await _in_turns(
                server.stocked, _first_paint(page, server.host), 3 if quick else 9
            )
    return [
        *_length_rows("first byte", byte, FIRST_BYTE_MS),
        *_length_rows(f"first paint, a processor {SLOWER} times as slow", paint, FIRST_PAINT_MS),
    ]


async def turn(quick: bool) -> list[Row]:
    """CPU of the app from a prompt to the saved reply of one token: ten in a conversation of 1,000
    messages, ten in a new one, in turns."""
    with serving(stock=_stock(0, LENGTHS[0])) as server:
        async with Browser.signed_in(server) as browser:
            paths = ("/", *server.stocked)
            rounds = range(2 if quick else 5)
            taken = [[await _turns(browser, path) for path in paths] for _ in rounds]
    new, long = (median(costs) for costs in zip(*taken[1:], strict=True))
    figure = f"a turn in a conversation of {LENGTHS[0]:,} messages, CPU"
    measured = f"{long:.2f} ms, {long / new:.2f} × that of a new one's"
    return [Row(figure, measured, f"≤ {TURN_TIMES:g} ×", long <= TURN_TIMES * new)]


async def sidebar(quick: bool) -> list[Row]:
    """A page of the sidebar's list, fetched by the driver: the first, the second, the middle, the
    last."""
    with serving(stock=_stock(CONVERSATIONS)) as server:
        async with Browser.signed_in(server) as browser:
            pages = await _pages(browser)
            chosen = [pages[0], pages[1], pages[len(pages) // 2], pages[-2]]
            taken = await _in_turns(chosen, _whole(browser), 10 if quick else 40)
    first, *others = (taken[page] for page in chosen)
    worst = max(first, *others)
    figure = f"a page of a sidebar of {CONVERSATIONS:,} conversations"
    times = Row(
        f"{figure}, the slowest",
        f"{worst / first:.2f} × the first",
        f"≤ {SIDEBAR_TIMES:g} ×",
        worst <= SIDEBAR_TIMES * first,
    )
    return [at_most(f"{figure}: {len(pages)} pages", worst, SIDEBAR_MS, "ms", 1), times]


async def tasks(quick: bool) -> list[Row]:
    """The longest task of Chromium's main thread, at a quarter of its speed: the page does not
    react for so long. 0 means none over 50 ms."""
    with serving(stock=_stock(CONVERSATIONS, *LENGTHS)) as server:
        async with Browser.signed_in(server) as browser, chromium() as launched:
            durations = {
                f"pasting {PASTED // 1000} KB": await _longest(launched, browser, "/", _paste),
                f"typing in a conversation of {LENGTHS[-1]:,} messages": await _longest(
                    launched, browser, server.stocked[-1], _type
                ),
                f"opening the sidebar with {CONVERSATIONS:,} conversations": await _longest(
                    launched, browser, "/", _open_sidebar
                ),
            }
    return [
        at_most(f"longest task: {what}", longest, TASK_MS, "ms")
        for what, longest in durations.items()
    ]


async def several(quick: bool) -> list[Row]:
    """CPU of the app per token of four replies at 50 tokens per second: of one prompt, side by side
    in one tab, compared with four tabs. Both in turns."""
    tokens = REPLY_TOKENS // 4 if quick else REPLY_TOKENS
    with serving() as server:
        async with Browser.signed_in(server) as browser:
            rounds = range(2 if quick else 6)
            taken = [
                (
                    await _side_by_side(browser, tokens, tabs=1),
                    await _side_by_side(browser, tokens, tabs=REPLIES),
                )
                for _ in rounds
            ]
    beside, apart = (median(costs) for costs in zip(*taken[1:], strict=True))
    figure = f"a token of {REPLIES} replies side by side, CPU"
    measured = f"{beside:.3f} ms, {beside / apart:.2f} × that of {REPLIES} tabs"
    return [Row(figure, measured, f"≤ {SIDE_BY_SIDE_TIMES:g} ×", beside <= apart)]


async def _side_by_side(browser: Browser, tokens: int, tabs: int) -> float:
    """Return milliseconds of CPU per token of four replies, divided among the tabs."""
    opened = await browser.open_tabs(tabs)
    cpu = browser.server.cpu_seconds()
    for tab in opened:
        tab.ask_several(Order(browser.next_number(), tokens), REPLIES // tabs)
    for tab in opened:
        if (ending := await tab.reply_ended()) != "complete":
            raise RuntimeError(f"a reply ended as {ending}")
    cpu = browser.server.cpu_seconds() - cpu
    await browser.close_tabs()
    return cpu / (REPLIES * tokens) * 1000


def _stock(conversations: int, *lengths: int) -> str:
    return " ".join(map(str, (conversations, *lengths)))


async def _in_turns(
    paths: Iterable[str], measure: Callable[[str], Awaitable[float]], rounds: int
) -> dict[str, float]:
    """Return the medians in milliseconds; the first round is not counted."""
    paths = list(paths)
    taken = [{path: await measure(path) for path in paths} for _ in range(rounds + 1)][1:]
    return {path: median(times[path] for times in taken) for path in paths}


def _length_rows(what: str, taken: dict[str, float], bar: float) -> list[Row]:
    shorter, longer = taken.values()
    figure = f"opening a conversation of {{:,}} messages: {what}"
    return [
        at_most(figure.format(LENGTHS[0]), shorter, bar, "ms"),
        Row(
            figure.format(LENGTHS[1]),
            f"{longer:.0f} ms, {longer / shorter:.2f} × that",
            f"≤ {LENGTH_TIMES:g} ×",
            longer <= LENGTH_TIMES * shorter,
        ),
    ]


def _first_byte(browser: Browser) -> Callable[[str], Awaitable[float]]:
    async def measure(path: str) -> float:
        started_at = time.monotonic()
        async with browser.client.stream("GET", path) as answer:
            async for _ in answer.aiter_raw():
                break
            return (time.monotonic() - started_at) * 1000

    return measure


def _whole(browser: Browser) -> Callable[[str], Awaitable[float]]:
    async def measure(path: str) -> float:
        started_at = time.monotonic()
        (await browser.client.get(path)).raise_for_status()
        return (time.monotonic() - started_at) * 1000

    return measure


def _first_paint(page: Page, host: str) -> Callable[[str], Awaitable[float]]:
    async def measure(path: str) -> float:
        await page.goto(f"http://{host}{path}", timeout=PATIENCE_MS)
        await page.wait_for_selector("#app[data-connection=open]", timeout=PATIENCE_MS)
        painted: float = await page.evaluate(
            'performance.getEntriesByName("first-contentful-paint")[0].startTime'
        )
        return painted

    return measure


async def _turns(browser: Browser, path: str) -> float:
    """Return milliseconds of CPU per turn in an open conversation."""
    tab = await browser.open_tab(path)
    cpu = browser.server.cpu_seconds()
    for _ in range(TURNS):
        tab.ask(Order(browser.next_number(), tokens=1, pace=1000))
        if (ending := await tab.reply_ended()) != "complete":
            raise RuntimeError(f"a turn ended as {ending}")
    cpu = browser.server.cpu_seconds() - cpu
    await browser.close_tabs()
    return cpu / TURNS * 1000


async def _pages(browser: Browser) -> list[str]:
    """Return the addresses of the sidebar's pages, each taken from the page before."""
    pages = ["/conversations/"]
    while True:
        answer = (await browser.client.get(pages[-1])).raise_for_status().text
        match = _OLDER.search(answer)
        if not match:
            return pages
        address, values = map(html.unescape, match.groups())
        pages.append(f"{address}?{urlencode(json.loads(values))}")


async def _longest(
    launched: Chromium, browser: Browser, path: str, act: Callable[[Page], Awaitable[None]]
) -> float:
    """Return the milliseconds of the longest task from then on; 0 if none is longer than 50."""
    page = await signed_in_page(launched, browser, _OBSERVE_TASKS)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.goto(f"http://{browser.server.host}{path}")
    await page.wait_for_selector("#app[data-connection=open]", timeout=PATIENCE_MS)
    await slow_down(page, SLOWER)
    await _idle(page)
    began_at = await page.evaluate("performance.now()")
    await act(page)
    await _idle(page)
    entries = await page.evaluate("window.tasks")
    await page.context.close()
    return max((duration for at, duration in entries if at >= began_at), default=0.0)


async def _idle(page: Page) -> None:
    await page.evaluate("new Promise((resolve) => requestIdleCallback(resolve))")
    await asyncio.sleep(1)


async def _paste(page: Page) -> None:
    text = "".join(Order(0, PASTED // 5, answer="mixed").texts())
    await page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
    await page.get_by_role("textbox", name="Message").press("Control+V")


async def _type(page: Page) -> None:
    await page.get_by_role("textbox", name="Message").press_sequentially(
        "What was said at the beginning?", delay=50, timeout=PATIENCE_MS
    )


async def _open_sidebar(page: Page) -> None:
    """Fold the sidebar, and open it again."""
    for place in (".sidebar", ".topbar"):
        await page.evaluate(f"document.querySelector('{place} [data-sidebar-toggle]').click()")


PARTS = {
    "opening": opening,
    "turn": turn,
    "several": several,
    "sidebar": sidebar,
    "tasks": tasks,
}
