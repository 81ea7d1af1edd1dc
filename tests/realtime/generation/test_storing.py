"""Writes off the event loop: one at a time, with a notice if one takes long."""

import threading

import pytest

from chatapp.realtime.generation import storing
from chatapp.realtime.generation.storing import run_in_write_thread


async def test_the_result_of_the_write_is_returned(db: None) -> None:
    assert await run_in_write_thread(lambda: 7) == 7


async def test_the_writes_exception_is_raised(db: None) -> None:
    def fail() -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        await run_in_write_thread(fail)


@pytest.mark.parametrize("is_slow", [True, False])
async def test_a_delay_is_announced_once_and_the_write_goes_on(
    db: None, is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, notices = threading.Event(), []

    async def notify() -> None:
        notices.append(True)
        may_end.set()

    if is_slow:
        monkeypatch.setattr(storing, "NOTICE_SECONDS", 0.01)
    else:
        may_end.set()
    assert await run_in_write_thread(lambda: may_end.wait(10), notify)
    assert notices == ([True] if is_slow else [])


async def test_all_writes_run_in_one_thread(db: None) -> None:
    names = {await run_in_write_thread(lambda: threading.current_thread().name) for _ in range(3)}
    assert len(names) == 1
    assert threading.current_thread().name not in names
