"""What a person does in a tab: the actions of its socket by their names, each with its form.

Every action asks the database anew who is signed in, except Stop, which must work without it.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from channels.db import database_sync_to_async
from django import forms
from django.db import OperationalError

from chatapp.access import sessions
from chatapp.chat import asking
from chatapp.chat.fields import Fields
from chatapp.chat.forms import (
    ContinueForm,
    DecisionForm,
    PromptForm,
    RetryForm,
    Seen,
    StopForm,
    WatchForm,
)
from chatapp.chat.screen import Screen
from chatapp.cluster import RemoteReply
from chatapp.generation import Generation
from chatapp.models import Refused, Turn
from chatapp.upstream.wire.reply import Ending
from chatapp.viewers import Viewer
from chatapp.worker import worker

F = TypeVar("F", bound=forms.Form)


class Actions:
    """Those of one tab. Each raises `Refused`, or `NotSignedIn`, where it is not taken."""

    def __init__(self, viewer: Viewer, screen: Screen) -> None:
        self._viewer = viewer
        self._screen = screen

    async def take(self, name: str, fields: Fields) -> None:
        """Does what the page asks for."""
        action = ACTIONS.get(name)
        if action is None:
            raise Refused("This page is out of date. Reload it.")
        if not (action.is_always_taken or worker().database_answers):
            raise OperationalError("it did not answer a second ago")
        await action.take(self, await action.valid(fields))

    async def prompt(self, form: PromptForm | ContinueForm) -> None:
        prompt = form.asked(await asking.offered_model(form.chosen_model))
        with worker().replies.taking_prompt():
            turn = await asking.store(self._viewer, prompt)
            if not turn.is_repeated:
                worker().show(self._viewer, turn.conversation.pk)
                await asking.start(turn, self._viewer, self._at_branch(turn))
                return
        await self._screen.watch(Seen(turn.conversation.pk))

    async def retry(self, form: RetryForm) -> None:
        retry = form.asked(await asking.offered_model(form.chosen_model))
        with worker().replies.taking_prompt():
            turn = await asking.store(self._viewer, retry)
            worker().show(self._viewer, turn.conversation.pk)
            await asking.start(turn, self._viewer, at_branch=set())

    async def stop(self, form: StopForm) -> None:
        asked = form.asked
        running = self._running(asked.conversation)
        if running and asked.reply in (None, running.reply):
            running.stop(Ending.STOPPED)

    async def allow(self, form: DecisionForm) -> None:
        await self._decide(form, allowed=True)

    async def deny(self, form: DecisionForm) -> None:
        await self._decide(form, allowed=False)

    async def watch(self, form: WatchForm) -> None:
        await self._screen.watch(form.asked)

    async def _decide(self, form: DecisionForm, *, allowed: bool) -> None:
        await database_sync_to_async(sessions.person_of)(self._viewer.session_key)
        decision = form.asked
        running = self._running(decision.conversation)
        if running and decision.reply in (None, running.reply):
            running.decide(decision.round, decision.call, allowed)

    def _at_branch(self, turn: Turn) -> set[Viewer]:
        """The tabs that show all that the turn follows."""
        parent = turn.prompt.parent_id
        tabs = worker().viewers.showing(turn.conversation.pk)
        return {tab for tab in tabs if tab is self._viewer or (parent and tab.head == parent)}

    def _running(self, conversation: UUID | None) -> Generation | RemoteReply | None:
        """The reply that runs in a conversation of this person's, here or elsewhere."""
        running = worker().replies.get(conversation)
        if running and running.message.conversation.user_id == self._viewer.user_id:
            return running
        if remote := worker().cluster.remotes.awaited_by(self._viewer, conversation):
            if not worker().cluster.bus.answers:
                raise Refused(
                    "The server that writes this reply can't be heard right now. Try again soon."
                )
            return remote
        return None


@dataclass(frozen=True)
class Action(Generic[F]):
    """What an action is given, and what it does."""

    form: type[F]
    take: Callable[[Actions, F], Awaitable[None]]
    is_always_taken: bool = False  # without a database, and however often it is asked for
    is_long_to_check: bool = False

    async def valid(self, fields: Fields) -> F:
        """The form, where it is valid; raises `Refused`."""
        form = self.form(fields)
        if self.is_long_to_check:
            async with worker().one_prompt_at_a_time:
                form.full_clean()
        if not form.is_valid():
            raise Refused(next(iter(form.errors.values()))[0])
        return form


ACTIONS: Mapping[str, Action[Any]] = {
    "prompt": Action(PromptForm, Actions.prompt, is_long_to_check=True),
    "continue": Action(ContinueForm, Actions.prompt),
    "retry": Action(RetryForm, Actions.retry),
    "stop": Action(StopForm, Actions.stop, is_always_taken=True),
    "allow": Action(DecisionForm, Actions.allow),
    "deny": Action(DecisionForm, Actions.deny),
    "watch": Action(WatchForm, Actions.watch),
}
