"""Graceful shutdown: takes no new prompts, gives running replies time to end, saves the rest."""

import asyncio
import logging
import random
import time

from chatapp.close_codes import CloseCode
from chatapp.realtime.cluster import Bus
from chatapp.realtime.summarising import Summaries
from chatapp.realtime.viewers import Viewer, Viewers
from chatapp.realtime.worker.replies import Replies
from chatapp.realtime.worker.tasks import Tasks
from chatapp.upstream.wire.reply import Ending

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.05
SAVE_SECONDS = 5.0  # how long a drain finally waits for the database
MAX_JITTER_SECONDS = 3.0


class Draining:
    """Drains a worker. If other workers keep running, the viewers are sent to them right away,
    spread over a few seconds."""

    def __init__(self, viewers: Viewers, replies: Replies, summaries: Summaries, bus: Bus) -> None:
        self.has_begun = False
        self._is_alone = True  # the only worker that is stopping
        self._viewers = viewers
        self._replies = replies
        self._summaries = summaries
        self._bus = bus
        self._tasks = Tasks()

    @property
    def sends_viewers_away(self) -> bool:
        """Whether viewers should reconnect to another worker because this one is stopping."""
        return self.has_begun and self._others_keep_running

    async def run(self, seconds: float, writing: Tasks, *, alone: bool = True) -> None:
        """Return when every reply run by the tasks `writing` is saved or cannot be saved."""
        self.has_begun = True
        self._is_alone = alone
        if self._others_keep_running:
            self._send_all_away(within=min(MAX_JITTER_SECONDS, seconds / 4))
        give_up_at = time.monotonic() + seconds
        while self._is_busy(writing) and time.monotonic() < give_up_at:  # noqa: ASYNC110 - three conditions
            await asyncio.sleep(POLL_SECONDS)
        for generation in self._replies:
            generation.stop(Ending.INTERRUPTED)
        await self._summaries.end()
        await writing.until_done(SAVE_SECONDS)
        for generation in self._replies:
            logger.error("Reply %s was saved only in part", generation.message.pk)
        for viewer in self._viewers:
            await viewer.close(CloseCode.RESTARTING)

    def send_away(self, viewer: Viewer) -> None:
        self._tasks.start(viewer.close(CloseCode.RESTARTING))

    @property
    def _others_keep_running(self) -> bool:
        return self._is_alone and self._bus.has_others

    def _send_all_away(self, within: float) -> None:
        loop = asyncio.get_running_loop()
        for viewer in self._viewers:
            seconds = random.uniform(0, within)  # noqa: S311 - spreads the reconnects
            loop.call_later(seconds, self.send_away, viewer)

    def _is_busy(self, writing: Tasks) -> bool:
        """Whether replies or summaries are running or starting, or viewers are still being sent
        away."""
        has_to_send = self._others_keep_running and len(self._viewers) > 0
        is_writing = len(writing) > 0 or len(self._summaries) > 0
        return self._replies.is_taking_prompts or is_writing or has_to_send
