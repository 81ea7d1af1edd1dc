"""Limits an average rate and the size of a burst.

A token bucket (https://en.wikipedia.org/wiki/Token_bucket) on the monotonic clock.
Not a library such as aiolimiter, whose callers wait: callers here are refused at once.
"""

import time
from collections.abc import Callable

PRUNING_THRESHOLD = 1000  # allowances kept before full ones are dropped


class TokenBucket:
    """A token bucket that refills by `a_second` and holds `at_once` at most."""

    def __init__(self, a_second: float, at_once: float) -> None:
        self._a_second = a_second
        self._at_once = self._left = at_once
        self._counted_at = time.monotonic()

    def take(self, amount: float = 1) -> float:
        """Take `amount` and return what is left; a negative result means there was too little.

        The debt is bounded, so that anyone who stops asking soon has some again.
        """
        self._left = max(self._refill() - amount, -self._at_once - 1)
        return self._left

    def has(self, amount: float) -> bool:
        """Return whether `amount` can be taken now without going into debt."""
        return self._refill() >= amount

    @property
    def is_full(self) -> bool:
        return self._refill() >= self._at_once

    def _refill(self) -> float:
        now = time.monotonic()
        self._left = min(self._at_once, self._left + (now - self._counted_at) * self._a_second)
        self._counted_at = now
        return self._left


class TokenBuckets(dict[int, TokenBucket]):
    """The allowances of all people by user id, created on first use.

    Full ones may be dropped, since a new one is the same.
    """

    def __init__(self, new: Callable[[], TokenBucket]) -> None:
        super().__init__()
        self._new = new
        self._many = PRUNING_THRESHOLD

    def __missing__(self, person: int) -> TokenBucket:
        if len(self) >= self._many:
            # Called from several threads, so iterate over a copy.
            for user_id, allowance in list(self.items()):
                if allowance.is_full:
                    self.pop(user_id, None)
            self._many = max(PRUNING_THRESHOLD, 2 * len(self))
        self[person] = self._new()
        return self[person]
