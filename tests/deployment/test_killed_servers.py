"""Repeated kill -9: no text that anybody saw is lost, and all usage is booked."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.deployment.replies import load_page
from tests.deployment.services import Redis
from tests.deployment.stack import Stack
from tests.support.fake_upstream import (
    Delay,
    FakeUpstream,
    Pause,
    Stall,
    delta,
    done,
    finish,
    reasoning,
    role,
    usage,
)
from tests.support.live import Person, Server, Site
from tests.support.profile import choose_size
from tests.support.viewer import Viewer

KILLS = choose_size(3, 20)
WORDS = [f"word{number} " for number in range(2000)]


def journals(server: Server) -> list[Path]:
    """Return the journal files of replies that are not saved yet."""
    return list((server.data_dir / "journal").glob("*/*"))


async def test_killing_servers_repeatedly_loses_no_character(
    stack: Stack, team_upstream: FakeUpstream, team: Site
) -> None:
    chance, lost, shown_characters = random.Random(9), 0, 0  # noqa: S311
    for number in range(KILLS):
        owner, other = stack.servers[number % 3], stack.servers[(number + 1) % 3]
        paced = [step for word in WORDS for step in (Delay(0.004), delta(word))]
        team_upstream.script(role(), reasoning("Hm. "), *paced, Stall())
        person = team.person()
        async with Viewer.open_tab(owner, person) as viewer:
            await viewer.send("Count")
            await viewer.until_says(f"word{chance.randint(5, 300)} ")
            await asyncio.to_thread(owner.kill)
            await viewer.until_lost()
            async with Viewer.open_tab(other, person, viewer.path) as elsewhere:
                assert await elsewhere.until_ended() == "interrupted"
            page = await load_page(other, person, viewer.path)
            text = page.region("answer").strip()
            assert text.startswith(viewer.text[: len(text)])
            lost += max(len(viewer.text) - len(text), 0)
            shown_characters += len(viewer.text)
            assert "Hm." in page.region("reasoning")
            assert "tokens, estimated" in page.reply().text
        await asyncio.to_thread(owner.start)
    print(f"{KILLS} kill -9: {lost} of {shown_characters} characters lost")
    assert lost == 0
    assert journals(stack.servers[0]) == []
    assert replies_without_usage(stack.servers[0]) == 0


def replies_without_usage(server: Server) -> int:
    query = """
        SELECT count(*) FROM chatapp_message m LEFT JOIN chatapp_usage u ON u.message_id = m.id
        WHERE m.role = 'assistant' AND m.choice = 0 AND u.message_id IS NULL
    """
    with psycopg.connect(server.environment["DATABASE_URL"]) as connection:
        row = connection.execute(query).fetchone()
    assert row
    return int(row[0])


@pytest.mark.thorough
async def test_a_frozen_owners_reply_is_booked_once_and_finally_as_reported(
    stack: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    pause = Pause()
    team_upstream.script(role(), delta("It is"), pause, finish(), usage(7, 9), done())
    owner, other = stack.servers[:2]
    async with Viewer.open_tab(owner, alice) as viewer:
        await viewer.send("Count")
        await viewer.until_says("It is")
        async with Viewer.open_tab(other, alice, viewer.path) as elsewhere:
            await elsewhere.until_says("It is")
            owner.pause()
            assert await elsewhere.until_ended() == "interrupted"
            assert journals(owner)  # nobody touches them while the owner lives
            owner.resume()
            pause.release()
            await elsewhere.until_ending("complete")
            assert "16 tokens" in elsewhere.page.reply().text
    assert journals(owner) == []
    assert replies_without_usage(owner) == 0


@pytest.fixture
def two_hosts(
    team: Site, redis: Redis, team_upstream: FakeUpstream
) -> Iterator[tuple[Server, Server]]:
    """Two servers of one installation that share no disk."""
    shared = team.copy() | {
        "REDIS_URL": redis.url,
        "OPENAI_BASE_URL": team_upstream.base_url,
        "CHATAPP_DROP_GRACE": "3600",
    }
    with ExitStack() as started:
        first = started.enter_context(Server(shared))
        elsewhere = {"DATA_DIR": team.copy()["DATA_DIR"]}
        yield first, started.enter_context(Server(shared | elsewhere))


@pytest.mark.thorough
async def test_a_host_that_comes_back_completes_a_reply_another_cut_short(
    two_hosts: tuple[Server, Server], team_upstream: FakeUpstream, alice: Person
) -> None:
    owner, other = two_hosts
    team_upstream.script(role(), delta("All of "), delta("it"), Stall())
    async with Viewer.open_tab(owner, alice) as viewer:
        await viewer.send("Count")
        await viewer.until_says("it")
        async with Viewer.open_tab(other, alice, viewer.path) as elsewhere:
            await elsewhere.until_says("All of it")
            await asyncio.to_thread(owner.kill)
            assert await elsewhere.until_ended() == "interrupted"
            cut = await load_page(other, alice, viewer.path)
            assert cut.region("answer") == ""  # it had no checkpoint
            assert "tokens, estimated" in cut.reply().text
            await asyncio.to_thread(owner.start)
            await elsewhere.until(lambda: elsewhere.text == "All of it")
        page = await load_page(other, alice, viewer.path)
        assert page.region("answer").strip() == "All of it"
        assert journals(owner) == []
    assert replies_without_usage(owner) == 0
