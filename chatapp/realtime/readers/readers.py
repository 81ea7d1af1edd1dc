"""The readers of live shared chats in this process, and whether they may go on reading.

Whatever may have changed that is only a reason to ask the database: about their link, its audience,
their account and their session. In addition, everybody is checked once a minute and when a link
expires.
"""

import asyncio
import logging
from collections.abc import Collection, Coroutine
from contextvars import Context
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import Error

from chatapp import metrics
from chatapp.close_codes import CloseCode
from chatapp.models import SharedChat, User
from chatapp.realtime.cluster import Cluster
from chatapp.realtime.readers.shared_view import Reader, RunningReplies, SharedView
from chatapp.realtime.viewers import Viewers
from chatapp.sessions import validity

logger = logging.getLogger(__name__)

POLL_SECONDS = 45.0  # between checks of everybody, which end within the minute
EXPIRY_SECONDS = 0.1  # after it, the database agrees that a link has expired
TRY_AGAIN_SECONDS = 1.0


class Readers:
    def __init__(self, viewers: Viewers, replies: RunningReplies, cluster: Cluster) -> None:
        self.requested = 0  # number of requested checks
        self._viewers = viewers
        self._replies = replies
        self._cluster = cluster
        self._views: dict[UUID, SharedView] = {}  # by the link's primary key
        self._places: dict[Reader, SharedView] = {}
        self._due: set[UUID] = set()  # links to be checked
        self._checking: asyncio.Task[None] | None = None
        self._timers: dict[UUID, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        metrics.readers.set_function(self.__len__)

    def __len__(self) -> int:
        return len(self._places)

    def count_for_owner(self, owner: tuple[str, int]) -> int:
        """Return how many tabs of an owner read shared chats here."""
        return sum(reader.owner == owner for reader in self._places)

    async def join(self, reader: Reader, link: SharedChat, head: UUID | None, ending: str) -> None:
        """Show the link's chat to a reader from now on."""
        if view := self._views.get(link.pk):
            self._places[reader] = view
        else:
            view = self._views[link.pk] = SharedView(link, self._replies, self._cluster)
            self._places[reader] = view  # before others can leave, or the view would be dropped
            self._viewers.follow(view, link.conversation_id)
            self._expire(link)
            await self._cluster.bus.subscribe(link.user_id)
        if reader in self._places:  # it has not left meanwhile
            await view.join(reader, head, ending)

    def leave(self, reader: Reader) -> None:
        view = self._places.pop(reader, None)
        if view is None:
            return
        view.leave(reader)
        if not view.readers and view not in self._places.values():  # others may be joining
            self._close_view(view)

    def catch_up(self, conversation: UUID, *, redraw: bool = False) -> None:
        """Show readers what is new in the conversation, or all of it."""
        for view in self._views.values():
            if view.conversation == conversation:
                self._start(view, view.catch_up(redraw=redraw))

    def show_title(self, conversation: UUID) -> None:
        """Show readers the conversation's title of now."""
        for view in self._views.values():
            if view.conversation == conversation:
                self._start(view, view.show_title())

    def check_conversation(self, conversation: UUID) -> None:
        self.check({pk for pk, view in self._views.items() if view.conversation == conversation})

    def check_owner(self, user: int) -> None:
        """Check the links of a person's chats."""
        self.check({pk for pk, view in self._views.items() if view.link.user_id == user})

    def check(self, links: Collection[UUID] | None = None) -> None:
        """Close readers of these links, or of all, who may no longer read them. Returns at once."""
        self.requested += 1
        self._due |= set(self._views if links is None else links)
        if self._due and (self._checking is None or self._checking.done()):
            self._checking = asyncio.create_task(self._check(), context=Context())

    async def run(self) -> None:
        """Check everybody once a minute, until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            self.check()

    async def until_checked(self) -> None:
        """Wait until all requested checks are done."""
        if self._checking:
            await self._checking

    async def close_all(self) -> None:
        """Let readers reconnect to another process, because this one is stopping."""
        for reader in list(self._places):
            await reader.close(CloseCode.RESTARTING)
            self.leave(reader)
        for task in (*self._tasks, *filter(None, [self._checking])):
            task.cancel()

    async def _check(self) -> None:
        while self._due:
            due, self._due = self._due, set()
            try:
                for link in due:
                    if view := self._views.get(link):
                        await self._check_view(view)
            except Error as error:
                logger.info("Readers are checked when the database is back: %s", error)
                self._due |= due
                await asyncio.sleep(TRY_AGAIN_SECONDS)

    async def _check_view(self, view: SharedView) -> None:
        readers = list(view.readers)
        people = {tab.session_key: tab.user_id for tab in readers if tab.user_id is not None}
        allowed_keys = await database_sync_to_async(_find_allowed_keys)(view.link, people)
        for reader in readers:
            if (reader.session_key if reader.user_id is not None else None) not in allowed_keys:
                self.leave(reader)
                try:
                    await reader.close(CloseCode.NOT_SHARED)
                except Exception:  # a failing tab must not keep the others open
                    logger.exception("Could not close a reader's tab")

    def _expire(self, link: SharedChat) -> None:
        if link.expires_at:
            seconds, loop = link.seconds_left + EXPIRY_SECONDS, asyncio.get_running_loop()
            self._timers[link.pk] = loop.call_later(seconds, self.check, {link.pk})

    def _close_view(self, view: SharedView) -> None:
        del self._views[view.link.pk]
        if timer := self._timers.pop(view.link.pk, None):
            timer.cancel()
        self._viewers.unfollow(view)
        self._cluster.bus.unsubscribe(view.link.user_id)
        view.close()

    def _start(self, view: SharedView, update: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(self._update(view, update), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _update(self, view: SharedView, update: Coroutine[None, None, None]) -> None:
        try:
            await update
        except Exception:  # such as a chat deleted meanwhile
            logger.info("Readers of a shared chat could not be updated", exc_info=True)
            self.check({view.link.pk})


def _find_allowed_keys(link: SharedChat, people: dict[str, int]) -> set[str | None]:
    """Return the session keys of those who may read the link; None for people not signed in."""
    allowed_keys: set[str | None] = set()
    unchanged = SharedChat.objects.filter(pk=link.pk, digest=link.digest)
    if unchanged.open_to(None).exists():
        allowed_keys |= {None, *people}
        return allowed_keys
    check = validity.check_access((), people)
    users = User.objects.filter(is_active=True).in_bulk(list(set(people.values())))
    open_to = {pk for pk, user in users.items() if unchanged.open_to(user).exists()}
    return {key for key, pk in people.items() if pk in open_to and key not in check.ended_sessions}
