"""Several processes: the cost of moving between them, of losing one, and of watching from another.
`python -m bench cluster` takes all parts, `python -m bench cluster.kills` one of them. Driver,
upstream, PostgreSQL, Redis and all processes share the machine."""

import asyncio
import random
import re
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median

from bench.answers import STAMP_DIGITS, Order
from bench.cluster import Cluster, cluster, site_on_postgres
from bench.driver import Browser, Tab
from bench.server import Server
from bench.table import Figure, Row
from tests.deployment.reconnects import reconnect_at_random
from tests.deployment.services import Redis
from tests.deployment.stack import Stack
from tests.support.fake_upstream import FakeUpstream

LOSS_SECONDS, INTERRUPTED_SECONDS = 0.1, 10.0
FAR_CLOSE_MS, REVOKED_MS = 100.0, 1000.0
REVOKING = """
import time
from django.contrib.sessions.models import Session
from chatapp.models import User
person = User.objects.get(username={name!r})
session = Session.objects.get(pk={session!r})
print(time.monotonic())
{act}
"""
REVOCATIONS = {
    "a person deactivated": "person.is_active = False; person.save()",
    "a session deleted": "session.delete()",
}
PACE = 50.0
PATIENCE = {"CHATAPP_CLOSE_GRACE": "3600", "CHATAPP_DROP_GRACE": "3600"}

_STAMP = re.compile(rf"t(\d{{{STAMP_DIGITS}}})")


async def reconnects(quick: bool) -> list[Row]:
    """Characters lost and repeated by tabs that are cut off and come back elsewhere."""
    people, times = (3, 10) if quick else (6, 40)
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        site_on_postgres(Path(folder)) as site,
        Redis() as redis,
        FakeUpstream() as upstream,
        Stack(site, redis, upstream, Path(folder), 3, environment=PATIENCE) as stack,
    ):
        cast = [site.person() for _ in range(people)]
        tally = await reconnect_at_random(stack, upstream, cast, times, seed=int(time.time()))
    return [
        Row(
            f"{tally.reconnects} forced reconnects, 3 processes, 2 proxies",
            f"{tally.lost} lost, {tally.repeated} repeated, {tally.went_back} back",
            "0 and 0 characters",
            (tally.lost, tally.repeated, tally.went_back) == (0, 0, 0),
        )
    ]


async def kills(quick: bool) -> list[Row]:
    """Measure what is lost of a reply when its process is killed, and how soon others see it
    end."""
    losses, waits = [], []
    with cluster(3, **PATIENCE) as here:
        for number in range(3 if quick else 20):
            loss, seconds = await _kill(here, number % 3)
            losses.append(loss)
            waits += seconds
    return [
        Row(
            f"text lost by kill -9 of the owner, {len(losses)} times",
            f"median {median(losses):.2f}, worst {max(losses):.2f} s",
            f"worst ≤ {LOSS_SECONDS:g} s of text",
            max(losses) <= LOSS_SECONDS,
        ),
        Row(
            f"until tabs elsewhere see interrupted, {len(waits)} tabs",
            f"median {median(waits):.1f}, worst {max(waits):.1f} s",
            f"worst ≤ {INTERRUPTED_SECONDS:g} s",
            max(waits) <= INTERRUPTED_SECONDS,
        ),
    ]


async def _kill(here: Cluster, owner: int) -> tuple[float, list[float]]:
    """Return the seconds of text lost, and the seconds until each tab elsewhere saw the end."""
    others = [number for number in range(3) if number != owner]
    async with AsyncExitStack() as opened:
        browsers = [await opened.enter_async_context(here.browser(n)) for n in (owner, *others)]
        tab = await browsers[0].open_tab()
        tab.ask(Order(1, tokens=5000, pace=PACE))
        await tab.reply_began()
        away = [await _watching(browser, tab) for browser in browsers[1:]]
        await asyncio.sleep(random.uniform(1, 3))  # at any phase of checkpoints
        killed_at = time.monotonic()
        await asyncio.to_thread(here.stack.servers[owner].kill)
        seconds = await asyncio.gather(*(_until_interrupted(viewer, killed_at) for viewer in away))
        page = (await browsers[1].client.get(tab.path)).raise_for_status().text
    await asyncio.to_thread(here.stack.servers[owner].start)
    stamps = [int(stamp) for stamp in _STAMP.findall(page)]
    return killed_at - max(stamps, default=0) / 1e6, seconds


async def _watching(browser: Browser, tab: Tab) -> Tab:
    """Open a tab of the same conversation in another browser, and wait for its first token."""
    other = await browser.open_tab(tab.path)
    other.watch()
    await other.reply_began()
    return other


async def _until_interrupted(tab: Tab, since: float) -> float:
    if (ending := await tab.reply_ended()) != "interrupted":
        raise RuntimeError(f"a killed process's reply ended as {ending}")
    return time.monotonic() - since


async def far(quick: bool) -> list[Row]:
    """Measure how soon Stop, or closing the last tab, closes the upstream request from another
    process."""
    rows = []
    with cluster(2, CHATAPP_CLOSE_GRACE="0") as here:
        for name, end in (("Stop", Tab.stop), ("last tab's close", _close)):
            times = [await _time_to_close(here, end) for _ in range(5 if quick else 20)]
            rows.append(
                Row(
                    f"{name} elsewhere to upstream closed, {len(times)} times",
                    f"median {median(times):.1f}, worst {max(times):.1f} ms",
                    f"worst ≤ {FAR_CLOSE_MS:g} ms",
                    max(times) <= FAR_CLOSE_MS,
                )
            )
    return rows


async def _time_to_close(here: Cluster, end: Callable[[Tab], float]) -> float:
    """Return milliseconds from a tab's action elsewhere to the close seen by the upstream."""
    async with here.browser(0) as owner, here.browser(1) as elsewhere:
        tab = await owner.open_tab()
        order = Order(random.randrange(10**9), tokens=5000)
        tab.ask(order)
        await tab.reply_began()
        other = await _watching(elsewhere, tab)
        if end is _close:
            await owner.close_tabs()
        await asyncio.sleep(random.uniform(0.1, 0.4))
        ended_at = end(other)
        request = await elsewhere.wait_for_request(order, closed=True)
        assert request.closed_at
        return (request.closed_at - ended_at) * 1000


def _close(tab: Tab) -> float:
    now = time.monotonic()
    tab.socket.close()
    return now


async def revocations(quick: bool) -> list[Row]:
    """Measure how soon a reply's upstream request is closed after its person loses access through a
    program beside the servers, while their tabs at two servers show the reply."""
    rows = []
    with cluster(2, **PATIENCE) as here:
        for name, act in REVOCATIONS.items():
            times = [await _time_to_revoke(here, act) for _ in range(5 if quick else 20)]
            rows.append(
                Row(
                    f"{name} to upstream closed, {len(times)} times",
                    f"median {median(times):.1f}, worst {max(times):.1f} ms",
                    f"worst ≤ {REVOKED_MS:g} ms",
                    max(times) <= REVOKED_MS,
                )
            )
    return rows


async def _time_to_revoke(shared: Cluster, act: str) -> float:
    """Return milliseconds from just before the change is stored to the upstream seeing a close."""
    here = replace(shared, person=shared.site.person())
    async with here.browser(0) as owner, here.browser(1) as elsewhere:
        tab = await owner.open_tab()
        order = Order(random.randrange(10**9), tokens=5000)
        tab.ask(order)
        await tab.reply_began()
        await _watching(elsewhere, tab)
        await asyncio.sleep(random.uniform(0.1, 0.4))
        script = REVOKING.format(name=here.person.username, session=here.person.session, act=act)
        revoked_at = float(await asyncio.to_thread(here.stack.servers[1].run, script))
        request = await elsewhere.wait_for_request(order, closed=True)
        assert request.closed_at
        return (request.closed_at - revoked_at) * 1000


async def remote(quick: bool) -> list[Row]:
    """CPU per token of a reply's own process and of one that watches, with and without watching."""
    replies, seconds = (20, 3.0) if quick else (100, 10.0)
    with cluster(2, **PATIENCE) as here:
        async with here.browser(0) as owner, here.browser(1) as elsewhere:
            tabs = await owner.open_tabs(replies)
            for tab in tabs:
                tab.ask(Order(owner.next_number(), tokens=int((seconds * 3 + 30) * PACE)))
            await asyncio.gather(*(tab.reply_began() for tab in tabs))
            processes = [here.get_server(0), here.get_server(1)]
            alone = await _cpu_a_token(processes, tabs, seconds)
            away = [await _watching(elsewhere, tab) for tab in tabs]
            before = [sum(tab.frames for tab in group) for group in (tabs, away)]
            watched = await _cpu_a_token(processes, tabs, seconds)
            after = [sum(tab.frames for tab in group) for group in (tabs, away)]
            for tab in tabs:
                tab.stop()
    frames = [then - now for then, now in zip(after, before, strict=True)]
    measured = f"{alone[0]:.3f} ms, watched {watched[0]:.3f} ms"
    return [
        Row(f"owner's CPU a token, {replies} replies at {PACE:g}/s", measured, "", True),
        Row("a remote viewer, at the owner", f"{watched[0] - alone[0]:+.3f} ms a token", "", True),
        Row(
            "a remote viewer, where it is",
            f"{watched[1]:.3f} ms a token, idle {alone[1]:.3f}; frames {frames[1]} of {frames[0]}",
            "",
            True,
        ),
    ]


async def _cpu_a_token(processes: list[Server], tabs: list[Tab], seconds: float) -> list[float]:
    """Return milliseconds of each process for each token that the owner's tabs received."""
    await asyncio.sleep(1)
    tokens = sum(len(tab.latencies) for tab in tabs)
    cpu = [process.cpu_seconds() for process in processes]
    await asyncio.sleep(seconds)
    tokens = sum(len(tab.latencies) for tab in tabs) - tokens
    used = [process.cpu_seconds() - before for process, before in zip(processes, cpu, strict=True)]
    return [used_seconds / tokens * 1000 for used_seconds in used]


PARTS: dict[str, Figure] = {
    "reconnects": reconnects,
    "kills": kills,
    "far": far,
    "revoked": revocations,
    "remote": remote,
}
