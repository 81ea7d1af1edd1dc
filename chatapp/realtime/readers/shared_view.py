"""One live shared link in this process: what its readers see of the chat, drawn once for all."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import Error

from chatapp.concurrency.turns import served_person
from chatapp.models import Conversation, Message, SharedChat, ThreadPage
from chatapp.models.sharing import shared_threads
from chatapp.realtime.cluster import Cluster
from chatapp.realtime.generation import Generation
from chatapp.realtime.viewers import Watcher, show_to
from chatapp.rendering import fragments, pool

logger = logging.getLogger(__name__)

TRY_AGAIN_SECONDS = 1.0


class Reader(Watcher, Protocol):
    """A tab that shows a shared chat, of a person or of somebody who isn't signed in."""

    user_id: int | None
    session_key: str

    @property
    def owner(self) -> tuple[str, int]:
        """The owner of the tab: a person, or if nobody is signed in, a network."""

    async def close(self, code: int) -> None: ...


class RunningReplies(Protocol):
    """The replies of this process."""

    def for_conversation(self, conversation: UUID | None) -> list[Generation]: ...


class SharedView(Watcher):
    """Follows a chat for the readers of a link.

    Frames are queued, so that no reply waits for readers.
    """

    write = None

    def __init__(self, link: SharedChat, replies: RunningReplies, cluster: Cluster) -> None:
        self.link = link
        self.conversation: UUID = link.conversation_id
        self.readers: frozenset[Reader] = frozenset()
        self._names = fragments.name_shown_regions(link)
        self._replies = replies
        self._cluster = cluster
        self._head: UUID | None = None  # the last message that readers have, and its ending
        self._ending = ""
        self._drawing = asyncio.Lock()  # so that no older read is queued after a newer one
        self._queue: asyncio.Queue[tuple[frozenset[Reader], str]] = asyncio.Queue()
        self._sending = asyncio.create_task(self._send())

    def close(self) -> None:
        self._cluster.remotes.unfollow(self)
        self._sending.cancel()

    async def show(self, frame: str) -> None:
        """Queue what readers may see of a reply's frame."""
        if visible_frame := fragments.filter_for_readers(frame, self._names):
            self._post(self.readers, visible_frame)

    async def join(self, reader: Reader, head: UUID | None, ending: str) -> None:
        """Send a reader what their page, which ends with this message, lacks, and what follows."""
        async with self._drawing:
            page = await self._load()
            if not self.readers:
                self._head, self._ending = page.head.pk if page.head else None, page.ending
            missing = page.since(head, ending)
            html = await _draw_page(missing, self.link)
            self.readers |= {reader}
            if missing.thread or missing.beside:
                only_them: frozenset[Reader] = frozenset({reader})
                self._post(only_them, fragments.shared_thread_fragment(missing, html))
            # The title may have changed since the page was drawn.
            title = fragments.shared_title_fragment(self.link.conversation.title)
            self._post(frozenset({reader}), title)
            await self._follow(page, frozenset({reader}))

    def leave(self, reader: Reader) -> None:
        self.readers -= {reader}

    async def catch_up(self, *, redraw: bool = False) -> None:
        """Send all readers what is new in the chat, or all of it."""
        async with self._drawing:
            while self.readers:
                try:
                    page = await self._load()
                    break
                except Error as error:
                    logger.info("Readers are updated when the database is back: %s", error)
                    await asyncio.sleep(TRY_AGAIN_SECONDS)
            else:
                return
            missing = page if redraw else page.since(self._head, self._ending)
            self._head, self._ending = page.head.pk if page.head else None, page.ending
            if missing.thread or missing.beside or redraw:
                html = await _draw_page(missing, self.link)
                self._post(self.readers, fragments.shared_thread_fragment(missing, html))
            await self._follow(page, self.readers)

    async def show_title(self) -> None:
        """Send all readers the chat's title, unless the chat is in the trash."""
        async with self._drawing:
            title = await database_sync_to_async(_load_title)(self.conversation)
            if title:
                self._post(self.readers, fragments.shared_title_fragment(title))

    async def _load(self) -> ThreadPage:
        page: ThreadPage = await database_sync_to_async(_load_newest)(self.link)
        return page

    async def _follow(self, page: ThreadPage, readers: frozenset[Reader]) -> None:
        """Queue snapshots of the replies that run here, and ask other processes for theirs."""
        for generation in self._replies.for_conversation(self.conversation):
            if page.runs(generation.message.pk):
                await generation.flush()
                snapshot = generation.shared_snapshot()
                self._post(readers, fragments.filter_for_readers(snapshot, self._names))
        for reply in _find_remote(page.streaming, self._cluster.bus.worker):
            assert reply.streamed_by
            self._cluster.remotes.follow(self, self.conversation, reply.pk, reply.streamed_by)

    def _post(self, readers: frozenset[Reader], frame: str) -> None:
        if readers and frame:
            self._queue.put_nowait((readers, frame))

    async def _send(self) -> None:
        while True:
            readers, frame = await self._queue.get()
            with suppress(Exception):  # a failing reader must not hold up the others
                await show_to(readers & self.readers, frame)


def _load_newest(link: SharedChat) -> ThreadPage:
    conversation = Conversation.objects.select_related("user").get(pk=link.conversation_id)
    link.conversation = conversation
    return shared_threads.newest(link)


def _load_title(conversation: UUID) -> str:
    conversations = Conversation.objects.not_trashed().filter(pk=conversation)
    return conversations.values_list("title", flat=True).first() or ""


def _find_remote(replies: Sequence[Message], here: UUID) -> list[Message]:
    return [reply for reply in replies if reply.streamed_by not in (None, here)]


async def _draw_page(page: ThreadPage, link: SharedChat) -> str:
    served_person.set(link.user_id)  # whose chat it is
    get_html = await pool.arender_texts(fragments.collect_texts(page.visible_messages))
    return await asyncio.to_thread(fragments.shared_html, page.visible_messages, get_html, link)
