"""What a tab shows: a conversation, drawn where the page is behind, and kept up to date."""

import asyncio
import logging
import time
from collections.abc import Iterable
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import Error

from chatapp import frames, metrics, rendering
from chatapp.access import sessions
from chatapp.access.sessions import NotSignedIn
from chatapp.chat.forms import Seen
from chatapp.generation import Generation
from chatapp.models import Message, NotHere, Refused, View
from chatapp.viewers import Viewer
from chatapp.worker import worker

logger = logging.getLogger(__name__)

WATCH_AGAIN_SECONDS = 1.0  # between drawings of the same for the same socket


class Screen:
    """Of one tab. Who has it closes it, so that nothing is drawn for a tab that is gone."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._watched: tuple[Seen, float] | None = None  # what was drawn last, and when
        self._watching_again: asyncio.TimerHandle | None = None
        self._drawing: asyncio.Task[None] | None = None

    async def watch(self, seen: Seen | None) -> None:
        """Shows a conversation, and brings the page up to date where it is behind."""
        if seen is None:
            self.close()
            worker().show(self._viewer, None)
        elif not self._was_just_drawn(seen):
            try:
                await self._draw(seen)
            except NotHere as why:
                await self._viewer.show(frames.emptied_frame(seen.conversation, str(why)))

    async def catch_up(self, conversation: UUID) -> None:
        """Draws the conversation as the database has it now, where the tab still shows it."""
        try:
            view = await self._view(conversation)
        except (Refused, NotSignedIn, Error) as error:
            logger.info("A tab could not be brought up to date: %s", error)
            return
        running = worker().replies.get(conversation)
        thread = await drawn(view.thread, running)
        if self._shows(conversation):
            await self._show_thread(view, thread, running)
            self._await_reply(view)
        is_running = view.streaming is not None
        sidebar = frames.sidebar_frame(view.conversation, running=is_running)
        await self._viewer.show(sidebar + frames.problem_frame(""))

    def close(self) -> None:
        """Draws nothing more of what was to be drawn again."""
        self._watched = None
        for later in (self._watching_again, self._drawing):
            if later:
                later.cancel()
        self._watching_again = self._drawing = None

    def _was_just_drawn(self, seen: Seen) -> bool:
        """Whether this was asked for a moment ago; it is then drawn once more, in a moment."""
        now = time.monotonic()
        before, at = self._watched or (None, 0.0)
        early = at + WATCH_AGAIN_SECONDS - now
        if seen != before or early <= 0 or not self._shows(seen.conversation):
            self.close()
            self._watched = seen, now
            return False
        if not self._watching_again:
            loop = asyncio.get_running_loop()
            self._watching_again = loop.call_later(early, self._watch_again, seen)
        return True

    def _watch_again(self, seen: Seen) -> None:
        self.close()
        self._watched = seen, time.monotonic()
        self._drawing = asyncio.create_task(self._draw_again(seen))

    async def _draw_again(self, seen: Seen) -> None:
        try:
            await self._draw(seen, is_again=True)
        except (Refused, NotSignedIn, Error) as error:
            logger.info("A tab could not be brought up to date: %s", error)

    async def _draw(self, seen: Seen, *, is_again: bool = False) -> None:
        conversation = seen.conversation
        while True:
            running = worker().replies.get(conversation)
            view = await self._view(conversation, seen.head)
            head = view.head
            is_behind = head and (head.pk, head.ending) != (seen.head, seen.ending)
            thread = await drawn(view.thread, running) if is_behind else None
            if worker().replies.get(conversation) is running:
                break
        if is_again and not self._shows(conversation):  # the tab has moved on, or is gone
            return
        if thread:
            await self._show_thread(view, thread, running)
        elif running:
            metrics.snapshots.labels("join").inc()
            await self._viewer.show(await running.snapshot())
        self._viewer.head = head.pk if head else None
        worker().show(self._viewer, conversation)
        self._await_reply(view)

    async def _view(self, conversation: UUID, head: UUID | None = None) -> View:
        """Raises `Refused` and `NotSignedIn`."""

        def look() -> View:
            person = sessions.person_of(self._viewer.session_key)
            return person.conversations.named(conversation).view(head)

        view: View = await database_sync_to_async(look)()
        return view

    async def _show_thread(
        self, view: View, thread: frames.ThreadParts, running: Generation | None
    ) -> None:
        """Shows a drawn conversation, and readies the composer for what may follow."""
        if view.head:
            self._viewer.head = view.head.pk
            frame = frames.thread_frame(thread, running.live.view() if running else None)
            await self._viewer.show(frame + frames.composer_frame(view.conversation, view.head))

    def _await_reply(self, view: View) -> None:
        """Awaits the reply that another process writes in the conversation, where one does."""
        conversation, reply = view.conversation.pk, view.streaming
        remotes = worker().cluster.remotes
        remotes.drawn(self._viewer, conversation, reply.pk if reply else None)
        if reply and reply.streamed_by not in (None, worker().id):
            remotes.watch(self._viewer, conversation, reply.pk, reply.streamed_by)

    def _shows(self, conversation: UUID) -> bool:
        return worker().viewers.shown_by(self._viewer) == conversation


async def drawn(
    messages: Iterable[Message], running: Generation | None = None
) -> frames.ThreadParts:
    """A conversation, all but the reply that runs in it, drawn while others have their turn."""
    live = running.message.pk if running else None
    texts = frames.texts_of(message for message in messages if message.pk != live)
    html_of = await rendering.arendered(texts)
    return await asyncio.to_thread(frames.ThreadParts.of, messages, html_of, live)
