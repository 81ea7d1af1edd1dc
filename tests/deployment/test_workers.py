"""`serve --workers`: several processes behind one port; any may die, and they stop together."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.deployment.services import Redis
from tests.support.fake_upstream import FakeUpstream, Pause, Stall, delta, done, finish, role
from tests.support.live import Person, Server, Site, free_port
from tests.support.page import Element
from tests.support.program import WAIT_SECONDS
from tests.support.viewer import Viewer

WORKERS = 2
PROCESS_OF = """
    SELECT p.pid FROM chatapp_message m JOIN chatapp_process p ON p.id = m.streamed_by
    WHERE m.id = %s
"""


@pytest.fixture
def server(team: Site, redis: Redis, team_upstream: FakeUpstream) -> Iterator[Server]:
    settings = {
        "REDIS_URL": redis.url,
        "OPENAI_BASE_URL": team_upstream.base_url,
        "CHATAPP_CLOSE_GRACE": "3600",
        "CHATAPP_DRAIN_SECONDS": "1",
        "PORT": str(free_port()),
    }
    with Server(team.copy() | settings, "--workers", str(WORKERS)) as server:
        yield server


def find_workers(server: Server) -> set[int]:
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()
    return {int(pid) for pid in children.split()}


def are_there(pids: Iterable[int]) -> bool:
    return any(Path(f"/proc/{pid}").exists() for pid in pids)


def find_process(server: Server, tab: Viewer) -> int:
    """Return the worker that runs the tab's reply."""
    with psycopg.connect(server.environment["DATABASE_URL"]) as connection:
        row = connection.execute(PROCESS_OF, [tab.replies[-1]]).fetchone()
    assert row
    return int(row[0])


@asynccontextmanager
async def a_reply_in_each(
    server: Server, upstream: FakeUpstream, team: Site, *steps: object
) -> AsyncIterator[dict[int, Viewer]]:
    """Open tabs until each worker runs a half-finished reply; the kernel picks the workers."""
    tabs: dict[int, Viewer] = {}
    async with AsyncExitStack() as opened, asyncio.timeout(WAIT_SECONDS):
        while len(tabs) < WORKERS:
            upstream.script(role(), delta("Half of "), *(steps or [Stall()]))
            tab = await opened.enter_async_context(Viewer.open_tab(server, team.person()))
            await tab.send("Go on")
            await upstream.until_requested()
            await tab.until_says("Half of")
            tabs[find_process(server, tab)] = tab
        assert tabs.keys() == find_workers(server)
        yield tabs


async def test_a_killed_worker_is_replaced_and_takes_no_other_with_it(
    server: Server, team_upstream: FakeUpstream, team: Site
) -> None:
    pause = Pause()
    steps = (pause, delta("it"), finish(), done())
    async with a_reply_in_each(server, team_upstream, team, *steps) as tabs:
        (killed, lost), (_, other_tab) = tabs.items()
        os.kill(killed, signal.SIGKILL)
        assert await lost.until_ended() == "interrupted"
        pause.release()
        assert await other_tab.until_ended() == "complete"
        assert (other_tab.connections, other_tab.text) == (1, "Half of it")
        await asyncio.to_thread(server.wait_for, f"Process {killed} exited with -9")
        async with a_reply_in_each(server, team_upstream, team) as tabs:
            assert killed not in tabs


async def test_one_sigterm_stops_all_workers_and_tabs_see_their_replies_end(
    server: Server, team_upstream: FakeUpstream, team: Site
) -> None:
    async with a_reply_in_each(server, team_upstream, team) as tabs:
        server.begin_stop()
        for tab in tabs.values():
            assert await tab.until_ended() == "interrupted"
        assert await asyncio.to_thread(server.wait) == 0
    assert not are_there(tabs)


@pytest.mark.thorough
async def test_workers_stop_if_their_supervisor_is_killed_and_free_the_port(
    server: Server, team_upstream: FakeUpstream, team: Site
) -> None:
    async with a_reply_in_each(server, team_upstream, team) as tabs:
        server.process.kill()
        for tab in tabs.values():
            assert await tab.until_ended() == "interrupted"
        async with asyncio.timeout(WAIT_SECONDS):
            while are_there(tabs):  # noqa: ASYNC110 - processes
                await asyncio.sleep(0.01)
    await asyncio.to_thread(server.wait)
    await asyncio.to_thread(server.start)


async def test_a_tab_on_another_worker_follows_the_reply(
    server: Server, team_upstream: FakeUpstream, team: Site
) -> None:
    pause = Pause()
    steps = (pause, delta("it"), finish(), done())
    async with (
        a_reply_in_each(server, team_upstream, team, *steps) as tabs,
        AsyncExitStack() as opened,
    ):
        others = [
            await opened.enter_async_context(Viewer.open_tab(server, tab.person, tab.path))
            for tab in tabs.values()
            for _ in range(4)  # all four in the same process only once in 16
        ]
        pause.release()
        for other in others:
            assert await other.until_ended() == "complete"
            assert other.text == "Half of it"


async def test_tabs_on_all_workers_see_a_summary_and_any_of_them_cancels_it(
    server: Server, team_upstream: FakeUpstream, team: Site
) -> None:
    async with AsyncExitStack() as opened:
        tab = await opened.enter_async_context(Viewer.open_tab(server, team.person()))
        for text in ("One", "Two"):
            team_upstream.script(role(), delta(text), finish(), done())
            await tab.ask(f"Say {text}")
            assert await tab.until_ended() == "complete"
        tabs = [tab] + [
            await opened.enter_async_context(Viewer.open_tab(server, tab.person, tab.path))
            for _ in range(4)  # all in the process of the first only once in 16
        ]
        team_upstream.script(role(), delta("We counted"), Stall())
        await tab.send("", action="summarise", by=tab.page.form()["model"])
        while "Summarise" not in str((request := await team_upstream.until_requested()).body):
            pass
        for each_tab in tabs:
            await until_progress(each_tab, "is writing a summary")
        reloaded = await opened.enter_async_context(Viewer.open_tab(server, tab.person, tab.path))
        await until_progress(reloaded, "(2 words)")
        await tabs[-1].press(find_progress(tabs[-1]).find("button"))
        await request.until_closed()
        for each_tab in (*tabs, reloaded):
            await until_progress(each_tab, "")


async def until_progress(tab: Viewer, text: str) -> None:
    """Wait until the tab says this of a summary, or nothing."""

    def says_it() -> bool:
        progress = find_progress(tab).text.strip()
        return text in progress if text else not progress

    await tab.until(says_it)


def find_progress(tab: Viewer) -> Element:
    return tab.page.root.find("p", id="summary-progress")


@pytest.mark.thorough
def test_hundreds_of_concurrent_pages_are_all_answered(server: Server, alice: Person) -> None:
    async def ask_all() -> list[int]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=server.url, cookies=alice.cookies, limits=limits, timeout=60, trust_env=False
        ) as client:
            answers = await asyncio.gather(*(client.get("/") for _ in range(500)))
        return [answer.status_code for answer in answers]

    assert asyncio.run(ask_all()) == [200] * 500
