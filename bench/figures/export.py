"""A person exports all their chats as JSON, in the background: 10,000 chats of 20 messages each
(`bench.archive`), until the file can be downloaded; how much memory the server has meanwhile beyond
what it had before; and the download."""

import asyncio
import os
import subprocess
import sys
import time

import httpx

from bench.driver import Browser
from bench.figures.memory import Peak
from bench.server import ROOT, USERNAME, Server, serving
from bench.table import Row, at_most

CHATS, A_CHAT = 10_000, 20  # chats, and messages in each
SECONDS, GROWTH_MIB = 60.0, 40.0
POLLED_SECONDS = 0.2


async def measure(quick: bool) -> list[Row]:
    chats = CHATS // (10 if quick else 1)
    with serving(before=lambda environment: _fill(environment, chats)) as server:
        async with Browser.signed_in(server) as browser:
            # The first export loads what every later one needs.
            await _export_everything(server, browser.client)
            idle, peak = server.resident_mib(), Peak(server)
            busy = server.cpu_seconds()
            seconds, address = await _export_everything(server, browser.client)
            busy = server.cpu_seconds() - busy
            growth = peak.stop() - idle
            began_at = time.perf_counter()
            lines, size = await _download(browser.client, address)
            taken = time.perf_counter() - began_at
    if lines != chats:
        raise RuntimeError(f"{lines} of {chats} chats were exported")
    figure = f"{chats:,} chats with {chats * A_CHAT:,} messages"
    return [
        at_most(f"{figure}, exported as JSON", seconds, SECONDS, "s", 1),
        at_most("memory meanwhile, beyond that before", growth, GROWTH_MIB, "MiB", 1),
        Row("CPU of the server meanwhile", f"{busy:.1f} s", "", True),
        Row(f"download of {size / 1e6:.0f} MB", f"{taken:.1f} s", "", True),
    ]


def _fill(environment: dict[str, str], chats: int) -> None:
    base_environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ
    }
    command = [sys.executable, "-m", "bench.archive", USERNAME, str(chats * A_CHAT), "0"]
    settings = {"DJANGO_SETTINGS_MODULE": "chatapp.settings"}
    subprocess.run(command, cwd=ROOT, env=base_environment | settings | environment, check=True)


async def _export_everything(server: Server, client: httpx.AsyncClient) -> tuple[float, str]:
    """Export everything; return the seconds until it is there, and its address."""
    headers = {"Origin": f"http://{server.host}", "X-CSRFToken": client.cookies["csrftoken"]}
    began_at = time.perf_counter()
    fields = {"everything": "on", "format": "json"}
    answer = await client.post("/conversations/export/", data=fields, headers=headers)
    if answer.status_code != 302:
        raise RuntimeError(f"no export was begun: {answer.status_code} {answer.text[:200]}")
    page = await client.get("/exports/")
    progress = page.text.partition('data-job="')[2].partition('"')[0]
    while not (await client.get(progress)).json()["has_ended"]:  # noqa: ASYNC110 - elsewhere
        await asyncio.sleep(POLLED_SECONDS)
    return time.perf_counter() - began_at, progress.replace("progress", "download")


async def _download(client: httpx.AsyncClient, address: str) -> tuple[int, int]:
    """Return the lines and bytes of a download."""
    lines = size = 0
    async with client.stream("GET", address) as answer:
        answer.raise_for_status()
        async for chunk in answer.aiter_bytes():
            lines += chunk.count(b"\n")
            size += len(chunk)
    return lines, size
