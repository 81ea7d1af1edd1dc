"""The WebSocket of one browser tab: JSON objects with a form's fields in, HTML frames out.

`receive` only starts work; replies run in their own tasks, so a closed tab is noticed at once.
A socket that is closing takes no more actions, and one that sends too many is closed.
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

from chatapp.chat.actions import ACTIONS, Actions
from chatapp.chat.fields import Fields, parse_fields
from chatapp.chat.thread_sync import ThreadSync
from chatapp.close_codes import CloseCode
from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.concurrency.turns import served_person
from chatapp.models import Refused, User
from chatapp.models.refusals import OverLimit
from chatapp.realtime.viewers import WRITE, Write
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments
from chatapp.sessions import validity
from chatapp.sessions.origins import is_own_host, is_own_origin
from chatapp.sessions.rate_limits import allowances
from chatapp.sessions.validity import NotSignedIn

logger = logging.getLogger(__name__)

CLOSE_FRAME_CODES = (1000, 1001)
REVOKED = (CloseCode.SIGNED_OUT, CloseCode.DEACTIVATED)
BURST_SECONDS = 5.0  # a burst may hold this many seconds' worth of the average rate
TOO_MUCH = "You are doing that too often. Wait a moment and try again. Your text is kept."
NO_DATABASE = "The database can't be reached. Your text is kept. Send it again in a moment."
WENT_WRONG = "Something went wrong. Your text is kept. Send it again, or reload the page."


class ConnectionRejected(Exception):
    """The socket must be closed during connect; `code` is None if the page may not know why."""

    def __init__(self, code: CloseCode | None = None) -> None:
        super().__init__(code)
        self.code = code


class ChatConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One browser tab."""

    channel_layer_alias = ""  # unused: the process has one channel for all its tabs
    user_id = 0
    head: UUID | None = None  # the last message shown
    shows_end = True
    _is_closed = False

    def __init__(self) -> None:
        super().__init__()
        self._thread_sync = ThreadSync(self)
        self._actions = Actions(self, self._thread_sync)
        average = settings.CHATAPP_ACTIONS_PER_SECOND
        self._allowance = TokenBucket(average, BURST_SECONDS * average)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # Reached too if the consumer failed, or was cancelled for outliving its socket.
            self._leave(had_close_frame=False)

    async def connect(self) -> None:
        changes = worker().revocation.requested
        try:
            self.user_id = (await self._authenticate()).pk
            served_person.set(self.user_id)
            self._check_capacity()
        except ConnectionRejected as rejection:
            if rejection.code is CloseCode.DEACTIVATED:
                # The browser sees code 1006 for a rejected handshake, which its page takes for a
                # sign-out, so accept first to send a code it can read.
                await self.accept()
            await self.close(rejection.code)
            return
        await self.accept()
        if worker().viewers.count_for_user(self.user_id) >= settings.CHATAPP_TABS_PER_PERSON:
            await self.close(CloseCode.TOO_MANY_TABS)
            return
        await worker().welcome(self)
        if (
            worker().revocation.requested != changes
        ):  # a revocation arrived before this tab was added
            worker().revocation.recheck_access([self.user_id])
        query = dict(parse_qsl(self.scope["query_string"].decode("latin-1")))
        if query.get("conversation"):
            await self._act("watch", query)

    async def dispatch(self, message: dict[str, Any]) -> None:
        # Channels' own dispatch waits for the database thread first. A close must not wait.
        if message["type"] == "websocket.disconnect":
            self._leave(had_close_frame=message.get("code") in CLOSE_FRAME_CODES)
            # Channels' handler would also use the database thread, for every socket that ends.
            raise StopConsumer
        await getattr(self, get_handler_name(message))(message)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Run the action that the fields name, or show an error if there is no such action."""
        if self._is_closed:
            return
        fields = parse_fields(text_data or "")
        await self._act(str(fields.get("action")), fields)

    async def close(self, code: int | None = None, reason: str | None = None) -> None:
        self._is_closed = True
        if code in REVOKED:  # the person can't return to the running replies, so no grace period
            worker().leave(self, 0)
        await super().close(None if code is None else int(code), reason)  # autobahn takes no enum

    @cached_property
    def write(self) -> Write | None:
        """A function that writes to the socket directly, if the server offers one."""
        write: Write | None = self.scope.get("extensions", {}).get(WRITE)
        return write

    async def show(self, frame: str) -> None:
        if self.write:  # takes a fifth of the time of the path through Channels and Daphne
            self.write(frame)
            return
        # Daphne raises if the socket is gone and `disconnect` has not arrived yet.
        with suppress(RuntimeError):
            await self.base_send({"type": "websocket.send", "text": frame})

    async def catch_up(self, conversation: UUID, *, redraw: bool = False) -> None:
        """Show what is new in the conversation, or all of it (`redraw`), if the tab shows it."""
        await (self._thread_sync.redraw if redraw else self._thread_sync.catch_up)(conversation)

    @property
    def session_key(self) -> str:
        key: str = self.scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")
        return key

    async def _authenticate(self) -> User:
        """Return the signed-in user.

        Raises `ConnectionRejected`, also if the socket was not opened by one of our own pages.
        """
        if not (is_own_host(self.scope) and is_own_origin(self.scope)):
            raise ConnectionRejected
        try:
            person: User = await database_sync_to_async(validity.get_person)(self.session_key)
        except NotSignedIn as error:
            code = error.code if error.code is CloseCode.DEACTIVATED else None
            raise ConnectionRejected(code) from None
        except Error as error:
            logger.warning("Rejected a socket because the database failed: %s", error)
            raise ConnectionRejected(CloseCode.TRY_AGAIN_LATER) from None
        return person

    def _check_capacity(self) -> None:
        """Raise `ConnectionRejected` if the user opens too many sockets or this process drains."""
        if allowances[self.user_id].take() < 0:
            raise ConnectionRejected(CloseCode.FLOOD)
        if worker().draining.sends_viewers_away:
            raise ConnectionRejected(CloseCode.RESTARTING)

    def _leave(self, *, had_close_frame: bool) -> None:
        self._is_closed = True
        self._thread_sync.close()
        grace = settings.CHATAPP_CLOSE_GRACE if had_close_frame else settings.CHATAPP_DROP_GRACE
        worker().leave(self, grace)

    async def _act(self, action: str, fields: Fields) -> None:
        try:
            await self._check_rate(action)
            await self._actions.run(action, fields)
        except Refused as refused:
            over_limit = refused if isinstance(refused, OverLimit) else None
            await self._show_problem(str(refused), fields, over_limit)
        except NotSignedIn as error:
            await self._show_problem(str(error), fields)
            await self.close(error.code)
        except Error as error:
            logger.error("The database failed during %s: %s", action[:20], error)
            await self._show_problem(NO_DATABASE, fields)
        except Exception:  # a bug in one action must not cost the person their tab
            logger.exception("The action %s failed", action[:20])
            await self._show_problem(WENT_WRONG, fields)

    async def _check_rate(self, action: str) -> None:
        """Raise `Refused` if there were too many actions. Stop is always allowed."""
        left = self._allowance.take()
        if left < -BURST_SECONDS * settings.CHATAPP_ACTIONS_PER_SECOND:
            logger.warning("Closed a socket that kept sending actions after it was refused")
            await self.close(CloseCode.FLOOD)
        known_action = ACTIONS.get(action)
        if known_action and known_action.is_always_allowed and not self._is_closed:
            return
        if left < 0 or allowances[self.user_id].take() < 0:
            raise Refused(TOO_MUCH)

    async def _show_problem(
        self, problem: str, fields: Fields, over_limit: OverLimit | None = None
    ) -> None:
        """Show the problem and name the prompt, so that the page can restore its text."""
        prompt = None
        with suppress(ValueError):
            prompt = UUID(str(fields.get("prompt")))
        await self.show(fragments.problem_fragment(problem, prompt, over_limit))
