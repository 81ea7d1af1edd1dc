"""Asking again, and for how long."""

import pytest

from chatapp.generation.asking import (
    LONGEST_WAIT,
    TRIES,
    MayPass,
    ask_patiently,
    is_worth_waiting,
)
from chatapp.upstream.wire.errors import ErrorKind, UpstreamError


def busy(seconds: float) -> UpstreamError:
    return UpstreamError(ErrorKind.RATE_LIMITED, "busy", status=429, retry_after=seconds)


BUSY = busy(0.0)


class Asking:
    """Requests that fail so many times, and what was told of it."""

    def __init__(self, failures: int, error: UpstreamError = BUSY) -> None:
        self.asked = 0
        self.told: list[tuple[UpstreamError, float, int]] = []
        self._failures = failures
        self._error = error

    async def ask(self) -> None:
        self.asked += 1
        if self.asked <= self._failures:
            raise MayPass(self._error)

    async def tell(self, error: UpstreamError, seconds: float, number: int) -> None:
        self.told.append((error, seconds, number))


@pytest.mark.parametrize(("failures", "asked"), [(0, 1), (1, 2), (2, 3), (9, TRIES)])
async def test_it_is_asked_until_it_does_not_fail_and_three_times_at_most(
    failures: int, asked: int
) -> None:
    asking = Asking(failures)
    await ask_patiently(asking.ask, asking.tell)
    assert asking.asked == asked
    assert asking.told == [(BUSY, 0.0, number) for number in range(2, asked + 1)]


async def test_the_upstreams_own_time_is_waited_for() -> None:
    asking = Asking(1, busy(0.02))
    await ask_patiently(asking.ask, asking.tell)
    assert [seconds for _, seconds, _ in asking.told] == [0.02]


async def test_other_failures_are_raised() -> None:
    async def fail() -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        await ask_patiently(fail, Asking(0).tell)


@pytest.mark.parametrize(
    ("error", "is_worth_it"),
    [
        (BUSY, True),
        (busy(LONGEST_WAIT), True),
        (busy(LONGEST_WAIT + 1), False),
        (UpstreamError(ErrorKind.UNAUTHORIZED, ""), False),
    ],
)
def test_only_what_may_pass_soon_is_worth_waiting_for(
    error: UpstreamError, is_worth_it: bool
) -> None:
    assert is_worth_waiting(error) is is_worth_it
