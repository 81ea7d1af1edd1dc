"""The database's clock is stepped while replies stream: no process is taken for dead."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from tests.deployment.conftest import PATIENCE
from tests.deployment.replies import half_a_reply, until_complete, with_a_pause
from tests.deployment.services import Redis
from tests.deployment.stack import Stack
from tests.support.fake_upstream import FakeUpstream, Pause
from tests.support.live import Person, Site
from tests.support.program import WAIT_SECONDS

pytestmark = pytest.mark.thorough

# PostgreSQL has no clock of its own to set, so this function shadows its own.
CLOCK = """
CREATE TABLE IF NOT EXISTS clock (step interval);
DELETE FROM clock;
INSERT INTO clock VALUES (interval '{step} seconds');
CREATE OR REPLACE FUNCTION public.statement_timestamp() RETURNS timestamptz
LANGUAGE sql AS 'SELECT pg_catalog.statement_timestamp() + step FROM public.clock'
"""
BEFORE_ITS_OWN = "-c search_path=public,pg_catalog"
BEATS = 6  # more than a lease allows to miss


class Clock:
    def __init__(self, database_url: str) -> None:
        self._url = database_url

    async def step(self, seconds: int) -> None:
        """Step the clock this far from the real time, and wait until every process has seen it."""
        await asyncio.to_thread(self._execute, CLOCK.format(step=seconds))
        seen: dict[str, set[object]] = {}
        async with asyncio.timeout(WAIT_SECONDS):
            while not seen or min(map(len, seen.values())) < BEATS:
                for process, beat in await asyncio.to_thread(self._beats):
                    seen.setdefault(process, set()).add(beat)
                await asyncio.sleep(0.1)

    def _execute(self, statements: str) -> None:
        with psycopg.connect(self._url) as session:
            session.execute(statements.encode())

    def _beats(self) -> list[tuple[str, object]]:
        with psycopg.connect(self._url) as session:
            return session.execute("SELECT id::text, seen_at FROM chatapp_process").fetchall()


@pytest.mark.parametrize("seconds", [30, -3600])
async def test_replies_continue_when_the_databases_clock_is_stepped(
    team: Site,
    redis: Redis,
    team_upstream: FakeUpstream,
    alice: Person,
    tmp_path: Path,
    seconds: int,
) -> None:
    pause = Pause()
    options = {**PATIENCE, "PGOPTIONS": BEFORE_ITS_OWN}
    with Stack(team, redis, team_upstream, tmp_path, servers=2, environment=options) as stack:
        clock = Clock(stack.servers[0].environment["DATABASE_URL"])
        async with half_a_reply(stack, team_upstream, alice, *with_a_pause(pause)) as (viewers, _):
            for step in (0, seconds, 0):  # the first, until the servers have judged each other
                await clock.step(step)
            assert {viewer.ending for viewer in viewers} == {"streaming"}
            pause.release()
            await until_complete(*viewers)
            for server in stack.servers:
                assert "took it for dead" not in server.log
                assert "cut short" not in server.log
