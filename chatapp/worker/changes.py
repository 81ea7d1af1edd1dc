"""What an owner did to their conversations is shown so in all of the person's tabs.

Whoever hears of a change asks for a look; the database says what it was, so that the order of what
is heard does not matter. The reply that runs in a conversation that is gone, or in the trash, is
ended, and its upstream closed.
"""

import asyncio
from collections.abc import Collection
from uuid import UUID

from channels.db import database_sync_to_async

from chatapp import frames
from chatapp.models import Conversation, Message, ReviewPolicy
from chatapp.upstream.wire.reply import Ending
from chatapp.viewers import Viewers, show_to
from chatapp.worker.replies import Replies

DELETED = "The conversation that was shown here was deleted."


class Changes:
    """Of conversations, for the viewers and the replies of this worker."""

    def __init__(self, viewers: Viewers, replies: Replies) -> None:
        self._viewers = viewers
        self._replies = replies
        self._one_at_a_time = asyncio.Lock()  # or an old title could be shown after a new one

    async def look_at(self, user: int, conversation: UUID) -> None:
        self._viewers.showing(conversation).changes += 1
        async with self._one_at_a_time:
            found = await database_sync_to_async(_with_state)(conversation)
            if found:
                await self._show_title(*found)
            else:
                await self._take_away(user, conversation)

    async def look_at_list(self, user: int) -> None:
        """Has the person's tabs ask for their lists, after a look at what they show and what runs
        for them: only that may have to end."""
        tabs = self._viewers.all_of(user)
        shown = {pk for tab in tabs if (pk := self._viewers.shown_by(tab))}
        running = {
            generation.message.conversation_id
            for generation in self._replies
            if generation.message.conversation.user_id == user
        }
        gone = await database_sync_to_async(_gone)(shown | running, shown)
        for conversation in gone:
            await self.look_at(user, conversation)
        await show_to(self._viewers.all_of(user), frames.list_frame())

    async def look_at_policy(self) -> None:
        """Says in the tabs in which a chat may begin what it would be begun under."""
        async with self._one_at_a_time:
            policy = await database_sync_to_async(ReviewPolicy.now)()
            new = [viewer for viewer in self._viewers if not self._viewers.shown_by(viewer)]
            await show_to(new, frames.new_policy_frame(policy))

    async def end_deleted(self, replies: Collection[UUID]) -> None:
        """Ends those of these replies that were deleted, whoever did so and told nobody."""
        stored = Message.objects.filter(pk__in=replies).values_list("pk", flat=True)
        there = {pk async for pk in stored}
        for generation in self._replies:
            if generation.message.pk in replies and generation.message.pk not in there:
                generation.stop(Ending.ABANDONED)

    async def _show_title(self, conversation: Conversation, is_running: bool) -> None:
        """In all of the person's tabs: one may be about to show the conversation."""
        row = frames.sidebar_frame(conversation, running=is_running)
        tabs = self._viewers.all_of(conversation.user_id)
        await show_to(tabs, row + frames.title_frame(conversation))

    async def _take_away(self, user: int, conversation: UUID) -> None:
        for generation in self._replies.of(conversation):
            generation.stop(Ending.STOPPED)  # as it is, should it be brought back
        policy = await database_sync_to_async(ReviewPolicy.now)()
        showing = list(self._viewers.showing(conversation))
        for viewer in showing:
            self._viewers.show(viewer, None)
            viewer.head, viewer.shows_end = None, True
        await show_to(showing, frames.emptied_frame(conversation, DELETED, policy))
        await show_to(self._viewers.all_of(user), frames.row_gone_frame(conversation))


def _gone(conversations: Collection[UUID], shown: Collection[UUID]) -> list[UUID]:
    """Which of these are kept no more; and marks those as read that are shown."""
    kept = Conversation.objects.kept().filter(pk__in=conversations)
    there = dict(kept.values_list("pk", "is_unread"))
    unread = [pk for pk in shown if there.get(pk)]
    if unread:
        Conversation.objects.filter(pk__in=unread).update(is_unread=False)
    return [pk for pk in conversations if pk not in there]


def _with_state(conversation: UUID) -> tuple[Conversation, bool] | None:
    """The conversation, and whether a reply streams in it; None where it is not kept."""
    found = Conversation.objects.kept().filter(pk=conversation).first()
    return (found, found.messages.streaming().exists()) if found else None
