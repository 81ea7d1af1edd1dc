"""The timing of one stream: when the next token is due."""

import asyncio

# Multiples of the golden ratio modulo 1 look random, never cluster, and are deterministic.
GOLDEN_RATIO = 0.6180339887498949


class Pace:
    """`tick()` returns when the next token is due: `tokens_per_second` on average, a little uneven.

    Due times are absolute, so that waking up late once does not slow down the whole stream.
    With `inf`, a tick only lets other tasks run. Create it inside the stream's own task.
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
