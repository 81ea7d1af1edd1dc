"""Redis or PostgreSQL goes away and comes back while replies stream on three servers."""

import asyncio

import pytest

from chatapp.models.platform.processes import EXPIRY_SECONDS
from tests.deployment.replies import (
    WHOLE,
    WORDS,
    half_a_reply,
    load_page,
    until_complete,
    until_ready_says,
    until_saved,
    with_a_pause,
    with_two_pauses,
)
from tests.deployment.services import Postgres
from tests.deployment.stack import Stack
from tests.support.fake_upstream import FakeUpstream, Pause
from tests.support.live import Person, Site
from tests.support.profile import sample_params
from tests.support.program import Program
from tests.support.viewer import Viewer

SILENT = "can't be reached right now"
SOON = 2.0  # seconds before anybody wonders why nothing happens
BACK = {"stop": "start", "pause": "resume"}
HOW = pytest.mark.parametrize("how", sample_params(BACK))


async def do(how: str, program: Program) -> None:
    await asyncio.to_thread(getattr(program, how))


# Redis


@HOW
async def test_without_redis_the_owners_tabs_read_on_and_others_catch_up(
    stack: Stack, team_upstream: FakeUpstream, alice: Person, team: Site, how: str
) -> None:
    first, second = Pause(), Pause()
    steps = with_two_pauses(first, second)
    async with half_a_reply(stack, team_upstream, alice, *steps) as (viewers, _):
        await do(how, stack.redis)
        async with asyncio.timeout(SOON):
            for viewer in viewers[1:]:
                await viewer.until_shows(SILENT)
        first.release()
        await viewers[0].until_says("word39")
        for viewer in viewers[1:]:
            assert SILENT in viewer.page.reply().text
            assert (viewer.ending, viewer.text) == ("streaming", "".join(WORDS[:20]).strip())
        for server in stack.servers:
            ready = await until_ready_says(server, redis=False)
            assert (ready["status"], ready["database"], ready["draining"]) == (503, True, False)
        async with (
            Viewer.open_tab(stack.servers[1], team.person()) as newcomer,
            Viewer.open_tab(stack.servers[1], alice, viewers[0].path) as latecomer,
        ):
            await newcomer.send("Hello?")
            assert await newcomer.until_ended() == "complete"
            assert newcomer.text == "Packets in flight"
            await latecomer.until_shows(SILENT)
            await do(BACK[how], stack.redis)
            for viewer in (*viewers[1:], latecomer):
                await viewer.until_says("word39")
                assert SILENT not in viewer.page.reply().text
            for server in stack.servers:
                assert (await until_ready_says(server, redis=True))["status"] == 200
            second.release()
            await until_complete(*viewers, latecomer)
        check_quiet(stack)


def check_quiet(stack: Stack) -> None:
    """Check that an outage of Redis leaves no tracebacks of libraries in the logs."""
    for server in stack.servers:
        assert "Traceback" not in server.log, server.log


async def test_a_reply_that_ends_during_a_redis_outage_ends_everywhere(
    stack: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    pause = Pause()
    async with half_a_reply(stack, team_upstream, alice, *with_a_pause(pause)) as (viewers, _):
        await asyncio.to_thread(stack.redis.stop)
        pause.release()
        await until_complete(*viewers)


async def test_a_server_started_without_redis_joins_once_it_is_back(
    stack: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    pause = Pause()
    async with half_a_reply(stack, team_upstream, alice, *with_a_pause(pause)) as (viewers, _):
        late = stack.servers[2]
        await asyncio.to_thread(stack.redis.stop)
        await asyncio.to_thread(late.kill)
        await asyncio.to_thread(late.start)
        await until_ready_says(late, redis=False, database=True)
        async with Viewer.open_tab(late, alice, viewers[0].path) as viewer:
            await asyncio.to_thread(stack.redis.start)
            await until_ready_says(late, redis=True)
            pause.release()
            await until_complete(*viewers, viewer)


# PostgreSQL


@HOW
async def test_without_postgresql_replies_continue_and_are_saved_when_it_is_back(
    stack: Stack,
    postgres: Postgres,
    team: Site,
    team_upstream: FakeUpstream,
    alice: Person,
    how: str,
) -> None:
    ends, stays = Pause(), Pause()
    bob, carol = team.person(), team.person()
    async with (
        half_a_reply(stack, team_upstream, alice, *with_a_pause(ends)) as (viewers, _),
        half_a_reply(stack, team_upstream, bob, *with_a_pause(stays)) as (others, _),
        Viewer.open_tab(stack.servers[1], carol) as asking,
    ):
        pids = [server.pid for server in stack.servers]
        since = [len(server.lines) for server in stack.servers]
        await do(how, postgres)
        ends.release()
        for viewer in viewers:
            await viewer.until_says("word59")
        if how == "pause":
            # It hangs for longer than a process may miss its heartbeats.
            await asyncio.sleep(EXPIRY_SECONDS + 1)
        for server in stack.servers:
            ready = await until_ready_says(server, database=False)
            assert (ready["status"], ready["redis"]) == (503, True)
        prompt = asking.page.form()["prompt"]
        await asking.send("Hello?")
        await asking.until(lambda: "text is kept" in asking.problem)
        assert asking.page.root.find("p", id="problem").attributes["data-prompt"] == prompt
        assert {viewer.ending for viewer in (*viewers, *others)} == {"streaming"}
        await do(BACK[how], postgres)
        await until_complete(*viewers)
        for server in stack.servers:
            assert (await until_ready_says(server, database=True))["status"] == 200
        await asking.ask("Hello?")
        assert await asking.until_ended() == "complete"
        stays.release()
        await until_complete(*others)
        for tab in (*viewers, *others):
            assert not [frame for frame in tab.frames if 'data-ending="interrupted"' in frame]
        for person, tab in ((alice, viewers[0]), (bob, others[0])):
            await until_saved(stack.servers[2], person, tab.path, WHOLE, "complete")
        page = await load_page(stack.servers[2], carol, asking.path)
        assert len(page.root.find_all("article")) == 1
        assert pids == [server.pid for server in stack.servers if server.is_running]
        for server, line in zip(stack.servers, since, strict=True):
            assert "cut short" not in "".join(server.lines[line:])
            assert "Traceback" not in "".join(server.lines[line:])
