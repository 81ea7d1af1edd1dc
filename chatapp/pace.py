"""How far apart flushes are: one display frame, and wider apart while the event loop lags."""

import asyncio

DISPLAY_FRAME_SECONDS = 0.016
WIDEST_SECONDS = 0.5
# Rendering may take this part of the time between two flushes of a reply.
RENDERING_SHARE = 0.1
# A loop that lags by this much more than a display frame gets flushes this much wider apart.
LAG_FACTOR = 4
SAMPLE_SECONDS = 0.05


class Pace:
    """Watches the event loop's lag; one for a process."""

    def __init__(self) -> None:
        self.lag = 0.0

    def interval(self, rendering: float) -> float:
        """Seconds until the next flush of a reply whose flushes take `rendering` seconds."""
        wanted = max(rendering / RENDERING_SHARE, self.lag * LAG_FACTOR, DISPLAY_FRAME_SECONDS)
        return min(wanted, WIDEST_SECONDS)

    async def watch(self) -> None:
        """Measures the lag until cancelled: how late a sleep ends, smoothed."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + SAMPLE_SECONDS
            await asyncio.sleep(SAMPLE_SECONDS)
            late = max(0.0, loop.time() - due)
            self.lag += 0.2 * (late - self.lag)
