"""The cost of a long reply for the page that shows it: the time of Chromium's main thread, and
layout shifts."""

import time
from dataclasses import dataclass

from playwright.async_api import Browser as Chromium
from playwright.async_api import CDPSession, Page

from bench.answers import Order
from bench.chromium import SLOWER, chromium, signed_in_page, slow_down
from bench.driver import Browser
from bench.server import serving
from bench.table import Row, at_most

PACE = 50.0
BARS_MS = {"script": 0.23, "layout": 0.41, "style": 0.27}
SHARE, SHIFT = 18.0, 0.02

_METRICS = {
    "script": "ScriptDuration",
    "layout": "LayoutDuration",
    "style": "RecalcStyleDuration",
    "task": "TaskDuration",
}
_OBSERVE_SHIFTS = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput } of list.getEntries()) {
    if (!hadRecentInput) window.shift += value;
  }
}).observe({ type: "layout-shift", buffered: true });
"""


@dataclass(frozen=True)
class Cost:
    """Seconds of the main thread for one reply by their kind, and its layout shift."""

    seconds: dict[str, float]
    shift: float

    @property
    def share(self) -> float:
        """The share of the main thread's time while the reply streamed, in percent."""
        return 100 * self.seconds["task"] / self.seconds["at"]


async def measure(quick: bool) -> list[Row]:
    tokens = 1000 if quick else 4000
    with serving() as server:
        async with Browser.signed_in(server) as browser, chromium() as launched:
            usual = await _cost(launched, browser, tokens, slower=1)
            throttled = await _cost(launched, browser, tokens, slower=SLOWER)
    rows = [
        at_most(
            f"{name} a token in Chromium, {tokens:,} tokens at {PACE:g}/s",
            usual.seconds[name] / tokens * 1000,
            bar,
            "ms",
            2,
        )
        for name, bar in BARS_MS.items()
    ]
    return [
        *rows,
        at_most(f"share of a main thread {SLOWER} times as slow", throttled.share, SHARE, "%"),
        at_most("layout shift of the whole reply", max(usual.shift, throttled.shift), SHIFT, "", 3),
    ]


async def _cost(launched: Chromium, browser: Browser, tokens: int, slower: int) -> Cost:
    """Measure one reply in a new chat, from the prompt to its ending."""
    page = await signed_in_page(launched, browser, _OBSERVE_SHIFTS)
    await page.goto(f"http://{browser.server.host}")
    await page.wait_for_selector("#app[data-connection=open]")
    devtools = await slow_down(page, slower)
    await devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    await _run_order(page, Order(browser.next_number(), 20, PACE, "mixed"))  # loads everything
    await page.evaluate("window.shift = 0")  # the composer has moved to its place
    before = await _read_metrics(devtools)
    await _run_order(page, Order(browser.next_number(), tokens, PACE, "mixed"))
    after = await _read_metrics(devtools)
    shift = await page.evaluate("window.shift")
    await page.context.close()
    return Cost({name: after[name] - before[name] for name in before}, shift)


async def _run_order(page: Page, order: Order) -> None:
    await page.get_by_role("textbox", name="Message").fill(order.prompt())
    await page.keyboard.press("Enter")
    await page.wait_for_selector('article[data-reply][data-ending="streaming"]')
    await page.wait_for_selector(
        'article[data-reply]:last-child:not([data-ending="streaming"])', timeout=600_000
    )


async def _read_metrics(devtools: CDPSession) -> dict[str, float]:
    answer = await devtools.send("Performance.getMetrics")
    values = {metric["name"]: metric["value"] for metric in answer["metrics"]}
    metrics = {name: values[metric] for name, metric in _METRICS.items()}
    return metrics | {"at": time.monotonic()}
