"""Importing a large export of ChatGPT: how long it takes, its memory, and what it costs everybody
else."""

import asyncio
import tempfile
import time
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from bench.driver import Browser, Tab
from bench.figures.memory import Peak
from bench.figures.streams import streaming
from bench.importing import Importing
from bench.server import serving
from bench.table import Row, at_most, percentile
from tests.support.chat_exports import write_zip

SECONDS_BAR, GROWTH_MIB, TIMES = 60.0, 100.0, 3.0
REPLIES, WINDOW_SECONDS = 50, 10.0
GIB = 1024**3


async def measure(quick: bool) -> list[Row]:
    megabytes = 20 if quick else 200
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "export.zip"
        write_zip(file, megabytes * 2**20)
        with serving(CHATAPP_STORED_BYTES_PER_PERSON=str(4 * GIB)) as server:
            async with Browser.signed_in(server) as browser:
                await (await browser.open_tab()).socket.is_open
                idle, peak = server.resident_mib(), Peak(server)
                reading, storing = await _time_import(browser, file)
                growth = peak.stop() - idle
                again, _ = await _time_import(browser, file)
        with serving(CHATAPP_STORED_BYTES_PER_PERSON=str(4 * GIB)) as server:
            async with Browser.signed_in(server) as browser:
                alone, beside = await _delays(browser, file)
    name = f"{megabytes} MB of ChatGPT export"
    return [
        at_most(f"{name}, read and stored", reading + storing, SECONDS_BAR, "s", 1),
        Row(f"{name}: reading; storing", f"{reading:.1f} s; {storing:.1f} s", "", ok=True),
        Row(f"{name}, again: reading", f"{again:.1f} s", "", ok=True),
        at_most(f"memory above idle while {name} is imported", growth, GROWTH_MIB, "MiB"),
        Row(
            f"a token, {REPLIES} replies, during an import: p99",
            f"{beside:.2f} ms; without {alone:.2f}",
            f"≤ {TIMES:g} × without",
            beside <= TIMES * alone,
            ratio=beside / alone,
        ),
    ]


async def _time_import(browser: Browser, file: Path) -> tuple[float, float]:
    """Import a file; return the seconds for reading and for storing it."""
    importing = Importing(browser)
    await importing.upload(file)
    began_at = time.monotonic()
    await importing.until_ended()
    read_at = time.monotonic()
    await importing.start()
    await importing.until_ended()
    return read_at - began_at, time.monotonic() - read_at


async def _delays(browser: Browser, file: Path) -> tuple[float, float]:
    """Return the milliseconds added to a token without an import, and while one is stored."""
    importing = Importing(browser)
    await importing.upload(file)
    await importing.until_ended()
    async with streaming(browser, REPLIES) as tabs:
        alone = await _p99(tabs)
        await importing.start()
        beside = await _p99(tabs)
    return alone, beside


async def _p99(tabs: list[Tab]) -> float:
    before = [len(tab.latencies) for tab in tabs]
    await asyncio.sleep(WINDOW_SECONDS)
    window: Iterable[list[float]] = [
        tab.latencies[start:] for tab, start in zip(tabs, before, strict=True)
    ]
    return percentile(chain.from_iterable(window), 99) * 1000
