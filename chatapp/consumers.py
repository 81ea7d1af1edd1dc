"""The tab's socket: JSON of a form's fields in, HTML frames out.

`receive` only starts things; replies run in tasks of their own, so that a tab's close is seen at
once. Every action asks the database anew who is signed in, except Stop, which must work without it.
A socket that is to be closed takes no action any more, and one that sends too many is closed.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from channels.consumer import get_handler_name
from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django import forms
from django.conf import settings
from django.db import Error, OperationalError

from chatapp import frames, metrics, rendering, sessions, turns
from chatapp.allowance import Allowance
from chatapp.close_codes import CloseCode
from chatapp.forms import DecisionForm, PromptForm, RetryForm, WatchForm, fields_of
from chatapp.generation import Generation, RemoteReply, Tab, generations, stored
from chatapp.generation.audience import show_to
from chatapp.idle_sessions import use_by_key
from chatapp.models import Message, StillStreaming
from chatapp.origins import is_own_host, is_own_origin
from chatapp.sessions import NotSignedIn
from chatapp.turns import Refused, Turn, View
from chatapp.upstream.reply import Ending

logger = logging.getLogger(__name__)

PROMPT_PATIENCE_SECONDS = 1.0  # that a prompt's formatting may hold up its reply
CLOSE_FRAME_CODES = (1000, 1001)
BURST_SECONDS = 5.0  # of a socket's average, that may come at once
WATCH_AGAIN_SECONDS = 1.0  # between drawings of the same for the same socket
TOO_MUCH = "That was too much at once. Wait a moment and try again; your text is kept."


class ChatConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One browser tab."""

    channel_layer_alias = ""  # its process has a channel for all tabs
    user_id = 0
    head: UUID | None = None  # the last message that it shows
    _is_closed = False
    _watched: tuple[dict[str, Any], float] | None = None  # what was drawn last, and when
    _watching_again: asyncio.TimerHandle | None = None
    _drawing: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # Where it failed, or was ended since it took too long after its socket's end.
            self._leave(by_hand=False)

    async def connect(self) -> None:
        if not (is_own_host(self.scope) and is_own_origin(self.scope)):
            await self.close()
            return
        changes = generations().revocation.asked
        try:
            user = await database_sync_to_async(sessions.person_of)(self.session_key)
        except NotSignedIn:
            await self.close()
            return
        except Error as error:
            logger.warning("A socket is refused, since the database failed: %s", error)
            await self.close(CloseCode.TRY_AGAIN_LATER)
            return
        self.user_id = user.pk
        self._allowance = _allowance_of_a_socket()
        if generations().allowances[self.user_id].take() < 0:
            await self.close(CloseCode.FLOOD)
            return
        if generations().sends_tabs_away:
            await self.close(CloseCode.RESTARTING)
            return
        await self.accept()
        if generations().tabs.of(self.user_id) >= settings.CHATAPP_TABS_PER_PERSON:
            await self.close(CloseCode.TOO_MANY_TABS)
            return
        await generations().welcome(self)
        if generations().revocation.asked != changes:  # before it was known here
            generations().revocation.look_again_at([self.user_id])
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

    def _leave(self, *, by_hand: bool) -> None:
        self._is_closed = True
        self._forget_watched()
        grace = settings.CHATAPP_CLOSE_GRACE if by_hand else settings.CHATAPP_DROP_GRACE
        generations().leave(self, grace)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Acts on a form's fields; whatever else comes gets a sentence."""
        if self._is_closed:
            return
        fields = fields_of(text_data or "")
        await self._act(str(fields.get("action")), fields)

    async def close(self, code: int | None = None, reason: str | None = None) -> None:
        self._is_closed = True
        await super().close(None if code is None else int(code), reason)  # autobahn wants no enum

    async def show(self, frame: str) -> None:
        # Daphne raises where the socket is gone and `disconnect` not here yet.
        with suppress(RuntimeError):
            await self.base_send({"type": "websocket.send", "text": frame})

    async def catch_up(self, conversation: UUID) -> None:
        """Draws the conversation as the database has it now, where the tab still shows it."""
        try:
            view = await database_sync_to_async(self._view)(conversation, None)
        except (Refused, NotSignedIn, Error) as error:
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
    def session_key(self) -> str:
        key: str = self.scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")
        return key

    async def _act(self, action: str, fields: Mapping[str, Any]) -> None:
        try:
            await self._take_allowance(action)
            if action not in ACTIONS:
                raise Refused("This page is out of date. Reload it.")
            if action != "stop" and not generations().database_answers:
                raise OperationalError("it did not answer a second ago")
            await ACTIONS[action](self, fields)
        except Refused as refused:
            await self.show(frames.problem_frame(str(refused), _uuid(fields.get("prompt"))))
        except NotSignedIn as why:
            await self.show(frames.problem_frame(str(why), _uuid(fields.get("prompt"))))
            await self.close(why.code)
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

    async def _take_allowance(self, action: str) -> None:
        """Raises `Refused` where there were too many actions; Stop is refused to nobody."""
        left = self._allowance.take()
        if left < -BURST_SECONDS * settings.CHATAPP_ACTIONS_PER_SECOND:
            logger.warning("A socket is closed, since it sends without end")
            await self.close(CloseCode.FLOOD)
        if action == "stop" and not self._is_closed:
            return
        if left < 0 or generations().allowances[self.user_id].take() < 0:
            raise Refused(TOO_MUCH)

    async def _prompt(self, fields: Mapping[str, Any]) -> None:
        async with generations().one_prompt_at_a_time:
            asked = _cleaned(PromptForm(fields))
        asked["model"] = await self._offered_model(asked["model"])
        with generations().taking_prompt():
            turn = await self._stored(turns.store_prompt, asked)
            if not turn.is_repeated:
                generations().show(self, turn.conversation.pk)
                tabs = generations().tabs.showing(turn.conversation.pk)
                parent = turn.prompt.parent_id
                at_branch = {tab for tab in tabs if tab is self or (parent and tab.head == parent)}
                await self._start(turn, at_branch)
                return
        await self._watch({"conversation": str(turn.conversation.pk)})

    async def _retry(self, fields: Mapping[str, Any]) -> None:
        asked = _cleaned(RetryForm(fields))
        asked["model"] = await self._offered_model(asked["model"])
        with generations().taking_prompt():
            turn = await self._stored(turns.store_retry, asked)
            generations().show(self, turn.conversation.pk)
            await self._start(turn, at_branch=set())

    async def _start(self, turn: Turn, at_branch: set[Tab]) -> None:
        """Shows a turn in every tab of its conversation, and lets it stream.

        Those `at_branch` show all that it follows. What the others show is drawn once for all.
        """
        showing = generations().tabs.showing(turn.conversation.pk)
        html_of = await rendering.arendered([turn.prompt.content], PROMPT_PATIENCE_SECONDS)
        thread = await _drawn(turn.thread) if showing - at_branch else None
        async with generations().one_prompt_at_a_time:
            around = frames.composer_frame(turn.conversation, turn.reply)
            around += frames.sidebar_frame(turn.conversation, running=True, first=True)
            following = frames.turn_frame(turn.prompt, turn.reply, html_of)
            whole = frames.thread_frame(thread) if thread else ""
            others = showing - at_branch if thread else set()
            for tab in showing:
                tab.head = turn.reply.pk
            await show_to(showing & at_branch, following + around)
            await show_to(others, whole + around)
            generations().start(turn.reply, turn.history, self)

    async def _stop(self, fields: Mapping[str, Any]) -> None:
        if running := self._running(fields):
            running.stop(Ending.STOPPED)

    async def _allow(self, fields: Mapping[str, Any]) -> None:
        await self._decide(fields, allowed=True)

    async def _deny(self, fields: Mapping[str, Any]) -> None:
        await self._decide(fields, allowed=False)

    async def _decide(self, fields: Mapping[str, Any], *, allowed: bool) -> None:
        await database_sync_to_async(sessions.person_of)(self.session_key)
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
            self._forget_watched()
            generations().show(self, None)
            return
        seen = _cleaned(WatchForm(fields))
        if not self._was_just_drawn(seen):
            await self._draw(seen)

    def _was_just_drawn(self, seen: dict[str, Any]) -> bool:
        """Whether this was asked for a moment ago; it is then drawn once more, in a moment."""
        now = time.monotonic()
        before, at = self._watched or ({}, 0.0)
        early = at + WATCH_AGAIN_SECONDS - now
        if seen != before or early <= 0 or not self._shows(seen):
            self._forget_watched()
            self._watched = seen, now
            return False
        if not self._watching_again:
            loop = asyncio.get_running_loop()
            self._watching_again = loop.call_later(early, self._watch_again, seen)
        return True

    def _watch_again(self, seen: dict[str, Any]) -> None:
        self._forget_watched()
        self._watched = seen, time.monotonic()
        self._drawing = asyncio.create_task(self._draw_again(seen))

    async def _draw_again(self, seen: dict[str, Any]) -> None:
        try:
            await self._draw(seen, is_again=True)
        except (Refused, NotSignedIn, Error) as error:
            logger.info("A tab could not be brought up to date: %s", error)

    def _forget_watched(self) -> None:
        self._watched = None
        for later in (self._watching_again, self._drawing):
            if later:
                later.cancel()
        self._watching_again = self._drawing = None

    def _shows(self, seen: dict[str, Any]) -> bool:
        return bool(generations().tabs.shown_by(self) == seen["conversation"])

    async def _draw(self, seen: dict[str, Any], *, is_again: bool = False) -> None:
        conversation = seen["conversation"]
        while True:
            running = generations().running(conversation)
            view = await database_sync_to_async(self._view)(conversation, seen["head"])
            head = view.head
            is_behind = head and (head.pk, head.ending) != (seen["head"], seen["ending"])
            thread = await _drawn(view.thread, running) if is_behind else None
            if generations().running(conversation) is running:
                break
        if is_again and not self._shows(seen):  # the tab has moved on, or is gone
            return
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

    async def _offered_model(self, chosen: tuple[int, str] | None) -> tuple[int, str]:
        """The one that the person chose; the first there is where none was."""
        if chosen is None:
            return await self._default_model()
        if not await generations().catalogue.is_offered(*chosen):
            raise Refused(turns.NOT_OFFERED)
        return chosen

    async def _default_model(self) -> tuple[int, str]:
        for wait_for_all in (False, True):
            for offer in await generations().catalogue.offers(wait_for_all):
                if offer.models:
                    return offer.upstream.pk, offer.models[0]
        raise Refused("No model is available. An administrator can connect one.")

    async def _stored(self, store: Callable[..., Turn], asked: dict[str, Any]) -> Turn:
        told = []

        async def tell() -> None:
            text = "The database does not answer. What you sent waits, and is stored once it does."
            await self.show(frames.problem_frame(text))
            told.append(text)

        turn = await stored(partial(self._store, store, asked), tell)
        if told:
            await self.show(frames.problem_frame(""))
        return turn

    def _store(self, store: Callable[..., Turn], asked: dict[str, Any]) -> Turn:
        use_by_key(self.session_key)
        here = None if generations().is_draining else generations().process
        return store(sessions.person_of(self.session_key), asked, here)

    def _view(self, conversation: UUID, head: UUID | None) -> View:
        return turns.view(sessions.person_of(self.session_key), conversation, head)


ACTIONS = {
    "prompt": ChatConsumer._prompt,
    "retry": ChatConsumer._retry,
    "stop": ChatConsumer._stop,
    "allow": ChatConsumer._allow,
    "deny": ChatConsumer._deny,
    "watch": ChatConsumer._watch,
}


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


def _allowance_of_a_socket() -> Allowance:
    average = settings.CHATAPP_ACTIONS_PER_SECOND
    return Allowance(average, BURST_SECONDS * average)
