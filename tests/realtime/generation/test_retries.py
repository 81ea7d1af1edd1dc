"""Retries: how often, and after how long."""

import pytest

from chatapp.realtime.generation.retries import (
    MAX_WAIT,
    TRIES,
    TemporaryFailure,
    backoff,
    is_worth_waiting,
    with_retries,
)
from chatapp.upstream.wire.errors import ErrorKind, UpstreamError


def busy(seconds: float) -> UpstreamError:
    return UpstreamError(ErrorKind.RATE_LIMITED, "busy", status=429, retry_after=seconds)


BUSY = busy(0.0)


class Requests:
    """Requests that fail `failures` times; records the announced retries."""

    def __init__(self, failures: int, error: UpstreamError = BUSY) -> None:
        self.count = 0
        self.retries: list[tuple[UpstreamError, float, int]] = []
        self._failures = failures
        self._error = error

    async def ask(self) -> None:
        self.count += 1
        if self.count <= self._failures:
            raise TemporaryFailure(self._error)

    async def on_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        self.retries.append((error, seconds, number))


@pytest.mark.parametrize(("failures", "count"), [(0, 1), (1, 2), (2, 3), (9, TRIES)])
async def test_a_request_is_retried_until_it_succeeds_at_most_three_times(
    failures: int, count: int
) -> None:
    requests = Requests(failures)
    await with_retries(requests.ask, requests.on_retry)
    assert requests.count == count
    assert requests.retries == [(BUSY, 0.0, number) for number in range(2, count + 1)]


async def test_the_wait_is_the_upstreams_retry_after() -> None:
    requests = Requests(1, busy(0.02))
    await with_retries(requests.ask, requests.on_retry)
    assert [seconds for _, seconds, _ in requests.retries] == [0.02]


def test_without_a_retry_after_the_shortest_wait_doubles() -> None:
    assert 0.5 <= backoff(1) <= 1.5
    assert 1.0 <= backoff(2) <= 2.0


async def test_other_failures_are_raised() -> None:
    async def fail() -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        await with_retries(fail, Requests(0).on_retry)


@pytest.mark.parametrize(
    ("error", "is_worth_it"),
    [
        (BUSY, True),
        (busy(MAX_WAIT), True),
        (busy(MAX_WAIT + 1), False),
        (UpstreamError(ErrorKind.UNAUTHORIZED, ""), False),
    ],
)
def test_only_a_failure_that_may_pass_soon_is_worth_waiting_for(
    error: UpstreamError, is_worth_it: bool
) -> None:
    assert is_worth_waiting(error) is is_worth_it
