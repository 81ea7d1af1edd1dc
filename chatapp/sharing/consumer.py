"""The WebSocket of a reader of a live shared chat. It only listens: any message closes it.

The page's heartbeat is answered by the server's protocol before it gets here.
"""

import logging
from contextlib import suppress
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

from channels.consumer import get_handler_name
from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import Error

from chatapp.chat.queries import parse_uuid
from chatapp.close_codes import CloseCode
from chatapp.models import Conversation, SharedChat
from chatapp.realtime.viewers import WRITE, Write
from chatapp.realtime.worker import worker
from chatapp.sessions import validity
from chatapp.sessions.networks import network_number
from chatapp.sessions.origins import is_own_host, is_own_origin
from chatapp.sessions.rate_limits import allowances
from chatapp.sessions.validity import NotSignedIn
from chatapp.sharing.access import misses

logger = logging.getLogger(__name__)

MAX_READERS = 5000  # in this process
MAX_OF_NETWORK = 1000  # of these, without an account: a whole school may have one address
MAX_ENDING_LENGTH = 200


class TooManyLinks(Exception):
    """Somebody who isn't signed in tries too many links."""


class ReaderConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One tab of a reader."""

    channel_layer_alias = ""  # unused: the process has one channel for all its tabs
    user_id: int | None = None
    _is_closed = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()

    async def connect(self) -> None:
        if not (is_own_host(self.scope) and is_own_origin(self.scope)):
            await self.close()
            return
        checks = worker().readers.requested
        try:
            link = await self._link()
        except TooManyLinks:
            await self.close(CloseCode.FLOOD)
            return
        except Error as error:
            logger.warning("Rejected a reader because the database failed: %s", error)
            await self.close(CloseCode.TRY_AGAIN_LATER)
            return
        # The browser sees code 1006 for a rejected handshake, so accept first to send a code.
        await self.accept()
        if link is None or not link.is_live:
            await self.close(CloseCode.NOT_SHARED)
        elif self._has_too_many():
            await self.close(CloseCode.TOO_MANY_TABS)
        elif worker().draining.has_begun:
            await self.close(CloseCode.RESTARTING)
        else:
            query = dict(parse_qsl(self.scope["query_string"].decode("latin-1")))
            ending = query.get("ending", "")[:MAX_ENDING_LENGTH]
            await self._join(link, query.get("head", ""), ending, checks)

    async def dispatch(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.disconnect":
            self._leave()
            raise StopConsumer
        await getattr(self, get_handler_name(message))(message)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.close(CloseCode.FLOOD)

    async def close(self, code: int | None = None, reason: str | None = None) -> None:
        self._leave()
        await super().close(None if code is None else int(code), reason)  # autobahn takes no enum

    @cached_property
    def write(self) -> Write | None:
        """A function that writes to the socket directly, if the server offers one."""
        write: Write | None = self.scope.get("extensions", {}).get(WRITE)
        return write

    async def show(self, frame: str) -> None:
        if self._is_closed:
            return
        if self.write:
            self.write(frame)
            return
        with suppress(RuntimeError):  # the socket is gone and `disconnect` has not arrived yet
            await self.base_send({"type": "websocket.send", "text": frame})

    @property
    def session_key(self) -> str:
        key: str = self.scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")
        return key

    @property
    def owner(self) -> tuple[str, int]:
        if self.user_id is None:
            return "network", self._network
        return "person", self.user_id

    @cached_property
    def _network(self) -> int:
        return network_number(str((self.scope.get("client") or [""])[0]))

    async def _link(self) -> SharedChat | None:
        """Return the link if it is open to this reader."""
        token = self.scope["url_route"]["kwargs"]["token"]
        link: SharedChat | None
        link, self.user_id = await database_sync_to_async(_find_link)(token, self.session_key)
        if link is None and self.user_id is None and misses[self._network].take() < 0:
            logger.warning("Too many shared links that are not open were tried by sockets")
            raise TooManyLinks
        return link

    def _has_too_many(self) -> bool:
        readers = worker().readers
        if len(readers) >= MAX_READERS:
            return True
        if self.user_id is None:
            return readers.count_for_owner(self.owner) >= MAX_OF_NETWORK
        is_too_fast = allowances[self.user_id].take() < 0
        return (
            is_too_fast or readers.count_for_owner(self.owner) >= settings.CHATAPP_TABS_PER_PERSON
        )

    async def _join(self, link: SharedChat, head: str, ending: str, checks: int) -> None:
        readers = worker().readers
        try:
            await readers.join(self, link, parse_uuid(head), ending)
        except Conversation.DoesNotExist:  # deleted just now
            await self.close(CloseCode.NOT_SHARED)
            return
        except Error as error:
            logger.warning("Sent a reader away because the database failed: %s", error)
            await self.close(CloseCode.TRY_AGAIN_LATER)
            return
        if self._is_closed:  # while it joined
            readers.leave(self)
        elif readers.requested != checks:  # something changed while it joined
            readers.check({link.pk})

    def _leave(self) -> None:
        self._is_closed = True
        worker().readers.leave(self)


def _find_link(token: str, session_key: str) -> tuple[SharedChat | None, int | None]:
    person = None
    if session_key:
        with suppress(NotSignedIn):
            person = validity.get_person(session_key)
    return SharedChat.find(token, person), person.pk if person else None
