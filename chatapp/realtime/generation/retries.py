"""Retries a request that failed temporarily before any part of the reply arrived."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress

from chatapp.upstream.wire.errors import UpstreamError

TRIES = 3
MAX_WAIT = 60.0  # seconds; if the upstream asks for more, the reply fails instead


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
    for failures in range(1, TRIES):
        try:
            await request()
        except TemporaryFailure as failure:
            error = failure.error
        else:
            return
        seconds = backoff(failures) if error.retry_after is None else error.retry_after
        await on_retry(error, seconds, failures + 1)
        await asyncio.sleep(seconds)
    with suppress(TemporaryFailure):
        await request()


def backoff(failures: int) -> float:
    """Return the seconds to wait if the upstream names none: exponential, with jitter."""
    jitter = random.uniform(0, 1)  # noqa: S311 - spreads the retries
    return 0.5 * 2.0 ** (failures - 1) + jitter


def is_worth_waiting(error: UpstreamError) -> bool:
    return error.may_pass and (error.retry_after or 0.0) <= MAX_WAIT
