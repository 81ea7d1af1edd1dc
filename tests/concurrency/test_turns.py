"""The order in which jobs begin."""

import asyncio

import pytest

from chatapp.concurrency.turns import Turns

ANN, BEN, CAROL = 1, 2, 3


async def begin_all(turns: Turns, *people: int) -> tuple[list[int], "list[asyncio.Event]"]:
    """Begin a job for each of these; return who has begun so far, and what ends each."""
    begun, may_end = list[int](), [asyncio.Event() for _ in people]

    async def run_job(number: int, who: int) -> None:
        async with turns.take_turn(who):
            begun.append(who)
            await may_end[number].wait()

    for number, who in enumerate(people):
        asyncio.create_task(run_job(number, who))  # noqa: RUF006 - ends with the test's loop
    await asyncio.sleep(0)
    return begun, may_end


async def let_go_on() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_persons_jobs_begin_in_order_of_arrival_and_people_take_turns() -> None:
    begun, may_end = await begin_all(Turns(1, 60, each=1), ANN, ANN, ANN, BEN, CAROL, BEN)
    for number in range(6):
        assert len(begun) == number + 1
        may_end[[0, 1, 3, 4, 2, 5][number]].set()
        await let_go_on()
    assert begun == [ANN, ANN, BEN, CAROL, ANN, BEN]


async def test_a_persons_long_jobs_do_not_take_all_places() -> None:
    turns = Turns(4, 60, each=2)
    begun, may_end = await begin_all(turns, ANN, ANN, ANN, BEN)
    assert begun == [ANN, ANN, BEN]
    may_end[0].set()
    await let_go_on()
    assert begun == [ANN, ANN, BEN, ANN]


async def test_a_long_job_blocks_nobody() -> None:
    few = Turns(1, long_seconds=0.001, each=9)
    async with few.take_turn(ANN), asyncio.timeout(10), few.take_turn(BEN), few.take_turn(ANN):
        pass
    assert [await few.begin(ANN)]


async def test_a_turn_can_be_ended_only_once() -> None:
    few = Turns(1, long_seconds=60, each=1)
    turn = await few.begin(ANN)
    turn.end()
    turn.end()
    await few.begin(ANN)
    waiting = asyncio.create_task(few.begin(BEN))
    await let_go_on()
    assert not waiting.done()
    waiting.cancel()


async def test_a_failed_or_cancelled_job_gives_its_place_back() -> None:
    few = Turns(1, long_seconds=60, each=1)
    with pytest.raises(ZeroDivisionError):
        async with few.take_turn(ANN):
            raise ZeroDivisionError
    first = await few.begin(ANN)
    leaving = [asyncio.create_task(few.begin(who)) for who in (ANN, BEN)]
    await let_go_on()
    leaving[0].cancel()
    first.end()
    leaving[1].cancel()  # just when it was its turn
    async with asyncio.timeout(10):
        await few.begin(CAROL)
