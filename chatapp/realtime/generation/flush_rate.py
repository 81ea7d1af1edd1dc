"""Decides how far apart flushes are: one display frame, or more while the event loop is busy."""

import asyncio
import time

from chatapp import metrics
from chatapp.concurrency.event_loop import FairLock

DISPLAY_FRAME_SECONDS = 0.016
WIDEST_SECONDS = 0.5
# Rendering may take this share of the time between two flushes of a reply.
RENDERING_SHARE = 0.1
# The event loop runs on one core. Above this share of it flushes move apart; the rest is room for
# bursts. What pages and other threads use does not count: fewer flushes would not reduce it, and
# tokens would wait for nothing.
BUSY_SHARE = 0.9
LATE_SECONDS = 0.05  # a loop that is so late is busy, however little it gets of the core
SAMPLE_SECONDS = 0.1


class FlushRate:
    """Watches how busy the event loop is; each process has one."""

    def __init__(self) -> None:
        self.spread = DISPLAY_FRAME_SECONDS
        self.one_at_a_time = FairLock()

    def interval(self, rendering: float) -> float:
        """Return the seconds to the next flush of a reply if a flush takes `rendering` seconds."""
        return min(max(rendering / RENDERING_SHARE, self.spread), WIDEST_SECONDS)

    async def watch(self) -> None:
        """Adjust the spread until cancelled, so that the loop is just below `BUSY_SHARE`."""
        at, used = time.monotonic(), time.thread_time()
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            last_at, last_used = at, used
            at, used = time.monotonic(), time.thread_time()
            late = max(at - last_at - SAMPLE_SECONDS, 0.0)
            metrics.event_loop_lag.observe(late)
            self.adjust(1.0 if late > LATE_SECONDS else (used - last_used) / (at - last_at))

    def adjust(self, busy: float) -> None:
        """Adjust the spread to `busy`, the share of a core that the loop used recently."""
        change = min(max(busy / BUSY_SHARE, 0.9), 1.1)
        self.spread = min(max(self.spread * change, DISPLAY_FRAME_SECONDS), WIDEST_SECONDS)
