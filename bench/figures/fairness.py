"""The cost of one greedy member for an ordinary one: pages, first tokens, a small file, an import.

Nothing but the app's own limits holds the greedy one back (`bench.greedy`). Meanwhile 300 people
read a chat that they share. Then the growth of the disk while texts are replaced.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.answers import Order
from bench.driver import Browser
from bench.greedy import READER_NAMES, TEXT_BYTES, TEXTS_AT_ONCE, Greedy
from bench.greedy import USERNAME as GREEDY
from bench.importing import Importing
from bench.server import PASSWORD, ROOT, Server, serving
from bench.table import Row, at_most, percentile
from bench.uploading import Uploads
from tests.deployment.services import Postgres
from tests.support.chat_exports import write_zip

PAGE_MS, TIMES, FILE_SECONDS, IMPORT_SECONDS, DISK_MB = 300.0, 2.0, 5.0, 10.0, 20.0
REPLACING_SECONDS = 30.0
ORDINARY = "ordinary"
DEFAULTS = {  # the bench allows one person everything
    "CHATAPP_TABS_PER_PERSON": "250",
    "CHATAPP_REPLIES_PER_PERSON": "250",
    "CHATAPP_ACTIONS_PER_SECOND": "10",
}
MAKE_PEOPLE = f"""
from chatapp.models import User
for name in {[ORDINARY, GREEDY, *READER_NAMES]}:
    User.objects.create_user(name, password={PASSWORD!r})
"""
ONE_CHAT = {
    "id": "one",
    "title": "Bread",
    "create_time": 1_760_000_000,
    "current_node": "u",
    "mapping": {
        "u": {
            "id": "u",
            "parent": None,
            "message": {
                "author": {"role": "user"},
                "content": {"content_type": "text", "parts": ["How long does dough rest?"]},
                "create_time": 1_760_000_000,
            },
        }
    },
}


@dataclass
class Times:
    """The waiting times of the ordinary member, in seconds."""

    pages: list[float] = field(default_factory=list)
    first_tokens: list[float] = field(default_factory=list)
    files: list[float] = field(default_factory=list)
    imports: list[float] = field(default_factory=list)


async def measure(quick: bool) -> list[Row]:
    seconds = 20.0 if quick else 60.0
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        export = Path(folder) / "export.zip"
        write_zip(export, (20 if quick else 200) * 2**20)
        for database in ("SQLite", "PostgreSQL"):
            with _serving_people(database) as (server, data):
                alone = await _measure_times(server, seconds, None)
                beside = await _measure_times(server, seconds, export)
                grown, counted = await _disk(server, data)
            rows += _rows(database, alone, beside, grown, counted)
    return rows


def _rows(database: str, alone: Times, beside: Times, grown: float, counted: float) -> list[Row]:
    first, usual = median(beside.first_tokens), median(alone.first_tokens)
    page, page_alone = (percentile(times.pages, 99) * 1000 for times in (beside, alone))
    who = f"beside a greedy member, {database}"
    return [
        Row(
            f"a page {who}: p99 of {len(beside.pages)}",
            f"{page:.0f} ms; {page_alone:.0f} alone",
            f"≤ {PAGE_MS:.0f} ms",
            page <= PAGE_MS,
        ),
        Row(
            f"a first token {who}: p50 of {len(beside.first_tokens)}",
            f"{first * 1000:.0f} ms; {usual * 1000:.0f} alone",
            f"≤ {TIMES:g} × alone",
            first <= TIMES * usual,
            ratio=first / usual,
        ),
        at_most(f"a small file {who}", max(beside.files), FILE_SECONDS, "s", 1),
        at_most(f"an import of a chat {who}", max(beside.imports), IMPORT_SECONDS, "s", 1),
        Row(
            f"disk after {REPLACING_SECONDS:.0f} s of replacing texts, {database}",
            f"{grown:.1f} MB more; {counted:.1f} MB count",
            f"≤ {DISK_MB:.0f} MB above",
            grown <= counted + DISK_MB,
        ),
    ]


async def _measure_times(server: Server, seconds: float, export: Path | None) -> Times:
    """Return the times of an ordinary member, alone or beside a greedy one with this export."""
    times = Times()
    with _greedy_at_work(server, export) if export else nullcontext():
        async with Browser.signed_in(server, username=ORDINARY) as browser:
            await _look(browser, Times(), time.monotonic() + 1)
            until = time.monotonic() + seconds
            await asyncio.gather(
                _look(browser, times, until),
                _ask(browser, times, until),
                _attach(browser, times, until),
                _import(browser, times, until),
            )
    return times


@contextmanager
def _greedy_at_work(server: Server, export: Path) -> Iterator[None]:
    """Run the greedy member in a process that gives way, as if it ran on another machine."""
    python = ["nice", "--adjustment", "19", sys.executable]
    command = [*python, "-m", "bench.greedy", server.host, server.upstream, str(export)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        if not process.stdout.readline():
            raise RuntimeError("the greedy member did not start")
        yield
    finally:
        process.kill()
        process.communicate()


async def _look(browser: Browser, times: Times, until: float) -> None:
    while time.monotonic() < until:
        began_at = time.monotonic()
        (await browser.client.get("/")).raise_for_status()
        times.pages.append(time.monotonic() - began_at)
        await asyncio.sleep(0.2)


async def _ask(browser: Browser, times: Times, until: float) -> None:
    [tab] = await browser.open_tabs(1)
    while time.monotonic() < until:
        asked_at = tab.ask(Order(browser.next_number(), 5, 100))
        times.first_tokens.append(await tab.reply_began() - asked_at)
        await tab.reply_ended()
        await asyncio.sleep(0.5)


async def _attach(browser: Browser, times: Times, until: float) -> None:
    uploads, numbers = Uploads(browser, poll_seconds=0.1), iter(range(10**6))
    while time.monotonic() < until:
        began_at = time.monotonic()
        pk = await uploads.attach("note.txt", f"{next(numbers)} things to buy today".encode())
        times.files.append(time.monotonic() - began_at)
        await uploads.remove(pk)
        await asyncio.sleep(1)


async def _import(browser: Browser, times: Times, until: float) -> None:
    numbers = iter(range(10**6))
    while time.monotonic() < until:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            file.write(json.dumps([ONE_CHAT | {"id": f"one-{next(numbers)}"}]).encode())
            file.flush()
            importing = Importing(browser)
            began_at = time.monotonic()
            await importing.upload(Path(file.name))
            await importing.until_ended()
            await importing.start()
            await importing.until_ended()
            times.imports.append(time.monotonic() - began_at)
        await asyncio.sleep(1)


async def _disk(server: Server, data: Path) -> tuple[float, float]:
    """Return by how many MB the files grow while texts are replaced, and how many of them count."""
    async with Browser.signed_in(server, username=GREEDY) as browser:
        greedy = Greedy(browser, data)
        before = _size(data)
        async with greedy.running(*[greedy.replace_text] * TEXTS_AT_ONCE):
            await asyncio.sleep(REPLACING_SECONDS)
        return (_size(data) - before) / 1e6, TEXTS_AT_ONCE * TEXT_BYTES / 1e6


def _size(folder: Path) -> int:
    size = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            size += file.stat().st_size if file.is_file() else 0
    return size


@contextmanager
def _serving_people(database: str) -> Iterator[tuple[Server, Path]]:
    """Run the app with accounts for everybody; yield it and its folder."""
    folders: list[Path] = []

    def prepare(environment: Mapping[str, str]) -> None:
        folders.append(Path(environment["DATA_DIR"]))
        base_environment = {
            name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ
        }
        for command in (["migrate", "--verbosity", "0"], ["shell", "--command", MAKE_PEOPLE]):
            subprocess.run(
                [sys.executable, "manage.py", *command],
                cwd=ROOT,
                env=base_environment | dict(environment),
                check=True,
                stdout=subprocess.DEVNULL,
            )

    with nullcontext() if database == "SQLite" else Postgres() as postgres:
        settings = DEFAULTS | ({"DATABASE_URL": postgres.url} if postgres else {})
        with serving(before=prepare, **settings) as server:
            yield server, folders[0]
