"""A SQLite database locked for long by another program: tabs come and go, nothing is lost."""

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager

import pytest

from chatapp.realtime.generation.generation import UNSAVED
from tests.support.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.support.live import Server, Site
from tests.support.viewer import Viewer

pytestmark = [
    pytest.mark.skipif(
        bool(os.environ.get("DATABASE_URL")),
        reason="only SQLite has one lock for all writes",
    ),
    pytest.mark.thorough,
]

SOON = 5.0  # seconds in which something must happen despite the lock
HELD = 8.0  # longer than a lease and several checkpoint intervals
LONG_HELD = 45.0  # seconds in which two consecutive writes give up after 20 each


@pytest.fixture
def server(site: Site, upstream: FakeUpstream) -> Iterator[Server]:
    with site.server(
        OPENAI_BASE_URL=upstream.base_url,
        OPENAI_API_KEY="sk-x",
        REDIS_URL="",
        CHATAPP_CLOSE_GRACE="60",
        CHATAPP_DROP_GRACE="60",
        CHATAPP_ACTIONS_PER_SECOND="1000",  # one of the tabs reconnects all the time
    ) as server:
        yield server


@contextmanager
def lock_database(server: Server) -> Iterator[None]:
    """Hold the write lock, as a backup script or an open sqlite3 shell does."""
    path = server.data_dir / "chatapp.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    began_at = time.monotonic()
    yield
    assert time.monotonic() - began_at < seconds


async def test_while_it_is_locked_tabs_open_and_stream(
    site: Site, server: Server, upstream: FakeUpstream
) -> None:
    alice, bob = site.person(), site.person()
    pause, more = Pause(), Pause()
    upstream.script(role(), delta("One "), pause, delta("two "), more, delta("three"), finish())
    async with Viewer.open_tab(server, alice) as tab:
        await tab.send("Count")
        await tab.until_says("One")
        with lock_database(server):
            held_until = time.monotonic() + HELD
            pause.release()
            await tab.until_says("One two")
            while time.monotonic() < held_until:
                async with within(SOON), Viewer.open_tab(server, bob) as other:
                    assert other.is_connected
                async with within(SOON), Viewer.open_tab(server, alice, tab.path) as second:
                    await second.until_says("One two")
            async with Viewer.open_tab(server, alice, tab.path) as second:
                more.release()
                for open_tab in (tab, second):
                    await open_tab.until_says("One two three")
        assert await tab.until_ended() == "complete"


async def test_a_reply_that_ends_meanwhile_is_shown_as_unsaved_and_saved_later(
    site: Site, server: Server, upstream: FakeUpstream
) -> None:
    alice = site.person()
    pause = Pause()
    upstream.script(role(), delta("One "), pause, delta("two"), finish(), done())
    async with Viewer.open_tab(server, alice) as tab:
        await tab.send("Count")
        await tab.until_says("One")
        with lock_database(server):
            await asyncio.to_thread(server.wait_for, "The database is locked")
            pause.release()
            await tab.until_says("One two")
            async with within(SOON):
                await tab.until_shows(UNSAVED)
            assert tab.ending == "streaming"
        async with within(SOON):
            assert await tab.until_ended() == "complete"
        assert UNSAVED not in tab.page.reply().text
        async with Viewer.open_tab(server, alice, tab.path) as later:
            assert (later.ending, later.text) == ("complete", "One two")


async def test_a_prompt_waits_for_the_lock_and_its_tab_says_so(
    site: Site, server: Server, upstream: FakeUpstream
) -> None:
    async with Viewer.open_tab(server, site.person()) as tab:
        with lock_database(server):
            await tab.send("Hello?")
            async with within(SOON):
                await tab.until(lambda: "What you sent will be saved" in tab.problem)
        assert await tab.until_ended() == "complete"
        assert tab.problem == ""


async def test_after_twenty_seconds_a_prompt_is_returned_and_no_finished_reply_is_lost(
    site: Site, server: Server, upstream: FakeUpstream
) -> None:
    alice, bob = site.person(), site.person()
    pause = Pause()
    upstream.script(role(), delta("One "), pause, delta("two"), finish(), done())
    async with Viewer.open_tab(server, alice) as tab, Viewer.open_tab(server, bob) as asking:
        await tab.send("Count")
        await tab.until_says("One")
        prompt = asking.page.form()["prompt"]
        with lock_database(server):
            async with within(LONG_HELD):
                await asking.send("Hello?")
                async with within(SOON):
                    await asking.until(lambda: "What you sent will be saved" in asking.problem)
                pause.release()
                # The last text, and the notice that it isn't saved yet.
                async with within(2 * SOON):
                    await tab.until_shows(UNSAVED)
                await asking.until(lambda: "Your text is kept" in asking.problem)
            assert asking.page.root.find("p", id="problem").attributes["data-prompt"] == prompt
            async with within(SOON), Viewer.open_tab(server, alice, tab.path) as second:
                await second.until_says("One two")
            assert tab.ending == "streaming"
        assert await tab.until_ended() == "complete"
        async with Viewer.open_tab(server, alice, tab.path) as later:
            assert (later.ending, later.text) == ("complete", "One two")
        await asking.ask("Hello?")
        assert await asking.until_ended() == "complete"
        async with Viewer.open_tab(server, bob, asking.path) as later:
            assert len(later.page.root.find_all("article")) == 1
