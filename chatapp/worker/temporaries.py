"""Temporary conversations that tabs of this worker have open: those that nobody has any more are
erased.

A tab has one open from when it shows it until the tab itself is closed, wherever it has moved
since: back leads to it. A page that is being loaded counts for a moment, since its socket comes
later.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.db import Error

from chatapp.generation import stored
from chatapp.models import temporary
from chatapp.viewers import Viewer
from chatapp.worker.tasks import Tasks

logger = logging.getLogger(__name__)

LEAST_SECONDS = 1.0  # after the last tab's close, or a reload would lose it
MOST_SECONDS = 60.0  # also where replies go on without a tab for longer
PAGE_SECONDS = 15.0  # that a page has to open its socket


class Temporaries:
    """`changed` tells everybody that a person's conversation is gone."""

    def __init__(self, worker: UUID, changed: Callable[[int, UUID], None]) -> None:
        self._worker = worker
        self._changed = changed
        self.opened: dict[UUID, set[Viewer]] = {}
        self._until: dict[UUID, float] = {}  # when those end that nobody has open
        self._ends: dict[UUID, asyncio.TimerHandle] = {}
        self._tasks = Tasks()

    def open(self, conversation: UUID, viewer: Viewer | None = None) -> None:
        """`viewer` shows it; without one, a page that is about to."""
        is_new = conversation not in self.opened
        viewers = self.opened.setdefault(conversation, set())
        if is_new:
            self._tasks.start(self._hold(conversation))
        if viewer:
            viewers.add(viewer)
            self._until.pop(conversation, None)
            self._stop_clock(conversation)
        elif not viewers:
            self._end_in(conversation, PAGE_SECONDS)

    def leave(self, viewer: Viewer, grace: float) -> None:
        for conversation, viewers in self.opened.items():
            if viewer in viewers:
                viewers.discard(viewer)
                if not viewers:
                    self._end_in(conversation, min(max(grace, LEAST_SECONDS), MOST_SECONDS))

    async def sweep(self) -> None:
        """Erases what workers have left that died."""
        sweep = partial(temporary.sweep, self._worker, list(self.opened))
        for erased in await stored(sweep):
            self._changed(*erased)

    async def until_done(self) -> None:
        await self._tasks.until_done()

    async def close(self) -> None:
        """Leaves them to the workers to which their tabs go."""
        for conversation in list(self._ends):
            self._stop_clock(conversation)
        await self._tasks.until_done()

    def _end_in(self, conversation: UUID, seconds: float) -> None:
        """No sooner than somebody else was to come back until."""
        loop = asyncio.get_running_loop()
        until = max(self._until.get(conversation, 0.0), loop.time() + seconds)
        self._until[conversation] = until
        self._stop_clock(conversation)
        self._ends[conversation] = loop.call_at(until, self._end, conversation)

    def _stop_clock(self, conversation: UUID) -> None:
        if ends := self._ends.pop(conversation, None):
            ends.cancel()

    def _end(self, conversation: UUID) -> None:
        del self.opened[conversation], self._until[conversation], self._ends[conversation]
        self._tasks.start(self._let_go(conversation))

    async def _hold(self, conversation: UUID) -> None:
        try:
            await stored(partial(temporary.hold, conversation, self._worker))
        except Error as error:
            logger.warning("A temporary conversation is not held: %s", error)

    async def _let_go(self, conversation: UUID) -> None:
        try:
            erased = await stored(partial(temporary.let_go, conversation, self._worker))
        except Error as error:
            logger.warning("A temporary conversation is erased later: %s", error)
        else:
            if erased:
                self._changed(*erased)
