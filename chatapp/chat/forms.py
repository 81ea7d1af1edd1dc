"""Forms for the messages that a tab sends over its socket. Each error says what to do.

The `value_object` of a valid form is one of `chatapp.models` if it is stored, otherwise one defined
here. `turn_forms` has those that start a reply, and `settings_forms` those of a chat's settings.
"""

from dataclasses import dataclass
from uuid import UUID

from django import forms

from chatapp.chat.form_fields import ModelField
from chatapp.chat.message_form import MessageForm
from chatapp.chat.settings_forms import ChooseForm, SettingsForm
from chatapp.chat.turn_forms import AskForm, ContinueForm, EditForm, PromptForm, RetryForm
from chatapp.models import (
    Deletion,
    EditSummary,
    Fork,
    LeaveOut,
    Restoration,
    SendAgain,
    Summarise,
    ToolAllowance,
)
from chatapp.text.multiline import MultilineField


@dataclass(frozen=True)
class Decision:
    """Whether a tool call may run, by the index of its round and of the call in that round."""

    conversation: UUID
    reply: UUID | None
    round: int
    call: int


@dataclass(frozen=True)
class Stop:
    """Stop one reply by its id, or all that run in the conversation."""

    conversation: UUID | None
    reply: UUID | None = None


@dataclass(frozen=True)
class Step:
    """Switch to the branch of this message."""

    conversation: UUID
    message: UUID


@dataclass(frozen=True)
class ShownThread:
    """The state of a tab: its conversation, the last message, and that message's ending.

    `later` is true if the page has a link to later messages, and `summary` if it says that a
    summary is being written.
    """

    conversation: UUID
    head: UUID | None = None
    ending: str = ""
    later: bool = False
    summary: bool = False


class DeleteForm(MessageForm):
    """Delete a message and everything after it."""

    message = forms.UUIDField()

    @property
    def value_object(self) -> Deletion:
        return Deletion(self.cleaned_data["message"])


class RestoreForm(MessageForm):
    """Restore a deleted message and what followed it; `head` was the last message shown then."""

    message = forms.UUIDField()
    head = forms.UUIDField(required=False)

    @property
    def value_object(self) -> Restoration:
        return Restoration(self.cleaned_data["message"], self.cleaned_data["head"])


class ForkForm(MessageForm):
    """Copy a conversation up to this message."""

    message = forms.UUIDField()

    @property
    def value_object(self) -> Fork:
        return Fork(self.cleaned_data["message"])


class LeaveOutForm(AskForm):
    """Don't send the oldest part of a branch any more: up to `up_to`, or as much as needed.

    `parent` is the last message of the branch.
    """

    conversation = forms.UUIDField()
    parent = forms.UUIDField(required=False)
    up_to = forms.UUIDField(required=False)

    @property
    def value_object(self) -> LeaveOut:
        clean = self.cleaned_data
        return LeaveOut(clean["conversation"], clean["parent"], clean["model"], clean["up_to"])


class SendAgainForm(MessageForm):
    """Send again what was left out."""

    cut = forms.UUIDField()

    @property
    def value_object(self) -> SendAgain:
        return SendAgain(self.cleaned_data["cut"])


class EditSummaryForm(MessageForm):
    """Replace the text of a summary."""

    cut = forms.UUIDField()
    summary = MultilineField(required=False)

    @property
    def value_object(self) -> EditSummary:
        summary = self.cleaned_data["summary"].encode("utf-8", "replace").decode("utf-8")
        return EditSummary(self.cleaned_data["cut"], summary)


class SummariseForm(AskForm):
    """Let the model `by` summarise the oldest part of a branch, or all of it for a new chat."""

    conversation = forms.UUIDField()
    parent = forms.UUIDField(required=False)
    by = ModelField()
    new = forms.BooleanField(required=False)

    @property
    def value_object(self) -> Summarise:
        clean = self.cleaned_data
        return Summarise(
            clean["conversation"], clean["by"], clean["parent"], clean["model"], clean["new"]
        )


class StopSummaryForm(MessageForm):
    """Cancel the summary that is being written of a conversation."""

    conversation = forms.UUIDField()


class StopForm(MessageForm):
    """Stop replies of a conversation; there is none if the page shows no conversation yet."""

    conversation = forms.UUIDField(required=False)
    reply = forms.UUIDField(required=False)  # only this one, if given

    @property
    def value_object(self) -> Stop:
        return Stop(**self.cleaned_data)


class DecisionForm(MessageForm):
    """The tool call of a reply's round that a person allows or denies."""

    conversation = forms.UUIDField()
    reply = forms.UUIDField(required=False)  # only this one, if given
    round = forms.IntegerField(min_value=0, max_value=1000)
    call = forms.IntegerField(min_value=0, max_value=1000)

    @property
    def value_object(self) -> Decision:
        names = ("conversation", "reply", "round", "call")
        return Decision(**{name: self.cleaned_data[name] for name in names})


class AlwaysAllowForm(DecisionForm):
    """A tool call that a person allows, with the tool that they were asked about."""

    tool = forms.RegexField(r"^[a-zA-Z0-9_-]{1,64}\Z")
    definition = forms.RegexField(r"^[0-9a-f]{64}\Z")

    @property
    def allowance(self) -> ToolAllowance:
        names = ("conversation", "tool", "definition")
        return ToolAllowance(**{name: self.cleaned_data[name] for name in names})


class StepForm(MessageForm):
    """Switch from one branch of a conversation to another."""

    conversation = forms.UUIDField()
    message = forms.UUIDField()

    @property
    def value_object(self) -> Step:
        return Step(**self.cleaned_data)


class WatchForm(MessageForm):
    """The thread that a tab shows; a new chat has no conversation yet."""

    conversation = forms.UUIDField(required=False)
    head = forms.UUIDField(required=False)
    ending = forms.CharField(required=False)
    later = forms.BooleanField(required=False)
    summary = forms.BooleanField(required=False)

    @property
    def value_object(self) -> ShownThread | None:
        return ShownThread(**self.cleaned_data) if self.cleaned_data["conversation"] else None


FORMS = (
    PromptForm,
    SettingsForm,
    ChooseForm,
    EditForm,
    ContinueForm,
    RetryForm,
    StopForm,
    DecisionForm,
    AlwaysAllowForm,
    DeleteForm,
    RestoreForm,
    ForkForm,
    LeaveOutForm,
    SendAgainForm,
    EditSummaryForm,
    SummariseForm,
    StopSummaryForm,
    StepForm,
    WatchForm,
)
