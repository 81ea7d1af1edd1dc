"""Tabs that lose their connection repeatedly and come back through another server or proxy.

Used by a test, which requires that no character is lost or repeated, and by the benchmark, which
counts them.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import pairwise

from tests.deployment.stack import Stack
from tests.support.fake_upstream import Delay, FakeUpstream, Pause, delta, done, finish, role
from tests.support.live import Address, Person
from tests.support.viewer import Viewer

TOKEN_SECONDS = 0.02
SECONDS_A_RECONNECT = 0.5  # roughly how long the reply streams for each reconnect


@dataclass(frozen=True)
class ReconnectCounts:
    reconnects: int
    lost: int  # characters sent by the upstream that a tab does not show at the end
    repeated: int  # characters that a tab shows more than once at the end
    went_back: int  # times that a tab showed less than before, or something else


async def reconnect_at_random(
    stack: Stack, upstream: FakeUpstream, people: Sequence[Person], times: int, seed: int
) -> ReconnectCounts:
    """Stream one reply to one tab for each person; each tab loses its connection `times` times."""
    choose = random.Random(seed)  # noqa: S311 - not for secrets
    addresses: list[Address] = [*stack.servers, stack.nginx, stack.caddy]
    words = [f"w{n} " for n in range(int(times * SECONDS_A_RECONNECT / TOKEN_SECONDS))]
    async with AsyncExitStack() as tabs:
        viewers, pauses = [], []
        for person in people:
            pauses.append(Pause())
            streamed = [step for word in words for step in (Delay(TOKEN_SECONDS), delta(word))]
            upstream.script(role(), *streamed, pauses[-1], delta("end"), finish(), done())
            opened = Viewer.open_tab(choose.choice(stack.servers), person)
            viewers.append(await tabs.enter_async_context(opened))
            await viewers[-1].send("Count")
            await viewers[-1].until_says(words[0].strip())
        losing = (_lose_and_return(viewer, addresses, times, choose) for viewer in viewers)
        await asyncio.gather(*losing)
        for viewer, pause in zip(viewers, pauses, strict=True):
            pause.release()
            await viewer.until_ended()
        reconnects = sum(viewer.connections - 1 for viewer in viewers)
        return _count_losses(viewers, [*words, "end"], reconnects)


async def _lose_and_return(
    viewer: Viewer, addresses: Sequence[Address], times: int, choose: random.Random
) -> None:
    viewer.reconnect_quickly()
    for _ in range(times):
        before = viewer.connections
        viewer.address = choose.choice(addresses)
        await viewer.lose_connection()
        await viewer.until_back(before)
        await asyncio.sleep(choose.uniform(0, 0.2))  # at any phase of what follows a connection


def _count_losses(
    viewers: Sequence[Viewer], words: Sequence[str], reconnects: int
) -> ReconnectCounts:
    lost = repeated = went_back = 0
    for viewer in viewers:
        word_counts = Counter(viewer.text.split())
        counts = [(len(word.strip()), word_counts[word.strip()]) for word in words]
        lost += sum(length for length, count in counts if not count)
        repeated += sum(length * (count - 1) for length, count in counts if count > 1)
        texts = [text for _, text in viewer.seen]
        went_back += sum(not after.startswith(before) for before, after in pairwise(texts))
    return ReconnectCounts(reconnects, lost, repeated, went_back)
