"""Says whether a request that failed is worth another try, and after how long."""

import math
import random

from chatapp.upstream.wire.errors.upstream_error import UpstreamError

TRIES = 3
MAX_WAIT = 60.0  # seconds; if the upstream asks for more, the reply fails instead
QUICK_WAIT = 2.0  # seconds; with a longer one, another model is asked first


def find_wait(error: UpstreamError | None, failures: int) -> float:
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
