"""Asking an upstream again, where a failure may pass and nothing of the reply has arrived."""

from collections.abc import Awaitable, Callable

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential_jitter,
)

from chatapp.upstream.wire.errors import UpstreamError

TRIES = 3
LONGEST_WAIT = 60.0  # seconds; who is told to wait longer is asked to come back instead
backoff = wait_exponential_jitter(multiplier=0.5, max=8.0)


class MayPass(Exception):
    """A request failed in a way that may pass."""

    def __init__(self, error: UpstreamError) -> None:
        super().__init__(error.message)
        self.error = error


Request = Callable[[], Awaitable[None]]
Tell = Callable[[UpstreamError, float, int], Awaitable[None]]


async def ask_patiently(request: Request, tell: Tell) -> None:
    """Runs `request` until it does not raise `MayPass`, three times at most.

    `tell` hears before each wait of the error, the seconds to wait and the number of the next try.
    What the last try raises is swallowed: its error is in the reply.
    """
    try:
        await request()
    except MayPass as failure:
        await _ask_again(failure, request, tell)  # made only now: it takes as long as a request


async def _ask_again(failure: MayPass, request: Request, tell: Tell) -> None:
    first: MayPass | None = failure

    async def attempt() -> None:
        nonlocal first
        if first:
            failed, first = first, None
            raise failed
        await request()

    async def told(state: RetryCallState) -> None:
        assert state.next_action
        await tell(_error_of(state), state.next_action.sleep, state.attempt_number + 1)

    retrying = AsyncRetrying(
        stop=stop_after_attempt(TRIES),
        wait=_seconds_to_wait,
        retry=retry_if_exception_type(MayPass),
        before_sleep=told,
        retry_error_callback=lambda _state: None,
    )
    await retrying(attempt)


def is_worth_waiting(error: UpstreamError) -> bool:
    return error.may_pass and (error.retry_after or 0.0) <= LONGEST_WAIT


def _seconds_to_wait(state: RetryCallState) -> float:
    wanted = _error_of(state).retry_after
    return backoff(state) if wanted is None else wanted


def _error_of(state: RetryCallState) -> UpstreamError:
    assert state.outcome
    failure = state.outcome.exception()
    assert isinstance(failure, MayPass)
    return failure.error
