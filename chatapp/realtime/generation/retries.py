"""Retries a request that failed temporarily before any part of the reply arrived."""

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
MAX_WAIT = 60.0  # seconds; if the upstream asks for more, the reply fails instead
backoff = wait_exponential_jitter(multiplier=0.5, max=8.0)


class TemporaryFailure(Exception):
    """Raised by a request that failed but may succeed when sent again."""

    def __init__(self, error: UpstreamError) -> None:
        super().__init__(error.message)
        self.error = error


Request = Callable[[], Awaitable[None]]
OnRetry = Callable[[UpstreamError, float, int], Awaitable[None]]


async def with_retries(request: Request, on_retry: OnRetry) -> None:
    """Run `request` until it does not raise `TemporaryFailure`, at most `TRIES` times.

    Before each wait, `on_retry` is called with the error, the seconds to wait and the number of the
    next try. The `TemporaryFailure` of the last try is swallowed: its error is in the reply.
    """
    try:
        await request()
    except TemporaryFailure as failure:
        # Set up tenacity only now: that takes as long as a request.
        await _retry(failure, request, on_retry)


async def _retry(failure: TemporaryFailure, request: Request, on_retry: OnRetry) -> None:
    first: TemporaryFailure | None = failure

    async def attempt() -> None:
        nonlocal first
        if first:
            failed, first = first, None
            raise failed
        await request()

    async def announce(state: RetryCallState) -> None:
        assert state.next_action
        await on_retry(_error_of(state), state.next_action.sleep, state.attempt_number + 1)

    retrying = AsyncRetrying(
        stop=stop_after_attempt(TRIES),
        wait=_seconds_to_wait,
        retry=retry_if_exception_type(TemporaryFailure),
        before_sleep=announce,
        retry_error_callback=lambda _state: None,
    )
    await retrying(attempt)


def is_worth_waiting(error: UpstreamError) -> bool:
    return error.may_pass and (error.retry_after or 0.0) <= MAX_WAIT


def _seconds_to_wait(state: RetryCallState) -> float:
    retry_after = _error_of(state).retry_after
    return backoff(state) if retry_after is None else retry_after


def _error_of(state: RetryCallState) -> UpstreamError:
    assert state.outcome
    failure = state.outcome.exception()
    assert isinstance(failure, TemporaryFailure)
    return failure.error
