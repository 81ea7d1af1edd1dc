"""Saves the partial text of running replies every few seconds, several in one transaction."""

import asyncio
import logging
import time
from collections.abc import Iterable
from functools import partial

from django.db import InterfaceError, OperationalError

from chatapp.models import Message
from chatapp.models.billing import reservations
from chatapp.realtime.cluster import HeartbeatSource
from chatapp.realtime.generation import Generation, run_in_write_thread

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.1


def _save_and_grow(due: list[Generation]) -> None:
    wanting = [
        running.reservation
        for running in due
        if running.reservation and running.reservation.wants_more
    ]
    with reservations.reservation_transaction(wanting):
        Message.objects.checkpoint([generation.message for generation in due])
        if wanting:
            reservations.grow(wanting)


class Checkpoints:
    """Saves those of `replies` that are due; `run` it in a task until cancelled."""

    def __init__(self, replies: Iterable[Generation], heartbeat: HeartbeatSource) -> None:
        self._replies = replies
        self._heartbeat = heartbeat

    async def run(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if not self._heartbeat.database_answers:
                continue
            if due := [generation for generation in self._replies if generation.is_due]:
                await self._save(due, time.monotonic())

    async def _save(self, due: list[Generation], now: float) -> None:
        """Save them in one transaction, or each alone if one of them cannot be saved."""
        try:
            for generation in due:
                generation.saved_at = now
                generation.writer.update_message()
            await run_in_write_thread(partial(_save_and_grow, due))
            for generation in due:
                generation.end_if_over()
        except (OperationalError, InterfaceError) as error:
            logger.warning("A checkpoint failed; the next one will save the same text: %s", error)
            for generation in due:
                generation.arrivals.is_dirty = True
        except Exception:  # one reply is to blame: saving each alone finds it
            if len(due) == 1:
                logger.exception("Reply %s could not be checkpointed", due[0].message.pk)
            else:
                for generation in due:
                    await self._save([generation], now)
