"""Tracks the temporary conversations open in this worker's tabs and erases those nobody has open.

A tab has a conversation open from when it shows it until the tab is closed, even after moving
elsewhere, because the back button leads to it. A page that is being loaded counts for a moment,
until its socket connects.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.db import Error

from chatapp.models.conversations.chats import temporary
from chatapp.realtime.generation import run_in_write_thread
from chatapp.realtime.viewers import Viewer
from chatapp.realtime.worker.tasks import Tasks

logger = logging.getLogger(__name__)

MIN_SECONDS = 1.0  # kept after the last tab closes, so that it survives a reload
MAX_SECONDS = 60.0  # the upper limit, even if replies may go on for longer without a tab
PAGE_SECONDS = 15.0  # time for a page to open its socket


class Temporaries:
    """Open temporary conversations. `changed(user, conversation)` announces each erased one."""

    def __init__(self, worker: UUID, changed: Callable[[int, UUID], None]) -> None:
        self._worker = worker
        self._changed = changed
        self.opened: dict[UUID, set[Viewer]] = {}
        self._until: dict[UUID, float] = {}  # the earliest expiry, by the loop's clock
        self._timers: dict[UUID, asyncio.TimerHandle] = {}
        self._tasks = Tasks()

    def open(self, conversation: UUID, viewer: Viewer | None = None) -> None:
        """Record that `viewer` shows the conversation; without one, that a page is loading it.

        A browser that reloads a page closes the old socket only when the new page has arrived.
        """
        is_new = conversation not in self.opened
        viewers = self.opened.setdefault(conversation, set())
        if is_new:
            self._tasks.start(self._mark_open(conversation))
        if viewer:
            viewers.add(viewer)
            self._until.pop(conversation, None)
            self._cancel_timer(conversation)
        else:
            self._keep_for(conversation, PAGE_SECONDS)
            if not viewers:
                self._end_when_expired(conversation)

    def leave(self, viewer: Viewer, grace: float) -> None:
        for conversation, viewers in self.opened.items():
            if viewer in viewers:
                viewers.discard(viewer)
                if not viewers:
                    self._keep_for(conversation, min(max(grace, MIN_SECONDS), MAX_SECONDS))
                    self._end_when_expired(conversation)

    async def sweep(self) -> None:
        """Erase the temporary conversations of workers that died."""
        sweep = partial(temporary.sweep, self._worker, list(self.opened))
        for erased in await run_in_write_thread(sweep):
            self._changed(*erased)

    async def until_done(self) -> None:
        await self._tasks.until_done()

    async def close(self) -> None:
        """Stop all timers and leave the conversations to the workers their tabs reconnect to."""
        for conversation in list(self._timers):
            self._cancel_timer(conversation)
        await self._tasks.until_done()

    def _keep_for(self, conversation: UUID, seconds: float) -> None:
        until = asyncio.get_running_loop().time() + seconds
        self._until[conversation] = max(self._until.get(conversation, 0.0), until)

    def _end_when_expired(self, conversation: UUID) -> None:
        self._cancel_timer(conversation)
        self._timers[conversation] = asyncio.get_running_loop().call_at(
            self._until[conversation], self._end, conversation
        )

    def _cancel_timer(self, conversation: UUID) -> None:
        if timer := self._timers.pop(conversation, None):
            timer.cancel()

    def _end(self, conversation: UUID) -> None:
        del self.opened[conversation], self._until[conversation], self._timers[conversation]
        self._tasks.start(self._release(conversation))

    async def _mark_open(self, conversation: UUID) -> None:
        try:
            await run_in_write_thread(partial(temporary.add_hold, conversation, self._worker))
        except Error as error:
            logger.warning("Could not mark a temporary conversation as open: %s", error)

    async def _release(self, conversation: UUID) -> None:
        try:
            erased = await run_in_write_thread(
                partial(temporary.release_hold, conversation, self._worker)
            )
        except Error as error:
            logger.warning("Could not erase a temporary conversation yet: %s", error)
        else:
            if erased:
                self._changed(*erased)
