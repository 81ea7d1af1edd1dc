"""Taking no more prompts, giving what runs some time to end, and saving the rest."""

import asyncio
import logging
import random
import time

from chatapp.close_codes import CloseCode
from chatapp.cluster import Bus
from chatapp.upstream.wire.reply import Ending
from chatapp.viewers import Viewer, Viewers
from chatapp.worker.replies import Replies
from chatapp.worker.tasks import Tasks

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.05
SAVE_SECONDS = 5.0  # that a drain waits for the database at its end
MOST_JITTER_SECONDS = 3.0


class Draining:
    """Where other workers go on, the viewers are sent to them at once, not all together."""

    def __init__(self, viewers: Viewers, replies: Replies, bus: Bus) -> None:
        self.has_begun = False
        self._is_alone = True  # in this
        self._viewers = viewers
        self._replies = replies
        self._bus = bus
        self._tasks = Tasks()

    @property
    def sends_viewers_away(self) -> bool:
        """Whether they are better off in another worker, since this one stops."""
        return self.has_begun and self._do_others_go_on

    async def run(self, seconds: float, writing: Tasks, *, alone: bool = True) -> None:
        """Returns when every reply of the tasks `writing` is saved, or can't be."""
        self.has_begun = True
        self._is_alone = alone
        if self._do_others_go_on:
            self._send_all_away(within=min(MOST_JITTER_SECONDS, seconds / 4))
        give_up_at = time.monotonic() + seconds
        while self._is_busy(writing) and time.monotonic() < give_up_at:  # noqa: ASYNC110 - of three things
            await asyncio.sleep(LOOK_SECONDS)
        for generation in self._replies:
            generation.stop(Ending.INTERRUPTED)
        await writing.until_done(SAVE_SECONDS)
        for generation in self._replies:
            logger.error("Reply %s is saved only in part", generation.message.pk)
        for viewer in self._viewers:
            await viewer.close(CloseCode.RESTARTING)

    def send_away(self, viewer: Viewer) -> None:
        self._tasks.start(viewer.close(CloseCode.RESTARTING))

    @property
    def _do_others_go_on(self) -> bool:
        return self._is_alone and self._bus.has_others

    def _send_all_away(self, within: float) -> None:
        loop = asyncio.get_running_loop()
        for viewer in self._viewers:
            seconds = random.uniform(0, within)  # noqa: S311 - so that they don't come all at once
            loop.call_later(seconds, self.send_away, viewer)

    def _is_busy(self, writing: Tasks) -> bool:
        """Whether replies run or begin, or viewers are still being sent away."""
        has_to_send = self._do_others_go_on and len(self._viewers) > 0
        return self._replies.is_taking_prompts or len(writing) > 0 or has_to_send
