"""Events of the audit log, appended by eight processes at once, each in a transaction of its own.
All wait for the one log, so this is how many recorded actions are possible per second. PostgreSQL
writes each to its disk before it answers."""

import asyncio
import tempfile
from pathlib import Path

from bench.cluster import site_on_postgres
from bench.table import Row
from tests.support.live import run

WRITERS, EVENTS, QUICK_EVENTS = 8, 500, 100  # events of each
BAR = 1000.0  # per second


async def measure(quick: bool) -> list[Row]:
    each = QUICK_EVENTS if quick else EVENTS
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        site_on_postgres(Path(folder), is_durable=True) as site,
    ):
        words = ["-m", "bench.appending", str(WRITERS), str(each)]
        process = await asyncio.to_thread(run, site.copy(), *words)
    appended, verified = map(float, process.stdout.split())
    return [
        Row(
            f"events appended by {WRITERS} processes at once",
            f"{appended:,.0f}/s",
            f">= {BAR:,.0f}/s",
            ok=appended >= BAR,
        ),
        Row("events of the log verified", f"{verified:,.0f}/s", "", ok=True),
    ]
