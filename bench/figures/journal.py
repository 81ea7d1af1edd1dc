"""The cost of the journal per token, and the savings of the rarer checkpoints that it allows. The
cost is that of writing alone, in a process of its own, with one event per read. The savings are
those of one server on PostgreSQL, with its journal, and with a file in place of the journal's
folder, which turns it off."""

import asyncio
import shutil
import tempfile

import psycopg

from bench.answers import Order
from bench.cluster import Cluster, cluster
from bench.driver import Browser, Tab
from bench.table import Figure, Row, at_most
from tests.support.live import run

COST_MICROSECONDS = 3.0
REPLIES, PACE = 50, 50.0
PATIENCE = {"CHATAPP_CLOSE_GRACE": "3600", "CHATAPP_DROP_GRACE": "3600"}

WRITE = """
import django, time, uuid
django.setup()
from chatapp.realtime.journal import Journal
from chatapp.upstream.wire.events import AnswerDelta

def cost(words):
    journal = Journal(uuid.uuid4())
    segment = journal.open(uuid.uuid4())
    read = [AnswerDelta(" packets")]
    began_at = time.perf_counter()
    for _ in range(words):
        segment.append(read)
    seconds = time.perf_counter() - began_at
    assert segment.is_on
    segment.discard()
    journal.close()
    return seconds / words * 1e6

print(min(cost(50_000) for _ in range({times})))
"""


async def cost(quick: bool) -> list[Row]:
    """Microseconds to journal a token, including encoding and writing."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        script = WRITE.format(times=1 if quick else 5)
        printed = await asyncio.to_thread(run, {"DATA_DIR": folder}, "-c", script)
    microseconds = float(printed.stdout)
    return [at_most("journal, a token read alone", microseconds, COST_MICROSECONDS, "µs", 2)]


async def checkpoints(quick: bool) -> list[Row]:
    """The server's CPU and the database's WAL per token, with the journal and without."""
    seconds = 6.0 if quick else 20.0
    rows = []
    for name, prepare in (("every 5 s, journalled", _keep), ("every 1 s, no journal", _turn_off)):
        with cluster(1, **PATIENCE) as here:
            await asyncio.to_thread(prepare, here)
            async with here.browser(0) as browser:
                cpu, wal, tokens = await _measure_streaming(here, browser, seconds)
        measured = f"{cpu / tokens * 1000:.4f} ms CPU, {wal / tokens:.0f} B WAL"
        rows.append(Row(f"a token, checkpoints {name}", measured, "", True))
    return rows


async def _measure_streaming(
    here: Cluster, browser: Browser, seconds: float
) -> tuple[float, int, int]:
    """Return seconds of the server's CPU, bytes of WAL, and tokens, while all replies stream."""
    tabs = await browser.open_tabs(REPLIES)
    for tab in tabs:
        tab.ask(Order(browser.next_number(), tokens=int((seconds + 30) * PACE), pace=PACE))
    await asyncio.gather(*(tab.reply_began() for tab in tabs))
    await asyncio.sleep(5)
    before = _counts(here, tabs)
    await asyncio.sleep(seconds)
    after = _counts(here, tabs)
    for tab in tabs:
        tab.stop()
    cpu, wal, tokens = (then - now for then, now in zip(after, before, strict=True))
    return cpu, int(wal), int(tokens)


def _counts(here: Cluster, tabs: list[Tab]) -> tuple[float, float, float]:
    with psycopg.connect(here.stack.servers[0].environment["DATABASE_URL"]) as connection:
        row = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()
    assert row
    tokens = sum(len(tab.latencies) for tab in tabs)
    return here.get_server(0).cpu_seconds(), float(row[0]), tokens


def _keep(here: Cluster) -> None:
    pass


def _turn_off(here: Cluster) -> None:
    [server] = here.stack.servers
    server.kill()
    shutil.rmtree(server.data_dir / "journal")
    (server.data_dir / "journal").touch()
    server.start()


PARTS: dict[str, Figure] = {
    "cost": cost,
    "checkpoints": checkpoints,
}
