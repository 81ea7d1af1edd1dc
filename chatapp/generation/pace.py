"""How far apart flushes are: one display frame, and wider apart while the processor is short."""

import asyncio
import time

from chatapp import metrics
from chatapp.fairness.turns import OneAtATime

DISPLAY_FRAME_SECONDS = 0.016
WIDEST_SECONDS = 0.5
# Rendering may take this part of the time between two flushes of a reply.
RENDERING_SHARE = 0.1
# Python runs on one core. What of it this process may use before flushes move apart, which leaves
# room for what does not get less with fewer flushes, and for bursts.
BUSY_SHARE = 0.9
SAMPLE_SECONDS = 0.1


class Pace:
    """Watches how busy the process is; one for a process."""

    def __init__(self) -> None:
        self.spread = DISPLAY_FRAME_SECONDS
        self.one_at_a_time = OneAtATime()

    def interval(self, rendering: float) -> float:
        """Seconds until the next flush of a reply whose flushes take `rendering` seconds."""
        return min(max(rendering / RENDERING_SHARE, self.spread), WIDEST_SECONDS)

    async def watch(self) -> None:
        """Steers the spread to where the process is just not too busy, until cancelled."""
        at, used = time.monotonic(), time.process_time()
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            former_at, former_used = at, used
            at, used = time.monotonic(), time.process_time()
            metrics.event_loop_lag.observe(max(at - former_at - SAMPLE_SECONDS, 0.0))
            self.adjust((used - former_used) / (at - former_at))

    def adjust(self, busy: float) -> None:
        """Takes note of the share of a core that was used since the last time."""
        change = min(max(busy / BUSY_SHARE, 0.9), 1.1)
        self.spread = min(max(self.spread * change, DISPLAY_FRAME_SECONDS), WIDEST_SECONDS)
