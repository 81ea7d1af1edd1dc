"""The latency that nginx and Caddy, as shipped in deploy/, add to each token, including TLS. The
same replies stream directly and through each proxy in turn, round after round, so that other load
on the machine affects all three alike; each round gives one difference."""

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

import httpx

from bench.driver import WAIT_SECONDS, Browser
from bench.figures.streams import PACE, stream_at_once
from bench.server import Server, free_port, serving
from bench.table import Row, percentile
from tests.deployment.proxies import PROXIES, Proxy

REPLIES, TOKENS = 20, 200
LOAD = f"{REPLIES} replies at {PACE:g} tokens/s"
ADDED_P50_MS = 2.0

Round = dict[str, list[float]]  # by route: milliseconds of each token


async def measure(quick: bool) -> list[Row]:
    kinds = [kind for kind in PROXIES if shutil.which(kind.name)]
    if not kinds:
        return [Row("added by nginx, Caddy", "not measured: neither is installed", "", True)]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        port = free_port()
        proxies = [kind(_make_folder(Path(folder) / kind.name), [port]) for kind in kinds]
        origins = ",".join(proxy.url for proxy in proxies)
        with serving(PORT=str(port), CSRF_TRUSTED_ORIGINS=origins) as server:
            rounds = await _rounds(server, proxies, 3 if quick else 10)
    direct = [latency for each in rounds for latency in each["direct"]]
    p50, p99 = percentile(direct, 50), percentile(direct, 99)
    rows = [Row(f"directly, {LOAD}", f"p50 {p50:.2f}, p99 {p99:.2f} ms", "", True)]
    return rows + [_row(proxy.name, rounds) for proxy in proxies]


async def _rounds(server: Server, proxies: Sequence[Proxy], count: int) -> list[Round]:
    async with AsyncExitStack() as opened:
        browsers = {}
        for proxy in proxies:
            opened.enter_context(proxy)
            signing_in = Browser.signed_in(server, proxy.url, proxy.tls)
            browsers[proxy.name] = browser = await opened.enter_async_context(signing_in)
        direct = _past_the_proxy(server, browser)
        opened.push_async_callback(direct.client.aclose)
        browsers["direct"] = direct
        for browser in browsers.values():
            # so that nothing is done for the first time later
            await stream_at_once(browser, REPLIES, 20)
        ways = list(browsers)
        rounds = []
        for number in range(count):
            first = number % len(ways)
            rounds.append(
                {way: await _latencies(browsers[way]) for way in ways[first:] + ways[:first]}
            )
        return rounds


def _past_the_proxy(server: Server, browser: Browser) -> Browser:
    """Return a browser at the server itself, in the same session: its cookies are only set over
    TLS."""
    client = httpx.AsyncClient(
        base_url=f"http://{server.host}",
        cookies={"__Host-sessionid": browser.client.cookies["__Host-sessionid"]},
        timeout=WAIT_SECONDS,
        trust_env=False,
    )
    return Browser(server, client)


async def _latencies(browser: Browser) -> list[float]:
    tabs, complete = await stream_at_once(browser, REPLIES, TOKENS)
    if complete != REPLIES:
        raise RuntimeError(f"{REPLIES - complete} of {REPLIES} replies did not finish")
    return [latency * 1000 for tab in tabs for latency in tab.latencies]


def _row(name: str, rounds: list[Round]) -> Row:
    added = {
        percent: median(
            percentile(each[name], percent) - percentile(each["direct"], percent) for each in rounds
        )
        for percent in (50, 99)
    }
    return Row(
        f"added by {name}, {LOAD}",
        f"p50 {added[50]:+.2f}, p99 {added[99]:+.2f} ms",
        f"p50 < {ADDED_P50_MS:g} ms",
        added[50] < ADDED_P50_MS,
    )


def _make_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder
