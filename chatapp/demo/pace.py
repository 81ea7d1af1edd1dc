"""The clock of one stream: when the next token is due."""

import asyncio

# Multiples of the golden ratio, modulo 1, look random, never cluster, and are the same every time.
GOLDEN_RATIO = 0.6180339887498949


class Pace:
    """`tick()` returns when the next token is due: `tokens_per_second` on average, a little uneven.

    Due times are kept absolute, so that waking late once does not slow the whole stream down.
    With `inf`, a tick only lets others run. Make one inside the stream's own task.
    """

    def __init__(self, tokens_per_second: float) -> None:
        self._clock = asyncio.get_running_loop().time
        self._mean = 1 / tokens_per_second
        self._due = self._clock()
        self._ticks = 0

    async def tick(self) -> None:
        self._ticks += 1
        self._due += self._mean * (0.5 + self._ticks * GOLDEN_RATIO % 1)
        await asyncio.sleep(max(0.0, self._due - self._clock()))
