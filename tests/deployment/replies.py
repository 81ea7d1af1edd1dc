"""Replies half streamed on several servers when something happens, and checks of the result."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from tests.deployment.stack import Stack
from tests.support.fake_upstream import (
    FakeUpstream,
    Pause,
    Request,
    Step,
    delta,
    done,
    finish,
    role,
)
from tests.support.live import Address, Person, Server
from tests.support.page import Page
from tests.support.program import WAIT_SECONDS
from tests.support.viewer import Viewer

WORDS = [f"word{number} " for number in range(60)]
WHOLE = "".join(WORDS)


def with_a_pause(pause: Pause) -> list[Step]:
    """Return the steps of a reply's second half, after a pause."""
    return [pause, *map(delta, WORDS[20:]), finish(), done()]


def with_two_pauses(first: Pause, second: Pause) -> list[Step]:
    middle, end = map(delta, WORDS[20:40]), map(delta, WORDS[40:])
    return [first, *middle, second, *end, finish(), done()]


@asynccontextmanager
async def half_a_reply(
    stack: Stack, upstream: FakeUpstream, person: Person, *steps: Step
) -> AsyncIterator[tuple[list[Viewer], Request]]:
    """Open a tab at each server; the first sends a prompt and owns its reply of twenty words so
    far."""
    upstream.script(role(), *map(delta, WORDS[:20]), *steps)
    async with AsyncExitStack() as tabs:
        owner = await tabs.enter_async_context(Viewer.open_tab(stack.servers[0], person))
        await owner.send("Count")
        request = await upstream.until_requested()
        await owner.until_says("word19")
        viewers = [owner]
        for server in stack.servers[1:]:
            opened = Viewer.open_tab(server, person, owner.path)
            viewers.append(await tabs.enter_async_context(opened))
        for viewer in viewers:
            await viewer.until_says("word19")
        yield viewers, request


async def until_complete(*viewers: Viewer, whole: str = WHOLE) -> None:
    """Wait until each tab shows the whole reply, without ever having lost or repeated text."""
    for viewer in viewers:
        ending = await viewer.until_ended()
        assert (ending, viewer.text) == ("complete", whole.strip())
        viewer.check_that_it_only_grew(whole)


async def load_page(address: Address, person: Person, path: str) -> Page:
    with address.visit(person) as client:
        answer = await asyncio.to_thread(client.get, path)
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


async def until_saved(
    address: Address, person: Person, path: str, text: str, ending: str = ""
) -> None:
    """Wait until a page has the newest reply saved with this text; only pages show checkpoints."""
    last = ""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                page = await load_page(address, person, path)
                state = page.region("answer").strip(), page.reply().attributes["data-ending"]
                last = repr(state)
                if state[0] == text.strip() and ending in ("", state[1]):
                    return
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"kept is {last}, not {text!r}") from None


async def until_ready_says(server: Server, **parts: bool) -> dict[str, Any]:
    """Wait until /readyz reports these parts; return all parts, with its `status`."""
    with server.visit() as client:
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                answer = await asyncio.to_thread(client.get, "/readyz", timeout=WAIT_SECONDS)
                reported = answer.json() | {"status": answer.status_code}
                if parts.items() <= reported.items():
                    return dict(reported)
                await asyncio.sleep(0.05)
