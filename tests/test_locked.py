"""A SQLite database that another program holds for long: tabs come and go, and nothing is lost."""

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager

import pytest

from chatapp.generation.generation import UNSAVED
from tests.fake_upstream import FakeUpstream, Pause, delta, done, finish, role
from tests.live import Server, Site
from tests.viewer import Viewer

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("DATABASE_URL")), reason="is of SQLite, which has one lock for all writes"
)

SOON = 2.0  # seconds within which nobody asks why nothing happens
HELD = 8.0  # longer than a lease, and than several checkpoints are apart


@pytest.fixture
def server(site: Site, upstream: FakeUpstream) -> Iterator[Server]:
    environment = {"OPENAI_BASE_URL": upstream.base_url, "OPENAI_API_KEY": "sk-x", "REDIS_URL": ""}
    with site.server(CHATAPP_CLOSE_GRACE="60", CHATAPP_DROP_GRACE="60", **environment) as server:
        yield server


@contextmanager
def locked(server: Server) -> Iterator[None]:
    """As a backup script or an open shell of sqlite3 does."""
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


async def test_while_it_is_locked_tabs_open_and_read_along(
    site: Site, server: Server, upstream: FakeUpstream
) -> None:
    alice, bob = site.person(), site.person()
    pause, more = Pause(), Pause()
    upstream.script(role(), delta("One "), pause, delta("two "), more, delta("three"), finish())
    async with Viewer.opened(server, alice) as tab:
        await tab.send("Count")
        await tab.until_says("One")
        with locked(server):
            held_until = time.monotonic() + HELD
            pause.release()
            await tab.until_says("One two")
            while time.monotonic() < held_until:
                async with within(SOON), Viewer.opened(server, bob) as other:
                    assert other.is_connected
                async with within(SOON), Viewer.opened(server, alice, tab.path) as second:
                    await second.until_says("One two")
            async with Viewer.opened(server, alice, tab.path) as second:
                more.release()
                for viewer in (tab, second):
                    await viewer.until_says("One two three")
        assert await tab.until_ended() == "complete"


async def test_a_reply_that_ends_meanwhile_says_so_soon_and_is_saved_when_the_lock_goes(
    site: Site, server: Server, upstream: FakeUpstream
) -> None:
    alice = site.person()
    pause = Pause()
    upstream.script(role(), delta("One "), pause, delta("two"), finish(), done())
    async with Viewer.opened(server, alice) as tab:
        await tab.send("Count")
        await tab.until_says("One")
        with locked(server):
            await asyncio.to_thread(server.wait_for, "The database is locked")
            pause.release()
            await tab.until_says("One two")
            async with within(SOON):
                await tab.until(lambda: UNSAVED in tab.page.reply().text)
            assert tab.ending == "streaming"
        async with within(SOON):
            assert await tab.until_ended() == "complete"
        assert UNSAVED not in tab.page.reply().text
        async with Viewer.opened(server, alice, tab.path) as later:
            assert (later.ending, later.text) == ("complete", "One two")


async def test_a_prompt_waits_for_the_lock_and_its_tab_is_told(
    site: Site, server: Server, upstream: FakeUpstream
) -> None:
    async with Viewer.opened(server, site.person()) as tab:
        with locked(server):
            await tab.send("Hello?")
            async with within(SOON):
                await tab.until(lambda: "What you sent waits" in tab.problem)
        assert await tab.until_ended() == "complete"
        assert tab.problem == ""
