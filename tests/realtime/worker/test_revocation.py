"""People are rechecked after a change: soon, together, and until the check succeeds."""

import asyncio
from collections.abc import Collection, Mapping

import pytest
from django.db import OperationalError

from chatapp.close_codes import CloseCode
from chatapp.realtime.viewers import Viewers
from chatapp.realtime.worker import revocation as module
from chatapp.realtime.worker.revocation import Revocation
from chatapp.sessions import validity
from chatapp.sessions.validity import AccessCheck
from chatapp.upstream.wire.reply import Ending
from tests.realtime.viewers.doubles import Recorder
from tests.realtime.worker.test_replies import Running

pytestmark = pytest.mark.django_db  # it closes the connections of the test's threads

ALICE, BOB = 1, 2


class Database:
    """A fake `validity.check_access` that reports Alice as gone, or fails."""

    gone = frozenset({ALICE})
    ended: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.looks: list[set[int]] = []
        self.fails = 0

    def check_access(self, people: Collection[int], sessions: Mapping[str, int]) -> AccessCheck:
        self.looks.append({*people, *sessions.values()})
        if self.fails:
            self.fails -= 1
            raise OperationalError("away")
        return AccessCheck(self.gone & self.looks[-1], self.ended & sessions.keys())


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    database = Database()
    monkeypatch.setattr(validity, "check_access", database.check_access)
    monkeypatch.setattr(module, "SETTLE_SECONDS", 0.01)
    monkeypatch.setattr(module, "TRY_AGAIN_SECONDS", 0.01)
    return database


@pytest.fixture
def viewers() -> Viewers:
    viewers = Viewers()
    for person in (ALICE, BOB):
        viewers.add(Recorder(person, f"session of {person}"))
    return viewers


def list_close_codes(viewers: Viewers) -> dict[int, int | None]:
    return {viewer.user_id: viewer.closed for viewer in viewers if isinstance(viewer, Recorder)}


async def test_many_changes_at_once_cost_one_check_of_people_and_one_of_sessions(
    viewers: Viewers, database: Database
) -> None:
    revocation = Revocation(viewers, [])
    for _ in range(3):
        revocation.recheck_access([ALICE])
    await revocation.until_checked()
    assert revocation.requested == 3
    assert database.looks == [{ALICE}, {ALICE}]
    assert list_close_codes(viewers) == {ALICE: CloseCode.DEACTIVATED, BOB: None}


async def test_none_checks_everybody(viewers: Viewers, database: Database) -> None:
    revocation = Revocation(viewers, [])
    revocation.recheck_access([BOB])
    revocation.recheck_access(None)
    await revocation.until_checked()
    assert database.looks == [{BOB}, {ALICE, BOB}]


async def test_tabs_of_a_removed_account_close_before_sessions_settle(
    viewers: Viewers, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SETTLE_SECONDS", 60.0)
    running = Running(user=ALICE)
    revocation = Revocation(viewers, [running])
    revocation.recheck_access([ALICE])
    async with asyncio.timeout(10):
        await running.ended.wait()
    assert list_close_codes(viewers) == {ALICE: CloseCode.DEACTIVATED, BOB: None}
    revocation.close()


async def test_replies_of_a_removed_account_end(database: Database, viewers: Viewers) -> None:
    running = Running(user=ALICE)
    revocation = Revocation(Viewers(), [running])
    revocation.recheck_access([BOB])
    await revocation.until_checked()
    assert running.stopped_as is None
    revocation.recheck_access([ALICE])
    await revocation.until_checked()
    assert running.stopped_as is Ending.ABANDONED


@pytest.mark.parametrize("people", [[BOB], None])
@pytest.mark.parametrize("is_read", [True, False])
async def test_replies_of_an_ended_session_go_on_only_for_tabs_of_another_session(
    database: Database, people: list[int] | None, is_read: bool
) -> None:
    database.ended = frozenset({"session of 2"})
    running, left, reader = Running(user=BOB), Recorder(), Recorder(BOB, "another session")
    running.audience.join(left)
    running.audience.leave(left, float("inf"))
    if is_read:
        running.audience.join(reader)
    revocation = Revocation(Viewers(), [running])
    revocation.recheck_access(people)
    await revocation.until_checked()
    assert running.audience.is_gone.is_set() is not is_read
    running.audience.leave(reader, 0.0)
    assert running.audience.is_gone.is_set()


async def test_replies_of_a_live_session_keep_their_grace(database: Database) -> None:
    running, left = Running(user=BOB), Recorder()
    running.audience.join(left)
    running.audience.leave(left, float("inf"))
    revocation = Revocation(Viewers(), [running])
    revocation.recheck_access([BOB])
    await revocation.until_checked()
    assert not running.audience.is_gone.is_set()


async def test_a_check_waits_no_longer_than_a_quarter_of_a_second(
    database: Database, viewers: Viewers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tabs close within a second: the rest is left for the event and the queries."""
    monkeypatch.undo()
    monkeypatch.setattr(validity, "check_access", database.check_access)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    database.ended = frozenset({"session of 2"})
    revocation = Revocation(viewers, [])
    revocation.recheck_access([ALICE, BOB])
    await revocation.until_checked()
    assert list_close_codes(viewers) == {ALICE: CloseCode.DEACTIVATED, BOB: CloseCode.SIGNED_OUT}
    assert sum(waits) <= 0.25


async def test_a_failed_check_is_retried(viewers: Viewers, database: Database) -> None:
    database.fails = 2
    revocation = Revocation(viewers, [])
    revocation.recheck_access([ALICE])
    await revocation.until_checked()
    assert len(database.looks) == 4  # two that failed, one of the person, one of the session
    assert list_close_codes(viewers)[ALICE] == CloseCode.DEACTIVATED


async def test_a_tab_that_cannot_be_closed_does_not_keep_others_open(
    viewers: Viewers, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stuck(Recorder):
        async def close(self, code: int) -> None:
            raise ArithmeticError

    among = Viewers()
    among.add(Stuck(ALICE, "stuck"))
    for viewer in viewers:
        among.add(viewer)
    revocation = Revocation(among, [])
    revocation.recheck_access([ALICE])
    await revocation.until_checked()
    assert list_close_codes(viewers)[ALICE] == CloseCode.DEACTIVATED


async def test_everybody_is_checked_periodically(
    viewers: Viewers, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    revocation = Revocation(viewers, [])
    looking = asyncio.create_task(revocation.run())
    async with asyncio.timeout(10):
        while not database.looks:  # noqa: ASYNC110 - in a thread
            await asyncio.sleep(0.005)
    looking.cancel()
    revocation.close()
    await asyncio.wait([looking])
    assert database.looks[0] == {ALICE, BOB}


async def test_without_a_request_nothing_is_checked(viewers: Viewers) -> None:
    revocation = Revocation(viewers, [])
    await revocation.until_checked()
    revocation.close()
    assert list_close_codes(viewers) == {ALICE: None, BOB: None}
