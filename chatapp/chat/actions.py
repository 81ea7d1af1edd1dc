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
from chatapp.chat import asking, branching
from chatapp.chat.fields import Fields
from chatapp.chat.forms import (
    ContinueForm,
    DecisionForm,
    DeleteForm,
    EditForm,
    ForkForm,
    PromptForm,
    RestoreForm,
    RetryForm,
    Seen,
    StepForm,
    StopForm,
    WatchForm,
)
from chatapp.chat.screen import Screen
from chatapp.cluster import RemoteReply
from chatapp.generation import Generation
from chatapp.models import Refused
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
        if not (worker().database_answers or action.is_always_taken or action.is_done_later):
            raise OperationalError("it did not answer a second ago")
        if not action.is_turn:
            await action.take(self, await action.valid(fields))
            return
        with worker().replies.taking_prompt():
            async with worker().few_turns_at_a_time.one():
                await action.take(self, await action.valid(fields))

    async def prompt(self, form: PromptForm | ContinueForm) -> None:
        prompt = form.asked(*await asking.offered_models(form.chosen_models, self._viewer.user_id))
        turn = await asking.store(self._viewer, prompt)
        if turn.is_repeated:
            await self._screen.watch(Seen(turn.conversation.pk))
            return
        worker().show(self._viewer, turn.conversation.pk)
        if turn.conversation.is_temporary:
            worker().open_temporary(self._viewer, turn.conversation.pk)
        await asking.start(turn, self._viewer)

    async def retry(self, form: RetryForm) -> None:
        [model] = await asking.offered_models(form.chosen_models, self._viewer.user_id)
        retry = form.asked(model)
        turn = await asking.store(self._viewer, retry)
        worker().show(self._viewer, turn.conversation.pk)
        await asking.start(turn, self._viewer)

    async def edit(self, form: EditForm) -> None:
        edit = form.asked(*await asking.offered_models(form.chosen_models, self._viewer.user_id))
        turn = await asking.store(self._viewer, edit)
        worker().show(self._viewer, turn.conversation.pk)
        if turn.is_repeated:
            await self._screen.watch(Seen(turn.conversation.pk))
            return
        await asking.start(turn, self._viewer)

    async def delete(self, form: DeleteForm) -> None:
        await branching.delete(self._viewer, form.asked)

    async def restore(self, form: RestoreForm) -> None:
        await branching.restore(self._viewer, form.asked)

    async def fork(self, form: ForkForm) -> None:
        await branching.fork(self._viewer, form.asked)

    async def stop(self, form: StopForm) -> None:
        asked = form.asked
        for running in self._running(asked.conversation):
            if asked.reply in (None, running.reply):
                running.stop(Ending.STOPPED)

    async def allow(self, form: DecisionForm) -> None:
        await self._decide(form, allowed=True)

    async def deny(self, form: DecisionForm) -> None:
        await self._decide(form, allowed=False)

    async def watch(self, form: WatchForm) -> None:
        await self._screen.watch(form.asked)

    async def step(self, form: StepForm) -> None:
        await self._screen.step(form.asked)

    async def _decide(self, form: DecisionForm, *, allowed: bool) -> None:
        await database_sync_to_async(sessions.person_of)(self._viewer.session_key)
        decision = form.asked
        for running in self._running(decision.conversation):
            if decision.reply in (None, running.reply):
                running.decide(decision.round, decision.call, allowed)

    def _running(self, conversation: UUID | None) -> list[Generation] | list[RemoteReply]:
        """The replies that run in a conversation of this person's, here or elsewhere."""
        running = worker().replies.of(conversation)
        if running and running[0].message.conversation.user_id == self._viewer.user_id:
            return running
        remotes = worker().cluster.remotes.awaited_by(self._viewer, conversation)
        if remotes and not worker().cluster.bus.answers:
            raise Refused(
                "The server that writes this reply can't be heard right now. Try again soon."
            )
        return remotes


@dataclass(frozen=True)
class Action(Generic[F]):
    """What an action is given, and what it does."""

    form: type[F]
    take: Callable[[Actions, F], Awaitable[None]]
    is_always_taken: bool = False  # without a database, and however often it is asked for
    is_done_later: bool = False  # by itself, where the database does not answer
    is_turn: bool = False

    async def valid(self, fields: Fields) -> F:
        """The form, where it is valid; raises `Refused`."""
        form = self.form(fields, label_suffix="")  # which Django would translate each time
        if self.is_turn:  # whose text may be long
            async with worker().one_prompt_at_a_time:
                form.full_clean()
        if not form.is_valid():
            raise Refused(next(iter(form.errors.values()))[0])
        return form


ACTIONS: Mapping[str, Action[Any]] = {
    "prompt": Action(PromptForm, Actions.prompt, is_turn=True),
    "continue": Action(ContinueForm, Actions.prompt, is_turn=True),
    "retry": Action(RetryForm, Actions.retry, is_turn=True),
    "edit": Action(EditForm, Actions.edit, is_turn=True),
    "delete": Action(DeleteForm, Actions.delete),
    "restore": Action(RestoreForm, Actions.restore),
    "fork": Action(ForkForm, Actions.fork),
    "stop": Action(StopForm, Actions.stop, is_always_taken=True),
    "allow": Action(DecisionForm, Actions.allow),
    "deny": Action(DecisionForm, Actions.deny),
    "step": Action(StepForm, Actions.step),
    "watch": Action(WatchForm, Actions.watch, is_done_later=True),
}
