"""The usage page over a year of 200 people, by each of its columns, on SQLite and PostgreSQL. Times
are those of a page as an administrator's browser requests it, without the network: all queries, the
charts and the table. The database has two years of two models per person and working day, of three
that each person uses; the CPU is that of the app's process alone."""

import asyncio
import json
import tempfile
from pathlib import Path
from statistics import median

from bench.cluster import site_on_postgres
from bench.table import Row, at_most
from tests.support.live import Site, run

TRIES, QUICK_TRIES = 20, 5
P50_MS = 50.0


async def measure(quick: bool) -> list[Row]:
    tries = QUICK_TRIES if quick else TRIES
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        site = Site(Path(folder), "")
        await asyncio.to_thread(site.prepare)
        rows = await _rows("SQLite", site, tries)
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        site_on_postgres(Path(folder)) as site,
    ):
        return rows + await _rows("PostgreSQL", site, tries)


async def _rows(database: str, site: Site, tries: int) -> list[Row]:
    process = await asyncio.to_thread(run, site.copy(), "-m", "bench.year", str(tries))
    rows = []
    for by, taken in json.loads(process.stdout).items():
        cpu, elapsed = (median(column) for column in zip(*taken, strict=True))
        name = f"a year by {by}, {database}, p50 (CPU {cpu:.0f} ms)"
        rows.append(at_most(name, elapsed, P50_MS, "ms", 1))
    return rows
