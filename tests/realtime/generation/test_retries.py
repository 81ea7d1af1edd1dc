"""Retries: how often, and after how long."""

from types import SimpleNamespace
from typing import Any

import pytest

from chatapp.realtime.generation.answer import Answer
from chatapp.realtime.generation.asking import Asking
from chatapp.realtime.generation.request import Request
from chatapp.realtime.generation.retries import (
    MAX_WAIT,
    QUICK_WAIT,
    TRIES,
    backoff,
    is_worth_waiting,
)
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError


def busy(seconds: float) -> UpstreamError:
    return UpstreamError(ErrorKind.RATE_LIMITED, "busy", status=429, retry_after=seconds)


BUSY = busy(0.0)


MODEL: Any = SimpleNamespace(upstream=SimpleNamespace(), model="m", reservation=None)
ASKS_NOTHING_ELSE: Any = SimpleNamespace(
    options=SimpleNamespace(choices=1, tools=()),
    is_too_long=lambda _error: False,
    learn_from=lambda *_: False,
    explain=lambda error: error,
)


class Requests(Asking[Any, Answer]):
    """Requests that fail `failures` times; records the announced retries.

    `others` is the number of fallbacks; the request succeeds as soon as one of them is asked.
    """

    def __init__(self, failures: int, error: UpstreamError | None = BUSY, others: int = 0) -> None:
        fallbacks: Any = SimpleNamespace(next=self._fall_back_to_next)
        budget: Any = SimpleNamespace(reservation=None)
        super().__init__(MODEL, Answer(budget), fallbacks)
        self.count = 0
        self.retries: list[tuple[UpstreamError, float, int]] = []
        self.fallen_back_after: list[int] = []
        self._failures = failures
        self._error = error
        self._others = others

    async def prepare(self) -> Request:
        request: Request = ASKS_NOTHING_ELSE
        return request

    async def send(self, request: Request) -> None:
        self.count += 1
        if self.count <= self._failures:
            self.answer.reply.error = self._error  # None: the connection was lost
        else:
            self.answer.reply.answer_parts.append("Yes.")

    async def show_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        self.retries.append((error, seconds, number))

    async def go_on_with(self, asked: object) -> None:
        assert asked is MODEL

    async def _fall_back_to_next(self, error: UpstreamError | None, _spent: object) -> object:
        assert error == self._error
        self.fallen_back_after.append(self.count)
        return MODEL if len(self.fallen_back_after) <= self._others else None


@pytest.mark.parametrize(("failures", "count"), [(0, 1), (1, 2), (2, 3), (9, TRIES)])
async def test_a_request_is_retried_until_it_succeeds_at_most_three_times(
    failures: int, count: int
) -> None:
    requests = Requests(failures)
    await requests.ask()
    assert requests.count == count
    assert requests.retries == [(BUSY, 0.0, number) for number in range(2, count + 1)]


async def test_the_wait_is_the_upstreams_retry_after() -> None:
    requests = Requests(1, busy(0.02))
    await requests.ask()
    assert [seconds for _, seconds, _ in requests.retries] == [0.02]


def test_without_a_retry_after_the_shortest_wait_doubles() -> None:
    assert 0.5 <= backoff(1) <= 1.5
    assert 1.0 <= backoff(2) <= 2.0


async def test_other_failures_are_raised() -> None:
    class Broken(Requests):
        async def send(self, request: Request) -> None:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        await Broken(0).ask()


# Fallbacks


async def test_a_quick_retry_comes_before_a_fallback() -> None:
    requests = Requests(2, others=1)
    await requests.ask()
    assert requests.fallen_back_after == [2]
    assert [number for _, _, number in requests.retries] == [2]


@pytest.mark.parametrize(
    "error", [busy(QUICK_WAIT + 1), busy(MAX_WAIT + 1), UpstreamError(ErrorKind.UNAUTHORIZED), None]
)
async def test_nobody_waits_long_while_a_fallback_is_left(error: UpstreamError | None) -> None:
    requests = Requests(1, error, others=1)
    await requests.ask()
    assert (requests.count, requests.fallen_back_after, requests.retries) == (2, [1], [])


async def test_the_tries_of_a_fallback_are_counted_from_the_beginning() -> None:
    requests = Requests(9, others=2)
    await requests.ask()
    assert requests.fallen_back_after == [2, 4, 6, 7]
    assert requests.count == 2 + 2 + TRIES


@pytest.mark.parametrize("error", [UpstreamError(ErrorKind.UNAUTHORIZED), None])
async def test_without_a_fallback_a_lasting_failure_is_not_retried(
    error: UpstreamError | None,
) -> None:
    requests = Requests(1, error)
    await requests.ask()
    assert (requests.count, requests.retries) == (1, [])


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
