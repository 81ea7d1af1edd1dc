"""What a tab shows: a conversation, drawn where the page is behind, and kept up to date."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import Error, OperationalError

from chatapp import frames, metrics, rendering
from chatapp.access import sessions
from chatapp.access.sessions import NotSignedIn
from chatapp.chat.forms import Seen, Step
from chatapp.generation import Generation
from chatapp.models import Conversation, NotHere, Refused, ReviewPolicy, View
from chatapp.viewers import Viewer
from chatapp.worker import worker

logger = logging.getLogger(__name__)

DRAW_AGAIN_SECONDS = 1.0  # between drawings of the same for the same socket
NOT_SHOWN = "The database does not answer. What is new here is shown as soon as it does."


class Screen:
    """Of one tab. Who has it closes it, so that nothing is drawn for a tab that is gone.

    What can't be drawn since the database does not answer is drawn as soon as it does.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._watched: tuple[Seen, float] | None = None  # what was drawn last, and when
        self._later: asyncio.TimerHandle | None = None  # for one drawing, which goes on in a task
        self._drawing: asyncio.Task[None] | None = None
        self._redrawing = asyncio.Lock()  # or what was looked at first could be shown last

    async def watch(self, seen: Seen | None) -> None:
        """Shows a conversation, and brings the page up to date where it is behind."""
        if seen is None:
            self.close()
            worker().show(self._viewer, None)
            self._viewer.head, self._viewer.shows_end = None, True
        elif not self._was_just_drawn(seen):
            try:
                await self._draw_or_empty(seen)
            except Error as error:
                logger.error("The database failed on what a tab shows: %s", error)
                if not self._shows(seen.conversation):
                    worker().show(self._viewer, None)  # what it showed before is not there any more
                self._draw_later(DRAW_AGAIN_SECONDS, self._draw_again(seen, was_told=True))
                await self._viewer.show(frames.problem_frame(NOT_SHOWN))

    async def catch_up(self, conversation: UUID) -> None:
        """Draws the conversation as the database has it now, where the tab still shows it.

        One that shows an earlier part of it stays as it is.
        """

        def look(found: Conversation) -> View:
            return found.view().since(self._viewer.head)

        try:
            view, thread, running = await self._drawn_with(conversation, look)
        except (Refused, NotSignedIn) as error:
            logger.info("A tab could not be brought up to date: %s", error)
            return
        except Error as error:
            self._owe(conversation, error)
            return
        if self._shows(conversation):
            if self._viewer.shows_end:
                await self._show_thread(view, thread, running)
            self._await_reply(view)
        is_running = bool(view.streaming)
        sidebar = frames.sidebar_frame(view.conversation, running=is_running)
        await self._viewer.show(sidebar + frames.problem_frame(""))

    async def redraw(self, conversation: UUID) -> None:
        """Draws all that the tab shows of it anew, since any of that may be gone, or be back."""

        def look(found: Conversation) -> View:
            if self._viewer.head and not self._viewer.shows_end:
                with suppress(NotHere):
                    return found.view_around(self._viewer.head)
            return found.view()

        async with self._redrawing:
            try:
                view, thread, running = await self._drawn_with(conversation, look)
            except (Refused, NotSignedIn) as error:
                logger.info("A tab could not be drawn anew: %s", error)
                return
            except Error as error:
                self._owe(conversation, error)
                return
            if self._shows(conversation):
                await self._show_thread(view, thread, running)
                self._await_reply(view)

    async def step(self, step: Step) -> None:
        """Shows another branch, which is then the one that was read last; raises `Refused`."""

        def read(conversation: Conversation) -> View:
            conversation.read(step.message)
            return conversation.view_around(step.message)

        view, thread, running = await self._drawn_with(step.conversation, read)
        self.close()
        await self._show_thread(view, thread, running)
        worker().show(self._viewer, step.conversation)
        self._await_reply(view)

    def close(self) -> None:
        """Draws nothing more of what was to be drawn again."""
        self._watched = None
        for later in (self._later, self._drawing):
            if later:
                later.cancel()
        self._later = self._drawing = None

    def _was_just_drawn(self, seen: Seen) -> bool:
        """Whether this was asked for a moment ago; it is then drawn once more, in a moment."""
        now = time.monotonic()
        before, at = self._watched or (None, 0.0)
        early = at + DRAW_AGAIN_SECONDS - now
        if seen != before or early <= 0 or not self._shows(seen.conversation):
            self.close()
            self._watched = seen, now
            return False
        if not self._later:
            self._draw_later(early, self._draw_again(seen))
        return True

    def _owe(self, conversation: UUID, why: Error) -> None:
        """Draws it all as soon as the database answers."""
        logger.info("A tab is brought up to date when the database is back: %s", why)
        if self._shows(conversation):
            self._draw_later(DRAW_AGAIN_SECONDS, partial(self.redraw, conversation))

    def _draw_later(self, seconds: float, draw: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._later:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(seconds, self._begin, draw)

    def _begin(self, draw: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._drawing:
            self._drawing.cancel()
        self._later, self._drawing = None, asyncio.create_task(draw())

    def _draw_again(
        self, seen: Seen, *, was_told: bool = False
    ) -> Callable[[], Coroutine[Any, Any, None]]:
        """What draws it where the tab has not moved on by then; takes back what it was told."""
        shown = self._shown

        async def draw() -> None:
            if self._shown != shown:
                return
            self._watched = seen, time.monotonic()
            try:
                await self._draw(seen)
            except (Refused, NotSignedIn) as error:
                logger.info("A tab could not be brought up to date: %s", error)
            except Error:
                self._draw_later(DRAW_AGAIN_SECONDS, self._draw_again(seen, was_told=True))
            else:
                if was_told:
                    await self._viewer.show(frames.problem_frame(""))

        return draw

    async def _draw_or_empty(self, seen: Seen) -> None:
        try:
            await self._draw(seen)
        except NotHere as why:
            policy = await database_sync_to_async(ReviewPolicy.now)()
            await self._viewer.show(frames.emptied_frame(seen.conversation, str(why), policy))

    async def _draw(self, seen: Seen) -> None:
        conversation, before, shown = seen.conversation, self._viewer.head, self._shown

        def look(found: Conversation) -> View:
            return _missing(found, seen if self._viewer.head == before else Seen(conversation))

        view, thread, running = await self._drawn_with(conversation, look)
        if self._shown != shown:  # the tab has moved on, or is gone
            return
        self._viewer.head, self._viewer.shows_end = seen.head, not seen.later
        is_emptied = seen.head and not view.end
        if view.thread or is_emptied:
            await self._show_thread(view, thread, running)
        elif running and not seen.later:
            await self._show_running(running)
        worker().show(self._viewer, conversation)
        # Its page may be older than the title.
        await self._viewer.show(frames.title_frame(view.conversation))
        if view.conversation.is_temporary:
            worker().open_temporary(self._viewer, conversation)
        self._await_reply(view)

    async def _drawn_with(
        self, conversation: UUID, look: Callable[[Conversation], View]
    ) -> tuple[View, frames.ThreadParts, list[Generation]]:
        """What of a conversation is to be shown, drawn, and what ran in it meanwhile.

        Looked at again if the tab was shown something else since: what only follows what it showed
        would stand below another branch. And if it was renamed or deleted since: the tab would
        show what was before.
        """
        replies, showing = worker().replies, worker().viewers.showing(conversation)
        while True:
            running, begun, changes = replies.of(conversation), replies.begun, showing.changes
            head = self._viewer.head
            view = await self._looked_at(conversation, look)
            thread = await drawn(view, running)
            # One that was stored and not begun may have begun, and ended, since.
            was_waited_for = view.streaming and not running and replies.begun != begun
            is_there = self._viewer.head == head and showing.changes == changes
            if is_there and replies.of(conversation) == running and not was_waited_for:
                return view, thread, running

    async def _looked_at(self, conversation: UUID, look: Callable[[Conversation], View]) -> View:
        """What of a conversation is to be shown; raises `Refused` and `NotSignedIn`."""
        if not worker().database_answers:
            raise OperationalError("it did not answer a second ago")

        def find() -> View:
            person = sessions.person_of(self._viewer.session_key)
            found = person.conversations.kept().named(conversation)
            if found.mark_read():
                worker().list_changed(person.pk)
            return look(found)

        view: View = await database_sync_to_async(find)()
        return view

    async def _show_thread(
        self, view: View, thread: frames.ThreadParts, running: Sequence[Generation]
    ) -> None:
        """Shows a drawn conversation, and readies the composer for what may follow."""
        self._viewer.head = view.head.pk if view.head else None
        self._viewer.shows_end = not view.has_later
        frame = frames.thread_frame(thread, [one.live.view() for one in running])
        await self._viewer.show(frame + frames.composer_frame(view.conversation, view.end))

    async def _show_running(self, running: Sequence[Generation]) -> None:
        """Draws what runs as far as it has come, all of it at one moment: what comes later is shown
        to this tab, too."""
        for one in running:
            await one.flush()
        metrics.snapshots.labels("join").inc(len(running))
        await self._viewer.show("".join([one.snapshot() for one in running]))

    def _await_reply(self, view: View) -> None:
        """Awaits the replies that another process writes in the conversation, where one does."""
        conversation = view.conversation.pk
        remotes = worker().cluster.remotes
        remotes.drawn(self._viewer, conversation, {reply.pk for reply in view.streaming})
        for reply in view.streaming:
            if reply.streamed_by not in (None, worker().id):
                remotes.watch(self._viewer, conversation, reply.pk, reply.streamed_by)

    @property
    def _shown(self) -> UUID | None:
        return worker().viewers.shown_by(self._viewer)

    def _shows(self, conversation: UUID) -> bool:
        return self._shown == conversation


def _missing(conversation: Conversation, seen: Seen) -> View:
    """What a page lacks of the newest messages; nothing where it shows earlier ones."""
    view = conversation.standing(seen.head)
    is_behind = view.end and not view.is_known(seen.head, seen.ending)
    return view.newest().since(seen.head, seen.ending) if is_behind and not seen.later else view


async def drawn(view: View, running: Sequence[Generation] = ()) -> frames.ThreadParts:
    """A conversation, all but the replies that run in it, drawn while others have their turn.

    One that has ended since is drawn as it was saved.
    """
    live = {one.reply for one in running if view.runs(one.reply)}
    texts = frames.texts_of(message for message in view.shown if message.pk not in live)
    html_of = await rendering.arendered(texts)
    return await asyncio.to_thread(frames.ThreadParts.of, view, html_of, live)
