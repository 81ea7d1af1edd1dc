"""How much may be done at a time: so many a second on average, and a number of them at once.

A token bucket (https://en.wikipedia.org/wiki/Token_bucket), by the monotonic clock.
"""

import time

FEW = 1000  # that are kept before those that are full again are forgotten


class Allowance:
    def __init__(self, a_second: float, at_once: float) -> None:
        self._a_second = a_second
        self._at_once = self._left = at_once
        self._counted_at = time.monotonic()

    def take(self) -> float:
        """Takes one, and returns what is left: below 0 there was none, and it is owed.

        What is owed does not grow without end, so that who stops asking has some again soon.
        """
        self._left = max(self._now() - 1, -self._at_once - 1)
        return self._left

    @property
    def is_full(self) -> bool:
        return self._now() >= self._at_once

    def _now(self) -> float:
        now = time.monotonic()
        self._left = min(self._at_once, self._left + (now - self._counted_at) * self._a_second)
        self._counted_at = now
        return self._left


class Allowances(dict[int, Allowance]):
    """Everybody's, by their id; whoever comes back finds it as they left it."""

    def __init__(self, a_second: float, at_once: float) -> None:
        super().__init__()
        self._new = a_second, at_once
        self._many = FEW

    def __missing__(self, person: int) -> Allowance:
        if len(self) >= self._many:
            for one in [one for one, allowance in self.items() if allowance.is_full]:
                del self[one]
            self._many = max(FEW, 2 * len(self))
        self[person] = Allowance(*self._new)
        return self[person]
