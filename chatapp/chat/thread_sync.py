"""Keeps a tab's page in step with the conversation it shows: sends only what the page lacks."""

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

from chatapp import metrics
from chatapp.chat.forms import ShownThread, Step
from chatapp.models import Conversation, NotHere, Refused, ReviewPolicy, ThreadPage
from chatapp.realtime.generation import Generation
from chatapp.realtime.viewers import Viewer
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments, pool
from chatapp.sessions import validity
from chatapp.sessions.validity import NotSignedIn

logger = logging.getLogger(__name__)

DRAW_AGAIN_SECONDS = 1.0  # between two drawings of the same state for one socket
NOT_SHOWN = "The database is not responding. This page will update as soon as it does."


class ThreadSync:
    """The state of one tab's page. Its owner calls `close()` so nothing is drawn for a closed tab.

    If the database does not respond, drawing is retried until it does.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._last_drawn: tuple[ShownThread, float] | None = (
            None  # and when, by the monotonic clock
        )
        self._timer: asyncio.TimerHandle | None = None  # starts the task below
        self._task: asyncio.Task[None] | None = None
        self._redrawing = asyncio.Lock()  # so that an older read is never shown after a newer one

    async def watch(self, seen: ShownThread | None) -> None:
        """Show a conversation, and send what the page lacks of it; None shows none."""
        if seen is None:
            self.close()
            worker().show(self._viewer, None)
            self._viewer.head, self._viewer.shows_end = None, True
        elif not self._was_just_drawn(seen):
            try:
                await self._draw_or_empty(seen)
            except Error as error:
                logger.error("The database failed while drawing a tab, which is retried: %s", error)
                if not self._shows(seen.conversation):
                    worker().show(self._viewer, None)  # the page has left what it showed before
                self._schedule(DRAW_AGAIN_SECONDS, self._draw_again(seen, has_problem=True))
                await self._viewer.show(fragments.problem_fragment(NOT_SHOWN))

    async def catch_up(self, conversation: UUID) -> None:
        """Show what is new in the conversation in the database, if the tab still shows it.

        A tab that shows an earlier part of it stays as it is.
        """

        def select(found: Conversation) -> ThreadPage:
            return found.view().since(self._viewer.head)

        try:
            view, thread, running = await self._load_and_draw(conversation, select)
        except (Refused, NotSignedIn) as error:
            logger.info("A tab could not be updated: %s", error)
            return
        except Error as error:
            self._redraw_later(conversation, error)
            return
        if self._shows(conversation):
            if self._viewer.shows_end:
                await self._show_thread(view, thread, running)
            self._watch_remote_replies(view)
        is_running = bool(view.streaming)
        sidebar = fragments.sidebar_fragment(view.conversation, running=is_running)
        await self._viewer.show(sidebar + fragments.problem_fragment(""))

    async def redraw(self, conversation: UUID) -> None:
        """Redraw all that the tab shows of it: any message may have been deleted or restored."""

        def select(found: Conversation) -> ThreadPage:
            if self._viewer.head and not self._viewer.shows_end:
                with suppress(NotHere):
                    return found.view_around(self._viewer.head)
            return found.view()

        async with self._redrawing:
            try:
                view, thread, running = await self._load_and_draw(conversation, select)
            except (Refused, NotSignedIn) as error:
                logger.info("A tab could not be redrawn: %s", error)
                return
            except Error as error:
                self._redraw_later(conversation, error)
                return
            if self._shows(conversation):
                await self._show_thread(view, thread, running)
                self._watch_remote_replies(view)

    async def step(self, step: Step) -> None:
        """Show another branch and record it as the one last read; raises `Refused`."""

        def select(conversation: Conversation) -> ThreadPage:
            conversation.read(step.message)
            return conversation.view_around(step.message)

        view, thread, running = await self._load_and_draw(step.conversation, select)
        self.close()
        await self._show_thread(view, thread, running)
        worker().show(self._viewer, step.conversation)
        self._watch_remote_replies(view)

    def close(self) -> None:
        """Cancel scheduled and running redraws."""
        self._last_drawn = None
        for pending in (self._timer, self._task):
            if pending:
                pending.cancel()
        self._timer = self._task = None

    def _was_just_drawn(self, seen: ShownThread) -> bool:
        """Whether the same state was drawn a moment ago. If so, schedule one more drawing."""
        now = time.monotonic()
        before, at = self._last_drawn or (None, 0.0)
        remaining = at + DRAW_AGAIN_SECONDS - now
        if seen != before or remaining <= 0 or not self._shows(seen.conversation):
            self.close()
            self._last_drawn = seen, now
            return False
        if not self._timer:
            self._schedule(remaining, self._draw_again(seen))
        return True

    def _redraw_later(self, conversation: UUID, error: Error) -> None:
        """Redraw the whole conversation once the database responds."""
        logger.info("A tab will be updated when the database is back: %s", error)
        if self._shows(conversation):
            self._schedule(DRAW_AGAIN_SECONDS, partial(self.redraw, conversation))

    def _schedule(self, seconds: float, draw: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._start, draw)

    def _start(self, draw: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._task:
            self._task.cancel()
        self._timer, self._task = None, asyncio.create_task(draw())

    def _draw_again(
        self, seen: ShownThread, *, has_problem: bool = False
    ) -> Callable[[], Coroutine[Any, Any, None]]:
        """Return a coroutine function that draws the state, unless the tab has moved on by then.

        It clears the problem that the page shows, if `has_problem`.
        """
        shown = self._shown

        async def draw() -> None:
            if self._shown != shown:
                return
            self._last_drawn = seen, time.monotonic()
            try:
                await self._draw(seen)
            except (Refused, NotSignedIn) as error:
                logger.info("A tab could not be updated: %s", error)
            except Error:
                self._schedule(DRAW_AGAIN_SECONDS, self._draw_again(seen, has_problem=True))
            else:
                if has_problem:
                    await self._viewer.show(fragments.problem_fragment(""))

        return draw

    async def _draw_or_empty(self, seen: ShownThread) -> None:
        try:
            await self._draw(seen)
        except NotHere as error:
            policy = await database_sync_to_async(ReviewPolicy.now)()
            await self._viewer.show(
                fragments.emptied_fragment(seen.conversation, str(error), policy)
            )

    async def _draw(self, seen: ShownThread) -> None:
        conversation, before, shown = seen.conversation, self._viewer.head, self._shown

        def select(found: Conversation) -> ThreadPage:
            return _missing(
                found, seen if self._viewer.head == before else ShownThread(conversation)
            )

        view, thread, running = await self._load_and_draw(conversation, select)
        if self._shown != shown:  # the tab has moved on or was closed
            return
        self._viewer.head, self._viewer.shows_end = seen.head, not seen.later
        is_emptied = seen.head and not view.end
        if view.thread or is_emptied:
            await self._show_thread(view, thread, running)
        elif running and not seen.later:
            await self._show_running(running)
        worker().show(self._viewer, conversation)
        # The title may have changed since the page was drawn.
        await self._viewer.show(fragments.title_fragment(view.conversation))
        if view.conversation.is_temporary:
            worker().open_temporary(self._viewer, conversation)
        self._watch_remote_replies(view)

    async def _load_and_draw(
        self, conversation: UUID, select: Callable[[Conversation], ThreadPage]
    ) -> tuple[ThreadPage, fragments.ThreadParts, list[Generation]]:
        """Return the selected part of a conversation, its HTML, and the replies running meanwhile.

        Reads and draws again if the tab was shown something else meanwhile, since messages that
        only follow the old ones would appear below another branch; and if the conversation was
        renamed or deleted meanwhile, since the tab would show the old state.
        """
        replies, showing = worker().replies, worker().viewers.showing(conversation)
        while True:
            running, begun, changes = replies.of(conversation), replies.begun, showing.changes
            head = self._viewer.head
            view = await self._load(conversation, select)
            thread = await drawn(view, running)
            # A reply that was stored but not running may have run and ended meanwhile.
            may_have_run = view.streaming and not running and replies.begun != begun
            is_unchanged = self._viewer.head == head and showing.changes == changes
            if is_unchanged and replies.of(conversation) == running and not may_have_run:
                return view, thread, running

    async def _load(
        self, conversation: UUID, select: Callable[[Conversation], ThreadPage]
    ) -> ThreadPage:
        """Return the selected part of a conversation; raises `Refused` and `NotSignedIn`."""
        if not worker().database_answers:
            raise OperationalError("it did not respond a second ago")

        def load() -> ThreadPage:
            person = validity.person_of(self._viewer.session_key)
            found = person.conversations.kept().named(conversation)
            if found.mark_read():
                worker().list_changed(person.pk)
            return select(found)

        view: ThreadPage = await database_sync_to_async(load)()
        return view

    async def _show_thread(
        self, view: ThreadPage, thread: fragments.ThreadParts, running: Sequence[Generation]
    ) -> None:
        """Show the drawn messages, and set the composer to follow the last one."""
        self._viewer.head = view.head.pk if view.head else None
        self._viewer.shows_end = not view.has_later
        frame = fragments.thread_fragment(thread, [one.live.view() for one in running])
        await self._viewer.show(frame + fragments.composer_fragment(view.conversation, view.end))

    async def _show_running(self, running: Sequence[Generation]) -> None:
        """Show snapshots of the running replies, all taken at one moment.

        Text that arrives later is sent to this tab too.
        """
        for one in running:
            await one.flush()
        metrics.snapshots.labels("join").inc(len(running))
        await self._viewer.show("".join([one.snapshot() for one in running]))

    def _watch_remote_replies(self, view: ThreadPage) -> None:
        """Subscribe the tab to replies in the conversation that other processes run."""
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


def _missing(conversation: Conversation, seen: ShownThread) -> ThreadPage:
    """Return the newest messages that the page lacks; none if it shows an earlier part."""
    view = conversation.standing(seen.head)
    is_behind = view.end and not view.is_known(seen.head, seen.ending)
    return view.newest().since(seen.head, seen.ending) if is_behind and not seen.later else view


async def drawn(view: ThreadPage, running: Sequence[Generation] = ()) -> fragments.ThreadParts:
    """Draw a conversation except for the replies that run in it, without blocking the event loop.

    A reply that has ended meanwhile is drawn as it was saved.
    """
    live = {one.reply for one in running if view.runs(one.reply)}
    texts = fragments.texts_of(message for message in view.shown if message.pk not in live)
    html_of = await pool.arendered(texts)
    return await asyncio.to_thread(fragments.ThreadParts.of, view, html_of, live)
