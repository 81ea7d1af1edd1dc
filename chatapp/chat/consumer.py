"""The tab's socket: JSON of a form's fields in, HTML frames out.

`receive` only starts things; replies run in tasks of their own, so that a tab's close is seen at
once. A socket that is to be closed takes no action any more, and one that sends too many is closed.
"""

import logging
from contextlib import suppress
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from channels.consumer import get_handler_name
from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import Error

from chatapp import frames
from chatapp.access import sessions
from chatapp.access.origins import is_own_host, is_own_origin
from chatapp.access.pace import allowances
from chatapp.access.sessions import NotSignedIn
from chatapp.chat.actions import ACTIONS, Actions
from chatapp.chat.fields import Fields, fields_of
from chatapp.chat.screen import Screen
from chatapp.close_codes import CloseCode
from chatapp.fairness.allowance import Allowance
from chatapp.models import Refused, User
from chatapp.viewers import WRITE, Write
from chatapp.worker import worker

logger = logging.getLogger(__name__)

CLOSE_FRAME_CODES = (1000, 1001)
REVOKED = (CloseCode.SIGNED_OUT, CloseCode.DEACTIVATED)
BURST_SECONDS = 5.0  # of a socket's average, that may come at once
TOO_MUCH = "That was too much at once. Wait a moment and try again; your text is kept."
NO_DATABASE = "The database can't be reached. Your text is kept: send it again in a moment."
WENT_WRONG = "Something went wrong. Your text is kept: send it again, or reload the page."


class NotLetIn(Exception):
    """A socket is closed before it is open; its code says why, where its page may know."""

    def __init__(self, code: CloseCode | None = None) -> None:
        super().__init__(code)
        self.code = code


class ChatConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One browser tab."""

    channel_layer_alias = ""  # its process has a channel for all tabs
    user_id = 0
    head: UUID | None = None  # the last message that it shows
    shows_end = True
    _is_closed = False

    def __init__(self) -> None:
        super().__init__()
        self._screen = Screen(self)
        self._actions = Actions(self, self._screen)
        average = settings.CHATAPP_ACTIONS_PER_SECOND
        self._allowance = Allowance(average, BURST_SECONDS * average)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # Where it failed, or was ended since it took too long after its socket's end.
            self._leave(by_hand=False)

    async def connect(self) -> None:
        changes = worker().revocation.asked
        try:
            self.user_id = (await self._person()).pk
            self._refuse_for_now()
        except NotLetIn as why:
            if why.code is CloseCode.DEACTIVATED:  # or its page could not tell that from a sign-out
                await self.accept()
            await self.close(why.code)
            return
        await self.accept()
        if worker().viewers.of(self.user_id) >= settings.CHATAPP_TABS_PER_PERSON:
            await self.close(CloseCode.TOO_MANY_TABS)
            return
        await worker().welcome(self)
        if worker().revocation.asked != changes:  # before it was known here
            worker().revocation.look_again_at([self.user_id])
        query = dict(parse_qsl(self.scope["query_string"].decode("latin-1")))
        if query.get("conversation"):
            await self._act("watch", query)

    async def dispatch(self, message: dict[str, Any]) -> None:
        # Not Channels' own, which first waits for the database thread: a close must not wait.
        if message["type"] == "websocket.disconnect":
            by_hand = message.get("code") in CLOSE_FRAME_CODES
            self._leave(by_hand=by_hand)
            # Nor the handler, which has the database's thread look after each socket that ends.
            raise StopConsumer
        await getattr(self, get_handler_name(message))(message)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Acts on a form's fields; whatever else comes gets a sentence."""
        if self._is_closed:
            return
        fields = fields_of(text_data or "")
        await self._act(str(fields.get("action")), fields)

    async def close(self, code: int | None = None, reason: str | None = None) -> None:
        self._is_closed = True
        if code in REVOKED:  # nobody may come back for what streams
            worker().leave(self, 0)
        await super().close(None if code is None else int(code), reason)  # autobahn wants no enum

    @cached_property
    def write(self) -> Write | None:
        """The way straight to the socket, which a server may offer."""
        write: Write | None = self.scope.get("extensions", {}).get(WRITE)
        return write

    async def show(self, frame: str) -> None:
        if self.write:  # which takes a fifth of the way by Channels and Daphne
            self.write(frame)
            return
        # Daphne raises where the socket is gone and `disconnect` not here yet.
        with suppress(RuntimeError):
            await self.base_send({"type": "websocket.send", "text": frame})

    async def catch_up(self, conversation: UUID, *, anew: bool = False) -> None:
        """Draws the conversation as the database has it now, where the tab still shows it: what is
        new in it, or all of it `anew`."""
        await (self._screen.redraw if anew else self._screen.catch_up)(conversation)

    @property
    def session_key(self) -> str:
        key: str = self.scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")
        return key

    async def _person(self) -> User:
        """Who opens the socket, from a page of ours; raises `NotLetIn`."""
        if not (is_own_host(self.scope) and is_own_origin(self.scope)):
            raise NotLetIn
        try:
            person: User = await database_sync_to_async(sessions.person_of)(self.session_key)
        except NotSignedIn as why:
            raise NotLetIn(why.code if why.code is CloseCode.DEACTIVATED else None) from None
        except Error as error:
            logger.warning("A socket is refused, since the database failed: %s", error)
            raise NotLetIn(CloseCode.TRY_AGAIN_LATER) from None
        return person

    def _refuse_for_now(self) -> None:
        """Raises `NotLetIn` where the person opens too many, or another process is better."""
        if allowances[self.user_id].take() < 0:
            raise NotLetIn(CloseCode.FLOOD)
        if worker().draining.sends_viewers_away:
            raise NotLetIn(CloseCode.RESTARTING)

    def _leave(self, *, by_hand: bool) -> None:
        self._is_closed = True
        self._screen.close()
        grace = settings.CHATAPP_CLOSE_GRACE if by_hand else settings.CHATAPP_DROP_GRACE
        worker().leave(self, grace)

    async def _act(self, action: str, fields: Fields) -> None:
        try:
            await self._take_allowance(action)
            await self._actions.take(action, fields)
        except Refused as refused:
            await self._tell(str(refused), fields)
        except NotSignedIn as why:
            await self._tell(str(why), fields)
            await self.close(why.code)
        except Error as error:
            logger.error("The database failed on %s: %s", action[:20], error)
            await self._tell(NO_DATABASE, fields)
        except Exception:  # one action's, for which the tab is not given up
            logger.exception("An action failed: %s", action[:20])
            await self._tell(WENT_WRONG, fields)

    async def _take_allowance(self, action: str) -> None:
        """Raises `Refused` where there were too many actions; Stop is refused to nobody."""
        left = self._allowance.take()
        if left < -BURST_SECONDS * settings.CHATAPP_ACTIONS_PER_SECOND:
            logger.warning("A socket is closed, since it sends without end")
            await self.close(CloseCode.FLOOD)
        known = ACTIONS.get(action)
        if known and known.is_always_taken and not self._is_closed:
            return
        if left < 0 or allowances[self.user_id].take() < 0:
            raise Refused(TOO_MUCH)

    async def _tell(self, problem: str, fields: Fields) -> None:
        """Says what is wrong; the page gives the prompt's text back that it names."""
        prompt = None
        with suppress(ValueError):
            prompt = UUID(str(fields.get("prompt")))
        await self.show(frames.problem_frame(problem, prompt))
