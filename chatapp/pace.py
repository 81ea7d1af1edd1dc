"""How far apart flushes are: one display frame, and wider apart while the processor is short."""

import asyncio
import time

from chatapp import metrics

DISPLAY_FRAME_SECONDS = 0.016
WIDEST_SECONDS = 0.5
# Rendering may take this part of the time between two flushes of a reply.
RENDERING_SHARE = 0.1
# Python runs on one core. What of it this process may use before flushes move apart, which leaves
# room for what does not get less with fewer flushes, and for bursts.
BUSY_SHARE = 0.9
SAMPLE_SECONDS = 0.1
SLICE_SECONDS = 0.004  # of long work


class Share:
    """Of the event loop: long work in it is cut, and others get as much time as it takes."""

    def __init__(self) -> None:
        self._began_at = time.monotonic()

    async def give(self) -> None:
        """To be called between small pieces of the work; returns at once most of the time."""
        took = time.monotonic() - self._began_at
        if took > SLICE_SECONDS:
            await asyncio.sleep(took)
            self._began_at = time.monotonic()


class OneAtATime:
    """Around what takes a noticeable part of a turn of the event loop, where many may come at once.

    Once they have taken a slice of time between them, others get as much before the next begins.
    Where they come seldom, none of them waits.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._began_at = self._ended_at = 0.0
        self._taken = 0.0  # seconds, which others had not yet in return

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        self._began_at = time.monotonic()

    async def __aexit__(self, *_error: object) -> None:
        idle = self._began_at - self._ended_at
        self._ended_at = time.monotonic()
        self._taken = max(self._taken - idle, 0.0) + self._ended_at - self._began_at
        try:
            if self._taken > SLICE_SECONDS:
                await asyncio.sleep(self._taken)
        finally:
            self._lock.release()


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
