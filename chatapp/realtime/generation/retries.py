"""Retries a request that failed before any part of the reply arrived.

A request that may go to another model is hardly retried: nobody should wait for a model that fails
while another one can answer.
"""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable

from chatapp.upstream.wire.errors.upstream_error import UpstreamError

TRIES = 3
MAX_WAIT = 60.0  # seconds; if the upstream asks for more, the reply fails instead
QUICK_WAIT = 2.0  # seconds; with a longer one, another model is asked first


class RequestFailed(Exception):
    """Raised by a request that failed before any part of the reply arrived.

    `error` is None if the connection ended without one.
    """

    def __init__(self, error: UpstreamError | None) -> None:
        super().__init__(error.message if error else "")
        self.error = error


Request = Callable[[], Awaitable[None]]
OnRetry = Callable[[UpstreamError, float, int], Awaitable[None]]
FallBack = Callable[[UpstreamError | None], Awaitable[bool]]


async def with_retries(request: Request, on_retry: OnRetry, fall_back: FallBack) -> None:
    """Run `request` until it does not raise `RequestFailed`, at most `TRIES` times.

    After one quick retry at most, `fall_back` is called with the error. If it returns True, the
    request goes to another model from then on, and its tries are counted from the beginning.

    Before each wait, `on_retry` is called with the error, the seconds to wait and the number of the
    next try. The last `RequestFailed` is swallowed: its error is in the reply.
    """
    failures = 0
    while True:
        try:
            await request()
        except RequestFailed as failed:
            error = failed.error
        else:
            return
        failures += 1
        seconds = _wait(error, failures)
        if (failures > 1 or seconds > QUICK_WAIT) and await fall_back(error):
            failures = 0
            continue
        if error is None or seconds == math.inf or failures == TRIES:
            return
        await on_retry(error, seconds, failures + 1)
        await asyncio.sleep(seconds)


def _wait(error: UpstreamError | None, failures: int) -> float:
    """Return the seconds to wait before the next try; infinite if waiting would not help."""
    if error is None or not is_worth_waiting(error):
        return math.inf
    return backoff(failures) if error.retry_after is None else error.retry_after


def backoff(failures: int) -> float:
    """Return the seconds to wait if the upstream names none: exponential, with jitter."""
    jitter = random.uniform(0, 1)  # noqa: S311 - spreads the retries
    return 0.5 * 2.0 ** (failures - 1) + jitter


def is_worth_waiting(error: UpstreamError) -> bool:
    return error.may_pass and (error.retry_after or 0.0) <= MAX_WAIT
