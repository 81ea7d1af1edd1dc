"""What goes by itself after its days: what has been in the trash for too long, and the messages
that were deleted as long ago. And the word on where the audit log ends.

In short steps, each a transaction of its own, between which others have their turn; every hour, and
when somebody asks for it.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

from django.db import Error
from django.utils import timezone

from chatapp.generation import stored
from chatapp.models import Conversation, Message
from chatapp.models.audit import head_now
from chatapp.models.shelves import TRASH_DAYS

logger = logging.getLogger(__name__)

EVERY_SECONDS = 3600.0
PAUSE_SECONDS = 0.05  # between two steps


def purge_messages() -> bool:
    over = timezone.now() - timedelta(days=TRASH_DAYS)
    return bool(Message.objects.purge_deleted(over))


def tell_audit_head() -> bool:
    """Into the app's own log, which is kept elsewhere: whoever cuts the end of the audit log off
    can't take it back from there. `manage.py audit verify --head` compares the two."""
    if (head := head_now()).sequence:
        logger.info("The audit log ends with %s", head)
    return False


# Each does a part of its work and says whether there was any.
STEPS: Sequence[Callable[[], bool]] = (
    Conversation.objects.purge,
    purge_messages,
    tell_audit_head,
)


def clean_up() -> int:
    """All of it at once, for whoever waits; returns in how many steps."""
    return sum(1 for step in STEPS for _ in iter(step, False))


class Housekeeping:
    """`run` it in a task, until cancelled."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """There is something to be done before the hour is over; told on the event loop."""
        self._asked.set()

    async def run(self) -> None:
        while True:
            self._asked.clear()
            try:
                await self._clean_up()
            except Error as error:
                logger.warning("What is to be deleted waits for another hour: %s", error)
            try:
                await asyncio.wait_for(self._asked.wait(), EVERY_SECONDS)
            except TimeoutError:
                continue

    async def _clean_up(self) -> None:
        for step in STEPS:
            while await stored(step):  # noqa: ASYNC110 - which does it, and waits for nothing
                await asyncio.sleep(PAUSE_SECONDS)
