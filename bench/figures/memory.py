"""Memory of all processes, shared memory counted once (PSS): idle, under load, after much use."""

import asyncio

from bench.beside import Pair
from bench.driver import Browser
from bench.figures.streams import stream_at_once
from bench.server import Server, limiting, serving
from bench.table import Row

IDLE_MIB, STREAMING_MIB, GROWTH = 150.0, 220.0, 0.15
REPLIES = 200


async def measure(quick: bool) -> list[Row]:
    batches, tokens = (3, 100) if quick else (10, 300)
    with serving() as app:
        idle, peak, *after = await _measure_mib(app, batches, tokens)
    with limiting() as limit:
        limit_idle, limit_peak, _ = await _measure_mib(limit, 1, tokens)
    growth = after[-1] / after[0] - 1
    return [
        Pair([idle], [limit_idle]).at_most("memory idle, one page open", "MiB", 0, bar=IDLE_MIB),
        Pair([peak], [limit_peak]).at_most(
            f"memory, peak of {REPLIES} replies", "MiB", 0, bar=STREAMING_MIB
        ),
        Row(
            f"memory after {batches * REPLIES:,} replies against after {REPLIES}",
            f"{after[-1]:.0f} MiB against {after[0]:.0f}: {growth:+.0%}",
            f"within {GROWTH:.0%}",
            growth <= GROWTH,
        ),
    ]


async def _measure_mib(server: Server, batches: int, tokens: int) -> list[float]:
    """Return MiB idle, at the peak of the first replies, and after each batch."""
    async with Browser.signed_in(server) as browser:
        await (await browser.open_tab()).socket.is_open
        mib = [server.resident_mib()]
        peak = Peak(server)
        await stream_at_once(browser, REPLIES, tokens)
        mib += [peak.stop(), await _measure_settled_mib(server)]
        for _ in range(batches - 1):
            await stream_at_once(browser, REPLIES, tokens)
            mib.append(await _measure_settled_mib(server))
        return mib


class Peak:
    """Tracks the peak of the memory from its creation until `stop`."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._mib = 0.0
        self._task = asyncio.create_task(self._watch())

    def stop(self) -> float:
        self._task.cancel()
        return max(self._mib, self._server.resident_mib())

    async def _watch(self) -> None:
        while True:
            self._mib = max(self._mib, self._server.resident_mib())
            await asyncio.sleep(0.1)


async def _measure_settled_mib(server: Server) -> float:
    await asyncio.sleep(2)
    return server.resident_mib()
