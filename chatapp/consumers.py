"""The tab's socket: JSON of a form's fields in, HTML frames out.

`receive` only starts things; replies run in tasks of their own, so that a tab's close is seen at
once. Every action asks the database anew who is signed in, except Stop, which must work without it.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from asgiref.sync import async_to_sync
from channels.consumer import get_handler_name
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django import forms
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.signals import user_logged_out
from django.contrib.sessions.backends.db import SessionStore
from django.db import Error, OperationalError
from django.dispatch import receiver
from django.http import HttpRequest

from chatapp import frames, metrics, rendering, turns
from chatapp.forms import DecisionForm, PromptForm, RetryForm, WatchForm
from chatapp.generation import (
    RESTARTING,
    SIGNED_OUT,
    Generation,
    RemoteReply,
    generations,
    sign_out,
)
from chatapp.generation.audience import show_to
from chatapp.models import Message, StillStreaming, User
from chatapp.turns import Refused, Turn, View
from chatapp.upstream.reply import Ending

logger = logging.getLogger(__name__)

TRY_AGAIN_LATER = 1013
PROMPT_PATIENCE_SECONDS = 1.0  # that a prompt's formatting may hold up its reply
CLOSE_FRAME_CODES = (1000, 1001)


class ChatConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One browser tab."""

    channel_layer_alias = ""  # its process has a channel for all tabs
    user_id = 0
    head: UUID | None = None  # the last message that it shows

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # Where it failed, or was ended since it took too long after its socket's end.
            self._leave(by_hand=False)

    async def connect(self) -> None:
        try:
            user = await database_sync_to_async(self._user)()
        except Refused:
            user = None
        except Error as error:
            logger.warning("A socket is refused, since the database failed: %s", error)
            await self.close(TRY_AGAIN_LATER)
            return
        if user is None or not is_own_origin(self.scope):
            await self.close()
            return
        if generations().sends_tabs_away:
            await self.close(RESTARTING)
            return
        self.user_id = user.pk
        self.session = _hash_of(self._session_key)
        await self.accept()
        await generations().welcome(self)
        query = dict(parse_qsl(self.scope["query_string"].decode("latin-1")))
        if query.get("conversation"):
            await self._act("watch", query)

    async def dispatch(self, message: dict[str, Any]) -> None:
        # Not Channels' own, which first waits for the database thread: a close must not wait.
        if message["type"] == "websocket.disconnect":
            by_hand = message.get("code") in CLOSE_FRAME_CODES
            self._leave(by_hand=by_hand)
        await getattr(self, get_handler_name(message))(message)

    def _leave(self, *, by_hand: bool) -> None:
        grace = settings.CHATAPP_CLOSE_GRACE if by_hand else settings.CHATAPP_DROP_GRACE
        generations().leave(self, grace)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            fields = json.loads(text_data or "")
        except (ValueError, RecursionError):
            fields = None
        if isinstance(fields, dict):
            await self._act(str(fields.get("action")), fields)
        else:
            await self.show(frames.problem_frame("This page is out of date. Reload it."))

    async def show(self, frame: str) -> None:
        # Daphne raises where the socket is gone and `disconnect` not here yet.
        with suppress(RuntimeError):
            await self.base_send({"type": "websocket.send", "text": frame})

    async def check_session(self) -> None:
        """Closes where nobody is signed in any more."""
        with suppress(Error):
            try:
                await database_sync_to_async(self._user)()
            except Refused:
                await self.close(SIGNED_OUT)

    async def catch_up(self, conversation: UUID) -> None:
        """Draws the conversation as the database has it now, where the tab still shows it."""
        try:
            view = await database_sync_to_async(self._view)(conversation, None)
        except (Refused, Error) as error:
            logger.info("A tab could not be brought up to date: %s", error)
            return
        running = generations().running(conversation)
        thread = await _drawn(view.thread, running)
        if generations().tabs.shown_by(self) == conversation:
            await self._show_thread(view, thread, running)
            self._await_reply(view)
        is_running = view.streaming is not None
        sidebar = frames.sidebar_frame(view.conversation, running=is_running)
        await self.show(sidebar + frames.problem_frame(""))

    @property
    def _session_key(self) -> str:
        key: str = self.scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")
        return key

    async def _act(self, action: str, fields: Mapping[str, Any]) -> None:
        actions = {
            "prompt": self._prompt,
            "retry": self._retry,
            "stop": self._stop,
            "allow": self._allow,
            "deny": self._deny,
            "watch": self._watch,
        }
        try:
            if action not in actions:
                raise Refused("This page is out of date. Reload it.")
            if action != "stop" and not generations().database_answers:
                raise OperationalError("it did not answer a second ago")
            await actions[action](fields)
        except Refused as refused:
            await self.show(frames.problem_frame(str(refused), _uuid(fields.get("prompt"))))
        except StillStreaming:
            text = "A reply is still being written here. Stop it, or wait for its end."
            await self.show(frames.problem_frame(text, _uuid(fields.get("prompt"))))
        except Error as error:
            logger.error("The database failed on %s: %s", action[:20], error)
            text = "The database can't be reached. Your text is kept: send it again in a moment."
            await self.show(frames.problem_frame(text, _uuid(fields.get("prompt"))))
        except Exception:  # one action's, for which the tab is not given up
            logger.exception("An action failed: %s", action[:20])
            text = "Something went wrong. Your text is kept: send it again, or reload the page."
            await self.show(frames.problem_frame(text, _uuid(fields.get("prompt"))))

    async def _prompt(self, fields: Mapping[str, Any]) -> None:
        async with generations().taking_prompt():
            asked = _cleaned(PromptForm(fields))
            asked["model"] = asked["model"] or await self._default_model()
            turn = await database_sync_to_async(self._store)(turns.store_prompt, asked)
            if not turn.is_repeated:
                generations().show(self, turn.conversation.pk)
                self.head = turn.prompt.parent_id
                await self._start(turn)
                return
        await self._watch({"conversation": str(turn.conversation.pk)})

    async def _retry(self, fields: Mapping[str, Any]) -> None:
        async with generations().taking_prompt():
            asked = _cleaned(RetryForm(fields))
            asked["model"] = asked["model"] or await self._default_model()
            turn = await database_sync_to_async(self._store)(turns.store_retry, asked)
            generations().show(self, turn.conversation.pk)
            self.head = None
            await self._start(turn)

    async def _start(self, turn: Turn) -> None:
        """Shows a turn in every tab of its conversation, and lets it stream.

        Most show the branch that it follows. What the others show is drawn once for all of them.
        """
        showing = generations().tabs.showing(turn.conversation.pk)
        at_branch = {tab for tab in showing if tab.head and tab.head == turn.prompt.parent_id}
        if not turn.prompt.parent_id:
            at_branch.add(self)
        around = frames.composer_frame(turn.conversation, turn.reply)
        around += frames.sidebar_frame(turn.conversation, running=True, first=True)
        html_of = await rendering.arendered([turn.prompt.content], PROMPT_PATIENCE_SECONDS)
        following = frames.turn_frame(turn.prompt, turn.reply, html_of)
        thread = await _drawn(turn.thread) if showing - at_branch else None
        whole = frames.thread_frame(thread) if thread else ""
        for tab in showing:
            tab.head = turn.reply.pk
        await show_to(showing & at_branch, following + around)
        await show_to(showing - at_branch, whole + around)
        generations().start(turn.reply, turn.history, self)

    async def _stop(self, fields: Mapping[str, Any]) -> None:
        if running := self._running(fields):
            running.stop(Ending.STOPPED)

    async def _allow(self, fields: Mapping[str, Any]) -> None:
        await self._decide(fields, allowed=True)

    async def _deny(self, fields: Mapping[str, Any]) -> None:
        await self._decide(fields, allowed=False)

    async def _decide(self, fields: Mapping[str, Any], *, allowed: bool) -> None:
        await database_sync_to_async(self._user)()
        running, decision = self._running(fields), _cleaned(DecisionForm(fields))
        if running:
            running.decide(decision["round"], decision["call"], allowed)

    def _running(self, fields: Mapping[str, Any]) -> Generation | RemoteReply | None:
        """The reply that runs in a conversation of this person's, here or elsewhere."""
        conversation = _uuid(fields.get("conversation"))
        running = generations().running(conversation)
        if running and running.message.conversation.user_id == self.user_id:
            return running
        if remote := generations().exchange.remote(conversation, self):
            if not generations().layer_answers:
                raise Refused(
                    "The server that writes this reply can't be heard right now. Try again soon."
                )
            return remote
        return None

    async def _watch(self, fields: Mapping[str, Any]) -> None:
        """Shows a conversation in this tab, and brings the page up to date where it is behind."""
        if not fields.get("conversation"):
            generations().show(self, None)
            return
        seen = _cleaned(WatchForm(fields))
        conversation = seen["conversation"]
        while True:
            running = generations().running(conversation)
            view = await database_sync_to_async(self._view)(conversation, seen["head"])
            head = view.head
            is_behind = head and (head.pk, head.ending) != (seen["head"], seen["ending"])
            thread = await _drawn(view.thread, running) if is_behind else None
            if generations().running(conversation) is running:
                break
        if thread:
            await self._show_thread(view, thread, running)
        elif running:
            metrics.snapshots.labels("join").inc()
            await self.show(await running.snapshot())
        self.head = head.pk if head else None
        generations().show(self, conversation)
        self._await_reply(view)

    async def _show_thread(
        self, view: View, thread: frames.ThreadParts, running: Generation | None
    ) -> None:
        """Shows a drawn conversation in this tab, and readies the composer for what may follow."""
        if view.head:
            self.head = view.head.pk
            frame = frames.thread_frame(thread, running.live.view() if running else None)
            await self.show(frame + frames.composer_frame(view.conversation, view.head))

    def _await_reply(self, view: View) -> None:
        """Awaits the reply that another process writes in the conversation, where one does."""
        reply = view.streaming
        if reply and reply.streamed_by not in (None, generations().process):
            conversation = view.conversation.pk
            generations().exchange.watch(self, conversation, reply.pk, reply.streamed_by)

    async def _default_model(self) -> tuple[int, str]:
        for offer in await generations().catalogue.offers():
            if offer.models:
                return offer.upstream.pk, offer.models[0]
        raise Refused("No model is available. An administrator can connect an upstream.")

    def _user(self) -> User:
        """Who is signed in on this tab's session now, whatever it was when the tab connected."""
        session = SessionStore(self._session_key)
        user = get_user(SimpleNamespace(session=session))  # type: ignore[arg-type]
        if not isinstance(user, User):
            raise Refused("You are signed out. Sign in again in another tab; your text is kept.")
        return user

    def _store(self, store: Callable[..., Turn], asked: dict[str, Any]) -> Turn:
        here = None if generations().is_draining else generations().process
        return store(self._user(), asked, here)

    def _view(self, conversation: UUID, head: UUID | None) -> View:
        return turns.view(self._user(), conversation, head)


async def _drawn(messages: list[Message], running: Generation | None = None) -> frames.ThreadParts:
    """A conversation, all but the reply that runs in it, drawn while others have their turn."""
    live = running.message.pk if running else None
    texts = frames.texts_of(message for message in messages if message.pk != live)
    html_of = await rendering.arendered(texts)
    return await asyncio.to_thread(frames.ThreadParts.of, messages, html_of, live)


def _cleaned(form: forms.Form) -> dict[str, Any]:
    if not form.is_valid():
        raise Refused(next(iter(form.errors.values()))[0])
    return form.cleaned_data


def _uuid(value: object) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None


def is_own_origin(scope: Mapping[str, Any]) -> bool:
    """Whether the page that opens the socket is ours: browsers always send its Origin."""
    headers = dict(scope["headers"])
    origin = headers.get(b"origin", b"").decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1")
    scheme = "https" if scope.get("scheme") == "wss" else "http"
    return origin in settings.CSRF_TRUSTED_ORIGINS or origin == f"{scheme}://{host}"


def _hash_of(session_key: str) -> str:
    return sha256(session_key.encode()).hexdigest()


@receiver(user_logged_out)
def close_tabs_of_session(request: HttpRequest, user: User | None, **_kwargs: object) -> None:
    """A tab's socket does not outlive the session that it was opened with."""
    if user and request.session.session_key:
        async_to_sync(sign_out)(user.pk, _hash_of(request.session.session_key))
