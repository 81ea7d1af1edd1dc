"""Forms for the messages that a tab sends over its socket. Each error says what to do.

The `value_object` of a valid form is one of `chatapp.models` if it is stored, otherwise one defined
here. Forms that start a reply have `build_submission` instead, which also needs the model.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.core import signing

from chatapp.chat.form_fields import (
    OUT_OF_DATE,
    FilesField,
    KeysField,
    ModelField,
    ModelsField,
    NamesField,
)
from chatapp.chat.message_form import MessageForm
from chatapp.library.presets.parameter_form import ParameterForm
from chatapp.models import (
    Continuation,
    Deletion,
    Edit,
    EditSummary,
    Fork,
    LeaveOut,
    ModelChoice,
    ParameterChoice,
    Prompt,
    Restoration,
    Retry,
    SendAgain,
    Summarise,
    ToolAllowance,
)
from chatapp.text.multiline import MultilineField

NO_MESSAGE = "Type a message first."


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


class DraftField(forms.CharField):
    """The earlier settings of a chat, as `ChatSettings.own`. Signed, so they are valid; None if
    the page sends none."""

    SALT = "chat settings"

    @classmethod
    def sign_settings(cls, own: dict[str, Any]) -> str:
        return signing.dumps(own, salt=cls.SALT, compress=True)

    def clean(self, value: str | None) -> Any:
        try:
            return signing.loads(value, salt=self.SALT) if value else None
        except signing.BadSignature:
            raise forms.ValidationError(OUT_OF_DATE) from None


class SettingsForm(ParameterForm):
    """The form in a chat's settings panel, with the fields of one model or of all models."""

    settings_of = ModelField(required=False)  # None if the fields are for all models
    draft = DraftField(required=False)  # of the others

    @property
    def own_settings(self) -> dict[str, Any]:
        """The settings for a `Prompt`: only the composer's controls if the panel was not opened."""
        if "system_prompt" not in self.data:
            return {"chosen": self.control_values}
        names = ("system_prompt", "settings_of", "draft")
        own = {name: self.cleaned_data[name] for name in names}
        return {**own, "parameters": self.parameters}


class SentSettings(MessageForm, SettingsForm):
    """The settings that the page of a new chat sends with its first prompt."""


class AskForm(MessageForm):
    """Base of the forms that ask a model for a reply."""

    model = ModelField(required=False)

    @property
    def chosen_models(self) -> list[ModelChoice]:
        """The chosen model; empty if the app should choose."""
        chosen: ModelChoice | None = self.cleaned_data["model"]
        return [chosen] if chosen else []


class PromptForm(AskForm):
    """A prompt, as the composer sends it."""

    message = MultilineField(strip=False, required=False)
    attached = FilesField(required=False)
    conversation = forms.UUIDField(required=False)
    parent = forms.UUIDField(required=False)
    prompt = forms.UUIDField(required=False)
    temporary = forms.BooleanField(required=False)  # of a new conversation
    project = forms.UUIDField(required=False)  # of a new conversation
    others = ModelsField(required=False)  # more models to reply side by side, one per line
    preset = forms.UUIDField(required=False)  # of a new conversation
    off_servers = KeysField(required=False)  # of a new conversation
    settings: SentSettings | None = None  # of a new conversation; set by `clean`

    @property
    def chosen_models(self) -> list[ModelChoice]:
        chosen = super().chosen_models
        others: list[ModelChoice] = self.cleaned_data["others"] if chosen else []
        return chosen + [other for other in others if other not in chosen]

    def clean_message(self) -> str:
        message: str = self.cleaned_data["message"]
        if len(message) > (max_characters := settings.CHATAPP_MAX_PROMPT_CHARACTERS):
            raise forms.ValidationError(
                f"This message has {len(message):,} characters; the limit is {max_characters:,}. "
                "Shorten it, or send it in parts."
            )
        # JSON can contain lone surrogates, which no database stores.
        return message.encode("utf-8", "replace").decode("utf-8")

    def clean(self) -> None:
        super().clean()
        message, files = (self.cleaned_data.get(name) for name in ("message", "attached"))
        if not (message or files or "message" in self.errors):
            self.add_error("message" if "message" in self.fields else None, NO_MESSAGE)
        if not self.cleaned_data.get("conversation"):
            self.settings = SentSettings(self.data, label_suffix="")
            for sentences in self.settings.errors.values():
                self.add_error(None, sentences)

    def build_submission(self, model: ModelChoice, *others: ModelChoice) -> Prompt:
        clean = self.cleaned_data
        return Prompt(
            clean["message"],
            model,
            clean["conversation"],
            clean["parent"],
            clean["prompt"],
            is_temporary=clean["temporary"],
            project=clean["project"],
            others=others,
            files=clean["attached"],
            preset=clean["preset"],
            off_servers=clean["off_servers"],
            **(self.settings.own_settings if self.settings else {}),
        )


class EditForm(PromptForm):
    """A prompt that replaces an earlier one, as a new branch."""

    edited = forms.UUIDField()

    def build_submission(self, model: ModelChoice, *others: ModelChoice) -> Edit:
        clean = self.cleaned_data
        return Edit(
            clean["message"],
            model,
            id=clean["prompt"],
            edited=clean["edited"],
            others=others,
            files=clean["attached"],
        )


class ChooseForm(MessageForm, ParameterForm):
    """The choices made at the composer of an existing chat."""

    conversation = forms.UUIDField()
    off_servers = KeysField(required=False)

    @property
    def value_object(self) -> ParameterChoice:
        off_servers = self.cleaned_data["off_servers"] if "off_servers" in self.data else None
        return ParameterChoice(self.cleaned_data["conversation"], self.control_values, off_servers)


class ContinueForm(AskForm):
    """Ask for the rest of an incomplete reply."""

    reply = forms.UUIDField()
    prompt = forms.UUIDField(required=False)

    def build_submission(self, model: ModelChoice) -> Continuation:
        return Continuation(self.cleaned_data["reply"], model, self.cleaned_data["prompt"])


class RetryForm(AskForm):
    """Ask for another reply to the same prompt, perhaps without some of the chat's parameters."""

    reply = forms.UUIDField()
    without = NamesField(required=False)

    def build_submission(self, model: ModelChoice) -> Retry:
        return Retry(self.cleaned_data["reply"], model, self.cleaned_data["without"])


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
