"""Shows changes to a person's conversations in all of that person's tabs.

An event only triggers a query: the database says what has changed, so the order in which events
arrive does not matter. A reply that runs in a deleted or trashed conversation is ended, and its
upstream request closed. So is a summary of it.
"""

import asyncio
from collections.abc import Collection
from uuid import UUID

from channels.db import database_sync_to_async

from chatapp.models import ChatSettings, Conversation, Message, ReviewPolicy
from chatapp.realtime.summarising import Summaries
from chatapp.realtime.viewers import Viewers, show_to
from chatapp.realtime.worker.replies import Replies
from chatapp.rendering import fragments
from chatapp.upstream.wire.reply import Ending

DELETED = "This chat was deleted."


class Changes:
    """Applies changed conversations to the viewers and replies of this worker."""

    def __init__(self, viewers: Viewers, replies: Replies, summaries: Summaries) -> None:
        self._viewers = viewers
        self._replies = replies
        self._summaries = summaries
        self._one_at_a_time = asyncio.Lock()  # so that no old title overwrites a new one

    async def refresh_conversation(self, user: int, conversation: UUID) -> None:
        """Show the conversation's title, row and settings, or remove it if it was deleted or
        trashed."""
        self._viewers.showing(conversation).changes += 1
        async with self._one_at_a_time:
            state = await database_sync_to_async(_load_state)(conversation)
            if state:
                await self._show(*state)
            else:
                await self._remove(user, conversation)

    async def refresh_list(self, user: int) -> None:
        """Make the person's tabs reload their conversation lists.

        First checks the conversations that the tabs show, and those with a running reply or
        summary: they may be gone.
        """
        tabs = self._viewers.for_user(user)
        open_ids = {pk for tab in tabs if (pk := self._viewers.get_conversation(tab))}
        running = {
            generation.message.conversation_id
            for generation in self._replies
            if generation.message.conversation.user_id == user
        }
        running |= {summary.conversation for summary in self._summaries if summary.user_id == user}
        deleted_ids = await database_sync_to_async(_deleted_among)(open_ids | running, open_ids)
        for conversation in deleted_ids:
            await self.refresh_conversation(user, conversation)
        await show_to(self._viewers.for_user(user), fragments.list_fragment())

    async def refresh_draft(self, user: int, conversation: UUID | None) -> None:
        """Make the person's tabs that show the conversation reload its draft's attachments.

        All tabs are told: any may be about to show the conversation.
        """
        await show_to(self._viewers.for_user(user), fragments.draft_fragment(conversation))

    async def refresh_policy(self) -> None:
        """Show the current review policy in the tabs that can start a new chat."""
        async with self._one_at_a_time:
            policy = await database_sync_to_async(ReviewPolicy.now)()
            new = [viewer for viewer in self._viewers if not self._viewers.get_conversation(viewer)]
            await show_to(new, fragments.new_policy_fragment(policy))

    async def end_deleted(self, replies: Collection[UUID]) -> None:
        """End those of these replies that were deleted without an event."""
        stored_ids = Message.objects.filter(pk__in=replies).values_list("pk", flat=True)
        existing = {pk async for pk in stored_ids}
        for generation in self._replies:
            if generation.message.pk in replies and generation.message.pk not in existing:
                generation.stop(Ending.ABANDONED)

    async def _show(self, settings: ChatSettings, may_choose: bool, is_running: bool) -> None:
        """Send this to all of the person's tabs: any may be about to show the conversation."""
        conversation = settings.conversation
        row = fragments.sidebar_fragment(conversation, running=is_running)
        title = fragments.title_fragment(conversation)
        settings_frame = fragments.settings_fragment(settings, may_choose=may_choose)
        tabs = self._viewers.for_user(conversation.user_id)
        await show_to(tabs, row + title + settings_frame)

    async def _remove(self, user: int, conversation: UUID) -> None:
        for generation in self._replies.for_conversation(conversation):
            generation.stop(Ending.STOPPED)  # keeps its text in case the chat is restored
        self._summaries.cancel(user, conversation)
        policy = await database_sync_to_async(ReviewPolicy.now)()
        showing = list(self._viewers.showing(conversation))
        for viewer in showing:
            self._viewers.show(viewer, None)
            viewer.head, viewer.shows_end = None, True
        await show_to(showing, fragments.emptied_fragment(conversation, DELETED, policy))
        await show_to(self._viewers.for_user(user), fragments.row_gone_fragment(conversation))


def _deleted_among(conversations: Collection[UUID], open_ids: Collection[UUID]) -> list[UUID]:
    """Return which of these conversations are gone, and mark the shown ones as read."""
    live_conversations = Conversation.objects.not_trashed().filter(pk__in=conversations)
    is_unread = dict(live_conversations.values_list("pk", "is_unread"))
    unread = [pk for pk in open_ids if is_unread.get(pk)]
    if unread:
        Conversation.objects.filter(pk__in=unread).update(is_unread=False)
    return [pk for pk in conversations if pk not in is_unread]


def _load_state(conversation: UUID) -> tuple[ChatSettings, bool, bool] | None:
    """Return the conversation's settings, whether its owner may change them, and whether a reply is
    streaming in it, or None if the conversation is gone."""
    chat = Conversation.objects.not_trashed().filter(pk=conversation).select_related("user").first()
    if chat is None:
        return None
    settings = ChatSettings.for_conversation(chat)
    return settings, settings.is_readable(chat.user), chat.messages.streaming().exists()
