"""Reads and draws a part of a conversation for a tab, in step with the replies that run in it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import OperationalError

from chatapp.models import Conversation, ThreadPage
from chatapp.realtime.generation import Generation
from chatapp.realtime.viewers import Viewer
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments, pool
from chatapp.sessions import validity

Select = Callable[[Conversation], ThreadPage]


class LoadedThread(NamedTuple):
    """A part of a conversation, its HTML, and the replies that ran meanwhile."""

    conversation: Conversation
    page: ThreadPage
    parts: fragments.ThreadParts
    running: Sequence[Generation]
    used_tokens: int | None  # if something was left out since the last reply, perhaps


async def load_thread(viewer: Viewer, conversation: UUID, select: Select) -> LoadedThread:
    """Read and draw the selected part of a conversation. Raises `Refused` and `NotSignedIn`.

    Reads and draws again if the tab was shown something else meanwhile, since messages that only
    follow the old ones would appear below another branch; and if the conversation was renamed or
    deleted meanwhile, since the tab would show the old state.
    """
    replies, showing = worker().replies, worker().viewers.showing(conversation)
    while True:
        running, begun_count, changes = (
            replies.for_conversation(conversation),
            replies.begun,
            showing.changes,
        )
        head = viewer.head
        loaded_conversation, page, used_tokens = await _load(viewer, conversation, select)
        parts = await draw_thread(page, running)
        # A reply that was stored but not running may have run and ended meanwhile.
        may_have_run = page.streaming and not running and replies.begun != begun_count
        is_unchanged = viewer.head == head and showing.changes == changes
        if is_unchanged and replies.for_conversation(conversation) == running and not may_have_run:
            return LoadedThread(loaded_conversation, page, parts, running, used_tokens)


async def _load(
    viewer: Viewer, conversation: UUID, select: Select
) -> tuple[Conversation, ThreadPage, int | None]:
    if not worker().database_answers:
        raise OperationalError("it did not respond a second ago")

    def load() -> tuple[Conversation, ThreadPage, int | None]:
        person = validity.get_person(viewer.session_key)
        own_conversation = person.conversations.not_trashed().get_not_trashed(conversation)
        if own_conversation.mark_read():
            worker().list_changed(person.pk)
        page = select(own_conversation)
        end = page.end.pk if page.end else None
        return (
            own_conversation,
            page,
            own_conversation.sent_tokens(end) if own_conversation.cut_changes else None,
        )

    loaded: tuple[Conversation, ThreadPage, int | None] = await database_sync_to_async(load)()
    return loaded


async def draw_thread(
    page: ThreadPage, running: Sequence[Generation] = ()
) -> fragments.ThreadParts:
    """Draw a conversation except for the replies that run in it, without blocking the event loop.

    A reply that has ended meanwhile is drawn as it was saved.
    """
    live = {generation.reply for generation in running if page.runs(generation.reply)}
    texts = fragments.collect_texts(
        message for message in page.visible_messages if message.pk not in live
    )
    html_of = await pool.arender_texts(texts)
    return await asyncio.to_thread(fragments.ThreadParts.of, page, html_of, live)
