"""The review of 100,000 conversations with 1,000,000 messages on PostgreSQL: each filter of its
list and pairs of them, with many values, on the first page, one in the middle and the last. Times
of the list include all queries of a page and building its rows; times of the other pages include
everything but the network. In brackets: how many conversations a filter finds, with the value that
finds most."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench.cluster import site_on_postgres
from bench.looked_for import ENOUGH
from bench.server import ROOT
from bench.table import Row, at_most, percentile

TRIES = 20
P95_MS = 50.0


async def measure(quick: bool) -> list[Row]:
    conversations, tries = (ENOUGH // 10, 5) if quick else (ENOUGH, TRIES)
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        site_on_postgres(Path(folder)) as site,
    ):
        environment = site.copy()
        await asyncio.to_thread(_run_module, environment, "bench.reviewed", conversations)
        results = json.loads(
            await asyncio.to_thread(_run_module, environment, "bench.looking", tries)
        )
    return [
        at_most(f"{_format_name(name, count)}, p95", percentile(taken, 95), P95_MS, "ms", 1)
        for name, (count, taken) in results.items()
    ]


def _format_name(filtered: str, count: int | None) -> str:
    return filtered if count is None else f"{filtered} ({count:,})"


def _run_module(environment: Mapping[str, str], module: str, number: int) -> str:
    base_environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ
    }
    settings = {"DJANGO_SETTINGS_MODULE": "chatapp.settings"}
    command = [sys.executable, "-m", module, str(number)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=base_environment | settings | dict(environment),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout
