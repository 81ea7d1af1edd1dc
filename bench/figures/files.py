"""Attached files: how soon a document is answered, and what uploads cost everybody else."""

import asyncio
import itertools
import os
import re
import time
from collections.abc import Iterator
from statistics import median

from bench.answers import Order
from bench.driver import Browser, Tab
from bench.figures.memory import Peak
from bench.server import Server, serving
from bench.table import Row, at_most
from bench.uploading import Uploads, make_pdf

PAGES, ANSWERED_SECONDS = 100, 3.0
FILES, PEOPLE = 20, 10
LATE_SECONDS, LATE_BAR = 0.016, 0.01
GROWTH_MIB = 50.0
MIB = 1024 * 1024
SAMPLES = re.compile(r'^chatapp_event_loop_lag_seconds_bucket\{le="([^"]+)"\} (\S+)', re.M)
TOKEN = "bench-metrics"


async def measure(quick: bool) -> list[Row]:
    mib = 100 if quick else 1024
    with serving(
        CHATAPP_METRICS_TOKEN=TOKEN,
        CHATAPP_FILE_BYTES=str(2 * 1024 * MIB),
        CHATAPP_FILE_BYTES_PER_PERSON=str(8 * 1024 * MIB),
        CHATAPP_FILES_PER_MESSAGE="100",
    ) as server:
        async with Browser.signed_in(server) as browser:
            uploads, tab = Uploads(browser), await browser.open_tab()
            await tab.socket.is_open
            growth = await _growth(server, uploads, mib)
            answered = [
                await _time_answer(browser, uploads, tab, n) for n in range(3 if quick else 9)
            ]
            twenty = await _time_uploads(uploads)
            # A page reloads its draft when something has changed, and does not poll.
            uploads = Uploads(browser, poll_seconds=0.5)
            late, samples = await _late(browser, uploads, tab, 3 if quick else 12)
    return [
        at_most(f"{PAGES}-page PDF: attached to first token, p50", median(answered), 3.0, "s", 2),
        at_most(f"{FILES} PDFs of 10 pages at once: all ready", twenty, 20.0, "s", 1),
        Row(
            f"event loop later than {LATE_SECONDS * 1000:.0f} ms while {PEOPLE} upload",
            f"{late:.2%} of {samples:,.0f} samples",
            f"≤ {LATE_BAR:.0%}",
            late <= LATE_BAR,
        ),
        at_most(f"memory above idle while {mib} MiB are uploaded", growth, GROWTH_MIB, "MiB"),
    ]


async def _time_answer(browser: Browser, uploads: Uploads, tab: Tab, number: int) -> float:
    """Return the seconds from attaching a document to the first token of its answer."""
    document = make_pdf(PAGES).replace(b"network", b"net%04d" % number)  # never read before
    started_at = time.monotonic()
    attached = await uploads.attach("document.pdf", document)
    tab.ask(Order(browser.next_number(), tokens=20), attached)
    first = await tab.reply_began()
    await tab.reply_ended()
    return first - started_at


async def _time_uploads(uploads: Uploads) -> float:
    """Return the seconds until several documents are read that were attached at once."""
    started_at = time.monotonic()
    documents = (make_pdf(10).replace(b"network", b"net%04d" % n) for n in range(FILES))
    ready = await asyncio.gather(
        *(uploads.attach("document.pdf", document) for document in documents)
    )
    seconds = time.monotonic() - started_at
    for pk in ready:
        await uploads.remove(pk)
    return seconds


async def _late(browser: Browser, uploads: Uploads, tab: Tab, rounds: int) -> tuple[float, float]:
    """Return how many of the event loop's timers ran late while documents were uploaded and read.

    A reply runs meanwhile, because the app samples only then.
    """
    before = await _lags(browser)
    tab.ask(Order(browser.next_number(), tokens=5000))
    await tab.reply_began()
    numbers = itertools.count(1000)

    async def attach_some() -> None:
        for _ in range(rounds):
            document = make_pdf(50).replace(b"network", b"net%04d" % next(numbers))
            await uploads.remove(await uploads.attach("document.pdf", document))

    await asyncio.gather(*(attach_some() for _ in range(PEOPLE)))
    after = await _lags(browser)
    tab.stop()
    await tab.reply_ended()
    counts = {bound: after[bound] - before[bound] for bound in after}
    in_time = max(count for bound, count in counts.items() if bound <= LATE_SECONDS)
    samples = counts[float("inf")]
    return 1 - in_time / samples, samples


async def _lags(browser: Browser) -> dict[float, float]:
    """Return the number of timers that ran at most this late, by seconds."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    text = (await browser.client.get("/metrics", headers=headers)).raise_for_status().text
    return {float(bound): float(count) for bound, count in SAMPLES.findall(text)}


async def _growth(server: Server, uploads: Uploads, mib: int) -> float:
    """Return how much memory the server needs beyond its idle memory during a large upload."""
    idle = server.resident_mib()
    peak = Peak(server)
    pk = await uploads.upload("large.bin", mib * MIB, _noise(mib))
    mib_at_most = peak.stop()
    await uploads.remove(pk)
    return mib_at_most - idle


def _noise(mib: int) -> Iterator[bytes]:
    return (os.urandom(MIB) for _ in range(mib))
