"""The actions that a tab can send over its socket, by name, each with its form.

Every action checks in the database who is signed in, except Stop, which must work without it.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from channels.db import database_sync_to_async
from django import forms
from django.db import OperationalError

from chatapp.chat import branching, leaving_out, submission
from chatapp.chat.fields import Fields
from chatapp.chat.forms import (
    AlwaysAllowForm,
    DecisionForm,
    DeleteForm,
    EditSummaryForm,
    ForkForm,
    LeaveOutForm,
    RestoreForm,
    SendAgainForm,
    ShownThread,
    StepForm,
    StopForm,
    StopSummaryForm,
    SummariseForm,
    WatchForm,
)
from chatapp.chat.settings_forms import ChooseForm
from chatapp.chat.thread_sync import ThreadSync
from chatapp.chat.turn_forms import ContinueForm, EditForm, PromptForm, RetryForm
from chatapp.models import Refused
from chatapp.realtime.cluster import RemoteReply
from chatapp.realtime.generation import Generation
from chatapp.realtime.viewers import Viewer
from chatapp.realtime.worker import worker
from chatapp.sessions import validity
from chatapp.upstream.wire.reply import Ending

F = TypeVar("F", bound=forms.Form)


class Actions:
    """The actions of one tab. Each raises `Refused` or `NotSignedIn` if it may not run."""

    def __init__(self, viewer: Viewer, thread_sync: ThreadSync) -> None:
        self._viewer = viewer
        self._thread_sync = thread_sync

    async def run(self, name: str, fields: Fields) -> None:
        """Validate the fields and run the action of that name."""
        action = ACTIONS.get(name)
        if action is None:
            raise Refused("This page is out of date. Reload it.")
        if not (worker().database_answers or action.is_always_allowed or action.is_done_later):
            raise OperationalError("it did not respond a second ago")
        if not action.is_turn:
            await action.run(self, await action.clean_form(fields))
            return
        with worker().replies.taking_prompt():
            async with worker().few_turns_at_a_time.take_turn(self._viewer.user_id):
                await action.run(self, await action.clean_form(fields))

    async def prompt(self, form: PromptForm | ContinueForm) -> None:
        prompt = form.build_submission(
            *await submission.offered_models(form.chosen_models, self._viewer.user_id)
        )
        turn = await submission.store(self._viewer, prompt)
        if turn.is_repeated:
            await self._thread_sync.watch(ShownThread(turn.conversation.pk))
            return
        worker().show(self._viewer, turn.conversation.pk)
        if turn.conversation.is_temporary:
            worker().open_temporary(self._viewer, turn.conversation.pk)
        await submission.start(turn, self._viewer)

    async def retry(self, form: RetryForm) -> None:
        [model] = await submission.offered_models(form.chosen_models, self._viewer.user_id)
        retry = form.build_submission(model)
        turn = await submission.store(self._viewer, retry)
        worker().show(self._viewer, turn.conversation.pk)
        await submission.start(turn, self._viewer)

    async def edit(self, form: EditForm) -> None:
        edit = form.build_submission(
            *await submission.offered_models(form.chosen_models, self._viewer.user_id)
        )
        turn = await submission.store(self._viewer, edit)
        worker().show(self._viewer, turn.conversation.pk)
        if turn.is_repeated:
            await self._thread_sync.watch(ShownThread(turn.conversation.pk))
            return
        await submission.start(turn, self._viewer)

    async def delete(self, form: DeleteForm) -> None:
        await branching.delete(self._viewer, form.value_object)

    async def restore(self, form: RestoreForm) -> None:
        await branching.restore(self._viewer, form.value_object)

    async def fork(self, form: ForkForm) -> None:
        await branching.fork(self._viewer, form.value_object)

    async def change_context(self, form: LeaveOutForm | SendAgainForm | EditSummaryForm) -> None:
        await leaving_out.change(self._viewer, form.value_object)

    async def summarise(self, form: SummariseForm) -> None:
        await leaving_out.summarise(self._viewer, form.value_object)

    async def stop_summary(self, form: StopSummaryForm) -> None:
        leaving_out.cancel(self._viewer, form.cleaned_data["conversation"])

    async def choose(self, form: ChooseForm) -> None:
        choice = form.value_object
        await submission.write_for_viewer(self._viewer, choice.store)
        worker().conversation_changed(self._viewer.user_id, choice.conversation)

    async def stop(self, form: StopForm) -> None:
        stop = form.value_object
        for running in self._running(stop.conversation):
            if stop.reply in (None, running.reply):
                running.stop(Ending.STOPPED)

    async def allow(self, form: DecisionForm) -> None:
        await self._decide(form, allowed=True)

    async def always_allow(self, form: AlwaysAllowForm) -> None:
        await submission.write_for_viewer(self._viewer, form.allowance.store)
        await self._decide(form, allowed=True, always=True)
        worker().conversation_changed(self._viewer.user_id, form.allowance.conversation)

    async def deny(self, form: DecisionForm) -> None:
        await self._decide(form, allowed=False)

    async def watch(self, form: WatchForm) -> None:
        await self._thread_sync.watch(form.value_object)

    async def step(self, form: StepForm) -> None:
        await self._thread_sync.step(form.value_object)

    async def _decide(self, form: DecisionForm, *, allowed: bool, always: bool = False) -> None:
        await database_sync_to_async(validity.get_person)(self._viewer.session_key)
        decision = form.value_object
        for running in self._running(decision.conversation):
            if decision.reply in (None, running.reply):
                running.decide(decision.round, decision.call, allowed, always)

    def _running(self, conversation: UUID | None) -> list[Generation] | list[RemoteReply]:
        """Return the replies running in this person's conversation, here or in other processes.

        Raises `Refused` if another process runs them and it can't be reached.
        """
        running = worker().replies.for_conversation(conversation)
        if running and running[0].message.conversation.user_id == self._viewer.user_id:
            return running
        remotes = worker().cluster.remotes.for_viewer(self._viewer, conversation)
        if remotes and not worker().cluster.bus.answers:
            raise Refused(
                "The server writing this reply can't be reached right now. Try again soon."
            )
        return remotes


@dataclass(frozen=True)
class Action(Generic[F]):
    """An action: the form that validates its fields, and the method that runs it."""

    form: type[F]
    run: Callable[[Actions, F], Awaitable[None]]
    is_always_allowed: bool = False  # even without a database and above the rate limit
    is_done_later: bool = False  # retries by itself if the database does not respond
    is_turn: bool = False

    async def clean_form(self, fields: Fields) -> F:
        """Return the validated form; raises `Refused` with its first error."""
        form = self.form(fields, label_suffix="")  # Django would translate its default every time
        if self.is_turn:  # its text may be long
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
    "leave_out": Action(LeaveOutForm, Actions.change_context),
    "send_again": Action(SendAgainForm, Actions.change_context),
    "edit_summary": Action(EditSummaryForm, Actions.change_context),
    "summarise": Action(SummariseForm, Actions.summarise),
    "stop_summary": Action(StopSummaryForm, Actions.stop_summary),
    "choose": Action(ChooseForm, Actions.choose),
    "stop": Action(StopForm, Actions.stop, is_always_allowed=True),
    "allow": Action(DecisionForm, Actions.allow),
    "always_allow": Action(AlwaysAllowForm, Actions.always_allow),
    "deny": Action(DecisionForm, Actions.deny),
    "step": Action(StepForm, Actions.step),
    "watch": Action(WatchForm, Actions.watch, is_done_later=True),
}
