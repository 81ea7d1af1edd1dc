"""Resident memory of the server's process: idle, under load, and after much use."""

import asyncio

from bench.driver import Browser
from bench.figures.streams import stream_at_once
from bench.server import Server, serving
from bench.table import Row, at_most

IDLE_MIB, STREAMING_MIB, GROWTH = 110.0, 220.0, 0.15
REPLIES = 200


async def measure(quick: bool) -> list[Row]:
    batches, tokens = (3, 100) if quick else (10, 300)
    with serving() as server:
        async with Browser.signed_in(server) as browser:
            await (await browser.open_tab()).socket.is_open
            idle = server.resident_mib()
            peak = _Peak(server)
            await stream_at_once(browser, REPLIES, tokens)
            streaming = peak.stop()
            after_first = await _settled(server)
            for _ in range(batches - 1):
                await stream_at_once(browser, REPLIES, tokens)
            after_all = await _settled(server)
    growth = after_all / after_first - 1
    return [
        at_most("resident memory, idle, one page open", idle, IDLE_MIB, "MiB"),
        at_most(f"resident memory, peak of {REPLIES} replies", streaming, STREAMING_MIB, "MiB"),
        Row(
            f"after {batches * REPLIES:,} replies against after {REPLIES}",
            f"{after_all:.0f} MiB against {after_first:.0f}: {growth:+.0%}",
            f"within {GROWTH:.0%}",
            growth <= GROWTH,
        ),
    ]


class _Peak:
    """Watches the memory from when it is made until `stop`."""

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


async def _settled(server: Server) -> float:
    await asyncio.sleep(2)
    return server.resident_mib()
