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
from django.db import Error

from chatapp import metrics
from chatapp.chat.forms import ShownThread, Step
from chatapp.chat.redraws import Redraws
from chatapp.chat.thread_loader import LoadedThread, load_thread
from chatapp.models import ChatNotFound, Conversation, Refused, ReviewPolicy, ThreadPage
from chatapp.realtime.generation import Generation
from chatapp.realtime.viewers import Viewer
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments
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
        # What was drawn last, and when, by the monotonic clock.
        self._last_drawn: tuple[ShownThread, float] | None = None
        self._redraws = Redraws()
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
                self._redraws.schedule(DRAW_AGAIN_SECONDS, self._draw_again(seen, has_problem=True))
                await self._viewer.show(fragments.problem_fragment(NOT_SHOWN))

    async def catch_up(self, conversation: UUID) -> None:
        """Show what is new in the conversation in the database, if the tab still shows it.

        A tab that shows an earlier part of it stays as it is.
        """

        def select(stored_conversation: Conversation) -> ThreadPage:
            return stored_conversation.view().since(self._viewer.head)

        try:
            thread = await load_thread(self._viewer, conversation, select)
        except (Refused, NotSignedIn) as error:
            logger.info("A tab could not be updated: %s", error)
            return
        except Error as error:
            self._redraw_later(conversation, error)
            return
        if self._shows(conversation):
            if self._viewer.shows_end:
                await self._show_thread(thread)
            self._watch_remote_replies(thread.page)
        is_running = bool(thread.page.streaming)
        sidebar = fragments.sidebar_fragment(thread.conversation, running=is_running)
        await self._viewer.show(sidebar + fragments.problem_fragment(""))

    async def redraw(self, conversation: UUID) -> None:
        """Redraw all that the tab shows of it: any message may have been deleted or restored."""

        def select(stored_conversation: Conversation) -> ThreadPage:
            if self._viewer.head and not self._viewer.shows_end:
                with suppress(ChatNotFound):
                    return stored_conversation.view_around(self._viewer.head)
            return stored_conversation.view()

        async with self._redrawing:
            try:
                thread = await load_thread(self._viewer, conversation, select)
            except (Refused, NotSignedIn) as error:
                logger.info("A tab could not be redrawn: %s", error)
                return
            except Error as error:
                self._redraw_later(conversation, error)
                return
            if self._shows(conversation):
                await self._show_thread(thread)
                self._watch_remote_replies(thread.page)

    async def step(self, step: Step) -> None:
        """Show another branch and record it as the one last read; raises `Refused`."""

        def select(conversation: Conversation) -> ThreadPage:
            conversation.activate_branch(step.message)
            return conversation.view_around(step.message)

        thread = await load_thread(self._viewer, step.conversation, select)
        self.close()
        await self._show_thread(thread)
        worker().show(self._viewer, step.conversation)
        worker().shares_changed(step.conversation)
        self._watch_remote_replies(thread.page)

    def close(self) -> None:
        """Cancel scheduled and running redraws."""
        self._last_drawn = None
        self._redraws.cancel()

    def _was_just_drawn(self, seen: ShownThread) -> bool:
        """Whether the same state was drawn a moment ago. If so, schedule one more drawing."""
        now = time.monotonic()
        before, at = self._last_drawn or (None, 0.0)
        remaining = at + DRAW_AGAIN_SECONDS - now
        if seen != before or remaining <= 0 or not self._shows(seen.conversation):
            self.close()
            self._last_drawn = seen, now
            return False
        if not self._redraws.is_scheduled:
            self._redraws.schedule(remaining, self._draw_again(seen))
        return True

    def _redraw_later(self, conversation: UUID, error: Error) -> None:
        """Redraw the whole conversation once the database responds."""
        logger.info("A tab will be updated when the database is back: %s", error)
        if self._shows(conversation):
            self._redraws.schedule(DRAW_AGAIN_SECONDS, partial(self.redraw, conversation))

    def _draw_again(
        self, seen: ShownThread, *, has_problem: bool = False
    ) -> Callable[[], Coroutine[Any, Any, None]]:
        """Return a coroutine function that draws the state, unless the tab has moved on by then.

        It clears the problem that the page shows, if `has_problem`.
        """
        shown_before = self._shown_conversation

        async def draw() -> None:
            if self._shown_conversation != shown_before:
                return
            self._last_drawn = seen, time.monotonic()
            try:
                await self._draw(seen)
            except (Refused, NotSignedIn) as error:
                logger.info("A tab could not be updated: %s", error)
            except Error:
                self._redraws.schedule(DRAW_AGAIN_SECONDS, self._draw_again(seen, has_problem=True))
            else:
                if has_problem:
                    await self._viewer.show(fragments.problem_fragment(""))

        return draw

    async def _draw_or_empty(self, seen: ShownThread) -> None:
        try:
            await self._draw(seen)
        except ChatNotFound as error:
            policy = await database_sync_to_async(ReviewPolicy.now)()
            await self._viewer.show(
                fragments.emptied_fragment(seen.conversation, str(error), policy)
            )

    async def _draw(self, seen: ShownThread) -> None:
        conversation, before, shown_before = (
            seen.conversation,
            self._viewer.head,
            self._shown_conversation,
        )

        def select(stored_conversation: Conversation) -> ThreadPage:
            return _missing(
                stored_conversation,
                seen if self._viewer.head == before else ShownThread(conversation),
            )

        thread = await load_thread(self._viewer, conversation, select)
        if self._shown_conversation != shown_before:  # the tab has moved on or was closed
            return
        self._viewer.head, self._viewer.shows_end = seen.head, not seen.later
        is_emptied = seen.head and not thread.page.end
        if thread.page.thread or is_emptied:
            await self._show_thread(thread)
        elif thread.running and not seen.later:
            await self._show_running(thread.running)
        worker().show(self._viewer, conversation)
        reports = worker().summaries.reports
        if progress := reports.render_progress(conversation):
            await self._viewer.show(progress)
        elif seen.summary:
            reports.expect(conversation)
        # The title may have changed since the page was drawn.
        await self._viewer.show(fragments.title_fragment(thread.conversation))
        if thread.conversation.is_temporary:
            worker().open_temporary(self._viewer, conversation)
        self._watch_remote_replies(thread.page)

    async def _show_thread(self, thread: LoadedThread) -> None:
        """Show the drawn messages, and set the composer to follow the last one."""
        page = thread.page
        self._viewer.head = page.head.pk if page.head else None
        self._viewer.shows_end = not page.has_later
        messages = fragments.thread_fragment(
            thread.parts, [generation.live.view() for generation in thread.running]
        )
        composer = fragments.composer_fragment(thread.conversation, page.end, thread.used_tokens)
        await self._viewer.show(messages + composer)

    async def _show_running(self, running: Sequence[Generation]) -> None:
        """Show snapshots of the running replies, all taken at one moment.

        Text that arrives later is sent to this tab too.
        """
        for generation in running:
            await generation.flush()
        metrics.snapshots.labels("join").inc(len(running))
        await self._viewer.show("".join([reply.snapshot() for reply in running]))

    def _watch_remote_replies(self, page: ThreadPage) -> None:
        """Subscribe the tab to replies in the conversation that other processes run."""
        conversation = page.conversation.pk
        remotes = worker().cluster.remotes
        remotes.forget_finished(self._viewer, conversation, {reply.pk for reply in page.streaming})
        for reply in page.streaming:
            if reply.streamed_by not in (None, worker().id):
                remotes.watch(self._viewer, conversation, reply.pk, reply.streamed_by)

    @property
    def _shown_conversation(self) -> UUID | None:
        return worker().viewers.get_conversation(self._viewer)

    def _shows(self, conversation: UUID) -> bool:
        return self._shown_conversation == conversation


def _missing(conversation: Conversation, seen: ShownThread) -> ThreadPage:
    """Return the newest messages that the page lacks; none if it shows an earlier part."""
    view = conversation.load_thread_page(seen.head)
    is_behind = view.end and not view.is_up_to_date(seen.head, seen.ending)
    return view.newest().since(seen.head, seen.ending) if is_behind and not seen.later else view
