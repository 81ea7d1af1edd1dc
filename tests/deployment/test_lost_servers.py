"""Replies when one of three servers is killed, stopped or frozen.

A tab opened at a server's own address is served by that server, so the server of the tab that sent
the prompt owns the reply; a tab opened at a proxy may be served anywhere, and moves.
"""

import asyncio
from contextlib import AsyncExitStack

import pytest

from tests.deployment.proxies import Proxy
from tests.deployment.replies import (
    WHOLE,
    WORDS,
    half_a_reply,
    load_page,
    until_complete,
    until_ready_says,
    until_saved,
    with_a_pause,
)
from tests.deployment.stack import Stack
from tests.support.fake_upstream import Delay, FakeUpstream, Pause, Stall, delta, done, finish, role
from tests.support.live import Person, Site
from tests.support.page import parse
from tests.support.profile import sample_params
from tests.support.viewer import SIGNED_OUT, Viewer

HALF = "".join(WORDS[:20])


# Together


async def test_every_tab_follows_the_reply_whichever_server_serves_it(
    stack: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    pause = Pause()
    async with half_a_reply(stack, team_upstream, alice, *with_a_pause(pause)) as (viewers, _):
        pause.release()
        await until_complete(*viewers)


async def test_stop_reaches_the_owner_from_another_server(
    stack: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    async with half_a_reply(stack, team_upstream, alice, Stall()) as (viewers, request):
        await viewers[1].send("", action="stop")
        assert (await request.until_closed()).was_streaming
        for viewer in viewers:
            assert await viewer.until_ended() == "stopped"
            viewer.check_that_it_only_grew(HALF)


async def test_closing_the_last_tab_reaches_the_owner_from_another_server(
    hasty: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    async with half_a_reply(hasty, team_upstream, alice, Stall()) as (viewers, request):
        await viewers[0].close()
        await viewers[1].close()
        await viewers[2].until(lambda: viewers[2].is_connected)
        assert request.closed is None
        await viewers[2].close()
        assert (await request.until_closed()).was_streaming
        await until_saved(hasty.servers[1], alice, viewers[0].path, HALF, "abandoned")


async def test_signing_out_closes_the_sessions_tabs_on_other_servers(
    stack: Stack, alice: Person
) -> None:
    async with AsyncExitStack() as tabs:
        viewers = [
            await tabs.enter_async_context(Viewer.open_tab(server, alice))
            for server in stack.servers
        ]
        with stack.nginx.visit(alice) as client:
            page = parse(client.get("/accounts/logout/").text)
            token = page.find_all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
            csrf = {"csrfmiddlewaretoken": token}
            origin = {"Origin": stack.nginx.url}
            answer = client.post("/accounts/logout/", data=csrf, headers=origin)
            assert answer.status_code == 302
        for viewer in viewers:
            await viewer.until_closed(SIGNED_OUT)


# Killed


@pytest.mark.parametrize("action", ["retry", "continue"])
async def test_a_killed_owners_reply_is_interrupted_and_can_be_resumed_elsewhere(
    stack: Stack, team_upstream: FakeUpstream, alice: Person, action: str
) -> None:
    async with half_a_reply(stack, team_upstream, alice, Stall()) as (viewers, _):
        await until_saved(stack.servers[1], alice, viewers[0].path, HALF)
        await asyncio.to_thread(stack.servers[0].kill)
        for viewer in viewers[1:]:
            assert await viewer.until_ended() == "interrupted"
            viewer.check_that_it_only_grew(HALF)
        await until_saved(stack.servers[2], alice, viewers[0].path, HALF, "interrupted")
        await take_up(viewers[1], action)
        await team_upstream.until_requested()
        for viewer in viewers[1:]:
            await viewer.until_ending("complete")
            assert viewer.text == "Packets in flight"


async def take_up(viewer: Viewer, action: str) -> None:
    """Press Retry or Continue under the newest reply."""
    [button] = [
        element
        for element in viewer.page.reply().find_all("button")
        if action in element.attributes.get("class", "").split()
    ]
    await viewer.press(button)


async def test_a_reply_does_not_run_on_for_tabs_of_a_killed_server(
    hasty: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    async with half_a_reply(hasty, team_upstream, alice, Stall()) as (viewers, request):
        await viewers[0].close()
        await viewers[2].close()
        viewers[1].address = hasty.servers[1]
        await asyncio.to_thread(hasty.servers[1].kill)
        assert (await request.until_closed()).was_streaming
        await until_saved(hasty.servers[2], alice, viewers[0].path, HALF, "abandoned")


# Frozen


@pytest.mark.thorough
async def test_a_frozen_owners_final_state_replaces_the_interruption(
    stack: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    pause = Pause()
    async with half_a_reply(stack, team_upstream, alice, *with_a_pause(pause)) as (viewers, _):
        await until_saved(stack.servers[1], alice, viewers[0].path, HALF)
        stack.servers[0].pause()
        for viewer in viewers[1:]:
            assert await viewer.until_ended() == "interrupted"
        stack.servers[0].resume()
        pause.release()
        for viewer in viewers:
            await viewer.until_ending("complete")
            viewer.check_that_it_only_grew(WHOLE)
        await until_saved(stack.servers[2], alice, viewers[0].path, WHOLE, "complete")


# Stopped


async def test_a_draining_owner_finishes_its_reply_for_tabs_that_moved(
    stack: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    pause = Pause()
    async with half_a_reply(stack, team_upstream, alice, *with_a_pause(pause)) as (viewers, _):
        owner = stack.servers[0]
        owner.begin_stop()
        ready = await until_ready_says(owner, draining=True)
        assert (ready["status"], ready["database"], ready["redis"]) == (503, True, True)
        viewers[0].address = stack.servers[1]
        await viewers[0].until_back(1)
        assert viewers[0].closes == [1012]
        async with Viewer.open_tab(stack.servers[2], alice, viewers[0].path) as latecomer:
            await latecomer.until_says("word19")
            pause.release()
            await until_complete(*viewers, latecomer)
        assert await asyncio.to_thread(owner.wait) == 0
        await until_saved(stack.servers[2], alice, viewers[0].path, WHOLE, "complete")


async def test_a_draining_server_accepts_neither_sockets_nor_prompts(
    stack: Stack, team_upstream: FakeUpstream, alice: Person, team: Site
) -> None:
    pause = Pause()
    bob = team.person()
    async with (
        half_a_reply(stack, team_upstream, alice, *with_a_pause(pause)) as (viewers, _),
        Viewer.open_tab(stack.servers[0], bob) as other,
    ):
        stack.servers[0].begin_stop()
        await until_ready_says(stack.servers[0], draining=True)
        if other.is_connected:
            await other.send("Hello?")
            await other.until(lambda: "restarting" in other.problem or not other.is_connected)
        await other.until(lambda: other.closes[-2:] == [1012, 1006])
        pause.release()
        await until_complete(*viewers[1:])
        assert await asyncio.to_thread(stack.servers[0].wait) == 0
        assert (await load_page(stack.servers[1], bob, "/")).root.find_all("article") == []


@pytest.mark.thorough
async def test_a_reply_that_outlasts_the_drain_is_saved_up_to_that_point(
    hasty: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    async with half_a_reply(hasty, team_upstream, alice, Stall()) as (viewers, request):
        assert await asyncio.to_thread(hasty.servers[0].stop) == 0
        assert (await request.until_closed()).was_streaming
        for viewer in viewers[1:]:
            assert await viewer.until_ended() == "interrupted"
            viewer.check_that_it_only_grew(HALF)
        await until_saved(hasty.servers[2], alice, viewers[0].path, HALF, "interrupted")


@pytest.mark.parametrize("name", sample_params(["nginx", "caddy"]))
async def test_a_rolling_restart_under_load_loses_and_repeats_nothing(
    stack: Stack, team: Site, team_upstream: FakeUpstream, name: str
) -> None:
    """Twelve people send prompts continuously until every server has restarted."""
    proxy: Proxy = getattr(stack, name)
    paced = [step for word in WORDS[:20] for step in (Delay(0.1), delta(word))]
    before, team_upstream.default = team_upstream.default, [role(), *paced, finish(), done()]
    restarted = asyncio.Event()
    try:
        async with AsyncExitStack() as tabs:
            viewers = [
                await tabs.enter_async_context(Viewer.open_tab(proxy, team.person()))
                for _ in range(12)
            ]
            async with asyncio.TaskGroup() as tasks:
                asking = [tasks.create_task(ask_until(restarted, viewer)) for viewer in viewers]
                for viewer in viewers:
                    await viewer.until_says("word0")
                for server in stack.servers:
                    assert await asyncio.to_thread(server.stop) == 0
                    await asyncio.to_thread(server.start)
                restarted.set()
    finally:
        team_upstream.default = before
    assert min(task.result() for task in asking) >= 3
    assert {code for viewer in viewers for code in viewer.closes} <= {1012, 1006}
    assert all(1012 in viewer.closes for viewer in viewers)


async def ask_until(restarted: asyncio.Event, viewer: Viewer) -> int:
    """Ask for one reply after another; return how many there were, all of them complete."""
    replies = 0
    while not restarted.is_set():
        await viewer.ask("Count")
        await until_complete(viewer, whole=HALF)
        replies += 1
    return replies
