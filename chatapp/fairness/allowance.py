"""How much may be done at a time: so many a second on average, and a number of them at once.

A token bucket (https://en.wikipedia.org/wiki/Token_bucket), by the monotonic clock.
"""

import time
from collections.abc import Callable

FEW = 1000  # that are kept before those that are full again are forgotten


class Allowance:
    def __init__(self, a_second: float, at_once: float) -> None:
        self._a_second = a_second
        self._at_once = self._left = at_once
        self._counted_at = time.monotonic()

    def take(self, amount: float = 1) -> float:
        """Take some, and return what is left: below 0 there was too little, and it is owed.

        What is owed is bounded, so that anyone who stops asking has some again soon.
        """
        self._left = max(self._now() - amount, -self._at_once - 1)
        return self._left

    def has(self, amount: float) -> bool:
        """Return whether as much can be taken now without owing anything."""
        return self._now() >= amount

    @property
    def is_full(self) -> bool:
        return self._now() >= self._at_once

    def _now(self) -> float:
        now = time.monotonic()
        self._left = min(self._at_once, self._left + (now - self._counted_at) * self._a_second)
        self._counted_at = now
        return self._left


class Allowances(dict[int, Allowance]):
    """Everybody's, by their id; those who come back find theirs as they left it."""

    def __init__(self, new: Callable[[], Allowance]) -> None:
        super().__init__()
        self._new = new
        self._many = FEW

    def __missing__(self, person: int) -> Allowance:
        if len(self) >= self._many:
            # Pages ask from several threads, so iterate over a copy.
            for one, allowance in list(self.items()):
                if allowance.is_full:
                    self.pop(one, None)
            self._many = max(FEW, 2 * len(self))
        self[person] = self._new()
        return self[person]
