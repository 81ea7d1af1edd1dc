"""A search by one person among many who have much text: the server's time for it, letter by letter.
Everybody's messages are stored at once (`bench.archive`). Words are typed from their second letter
on, common ones and rare ones, alone and together, as phrases and with filters, and each request is
timed at the client, one after another."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping

import httpx

from bench.archive import texts, word
from bench.cluster import cluster
from bench.driver import Browser
from bench.server import ROOT, USERNAME, serving
from bench.table import Figure, Row, at_most, percentile

OWN, OTHERS = 100_000, 1_000_000
P50_MS, P95_MS = 15.0, 50.0
# the most frequent word is the first
RANKS = (0, 1, 4, 12, 40, 90, 150, 400, 900, 2500, 7000, 20_000)


async def sqlite(quick: bool) -> list[Row]:
    with serving(before=lambda environment: _fill(environment, USERNAME, quick)) as server:
        async with Browser.signed_in(server) as browser:
            return await _time_queries("SQLite", browser.client, quick)


async def postgresql(quick: bool) -> list[Row]:
    with cluster(1) as here:
        environment = here.stack.servers[0].environment
        await asyncio.to_thread(_fill, environment, here.person.username, quick)
        async with here.browser(0) as browser:
            return await _time_queries("PostgreSQL", browser.client, quick)


def _fill(environment: Mapping[str, str], person: str, quick: bool) -> None:
    own, others = (number // (10 if quick else 1) for number in (OWN, OTHERS))
    base_environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ
    }
    command = [sys.executable, "-m", "bench.archive", person, str(own), str(others)]
    settings = {"DJANGO_SETTINGS_MODULE": "chatapp.settings"}
    subprocess.run(
        command, cwd=ROOT, env=base_environment | settings | dict(environment), check=True
    )


async def _time_queries(database: str, client: httpx.AsyncClient, quick: bool) -> list[Row]:
    taken: list[float] = []
    for query in queries():
        for end in range(2, len(query) + 1):
            began_at = time.perf_counter()
            answer = await client.get(
                "/search/", params={"q": query[:end]}, headers={"HX-Request": "true"}
            )
            taken.append((time.perf_counter() - began_at) * 1000)
            answer.raise_for_status()
    size = f"{OWN // (10 if quick else 1):,} among {OTHERS // (10 if quick else 1):,}"
    figure = f"a search on {database}, {size}"
    return [
        at_most(f"{figure}, p50", percentile(taken, 50), P50_MS, "ms", 1),
        at_most(f"{figure}, p95", percentile(taken, 95), P95_MS, "ms", 1),
        Row(f"the slowest of {len(taken)}", f"{max(taken):.1f} ms", "", True),
    ]


def queries() -> Iterator[str]:
    words = [word(rank) for rank in RANKS]
    yield from words
    for common, rare in zip(words, reversed(words), strict=True):
        yield f"{common} {rare}"
    for text in texts()[:6]:
        some = text.split()
        yield '"' + " ".join(some[3:6]) + '"'
    for term in words[:6:2]:
        yield f"{term} from:me"
        yield f"{term} before:2100"


PARTS: dict[str, Figure] = {
    "sqlite": sqlite,
    "postgresql": postgresql,
}
