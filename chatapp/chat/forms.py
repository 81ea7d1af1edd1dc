"""What a person sends over the socket, checked: each error says what to do.

A valid form says what was asked for as a value: what is stored as `chatapp.models` has it, the rest
as it stands here.
"""

from dataclasses import dataclass
from uuid import UUID

from django import forms
from django.conf import settings

from chatapp.lines import LinesField
from chatapp.models import (
    Continuation,
    Deletion,
    Edit,
    Fork,
    ModelChoice,
    Prompt,
    Restoration,
    Retry,
)
from chatapp.models.upstreams import NOT_OFFERED
from chatapp.row_keys import key_of

OUT_OF_DATE = "This page is out of date. Reload it."
MOST_AT_ONCE = 4  # models that answer one prompt side by side


@dataclass(frozen=True)
class Decision:
    """Whether a tool runs that the reply of this conversation called."""

    conversation: UUID
    reply: UUID | None
    round: int
    call: int


@dataclass(frozen=True)
class Stop:
    """Which reply ends: one by its id, or all that run in the conversation."""

    conversation: UUID | None
    reply: UUID | None = None


@dataclass(frozen=True)
class Step:
    """Which branch of a conversation is read from now on: that of this message."""

    conversation: UUID
    message: UUID


@dataclass(frozen=True)
class Seen:
    """What a tab shows: a conversation, its last message with its ending, and whether later ones
    are there to be loaded."""

    conversation: UUID
    head: UUID | None = None
    ending: str = ""
    later: bool = False


class ModelField(forms.CharField):
    """An upstream's primary key and one of its models, as `catalogue` joins them: `1/gpt-4o`."""

    def to_python(self, value: str | None) -> ModelChoice | None:  # type: ignore[override]
        named, _, model = str(value or "").partition("/")
        upstream = key_of(named)
        if upstream and 0 < len(model) <= 200 and model.isprintable():
            return ModelChoice(upstream, model)
        return None

    def validate(self, value: object) -> None:
        if self.required and value is None:
            raise forms.ValidationError("Choose a model first.")

    def run_validators(self, value: object) -> None:
        """CharField's validators are for text."""


class ModelsField(forms.CharField):
    """Several of them, one a line; a model that comes twice is asked once."""

    _one = ModelField()

    def clean(self, value: str | None) -> list[ModelChoice]:
        found = dict.fromkeys(map(self._one.to_python, str(value or "").splitlines()))
        chosen = [model for model in found if model]
        if len(chosen) != len(found):
            raise forms.ValidationError(NOT_OFFERED)
        if len(chosen) >= MOST_AT_ONCE:
            raise forms.ValidationError(f"{MOST_AT_ONCE} models at most answer at once.")
        return chosen


class AskForm(forms.Form):
    """Whatever a model is to answer."""

    model = ModelField(required=False)

    @property
    def chosen_models(self) -> list[ModelChoice]:
        """None where the person left it to the app."""
        chosen: ModelChoice | None = self.cleaned_data["model"]
        return [chosen] if chosen else []


class PromptForm(AskForm):
    """One prompt, as the composer sends it."""

    message = LinesField(strip=False, error_messages={"required": "Type a message first."})
    conversation = forms.UUIDField(required=False)
    parent = forms.UUIDField(required=False)
    prompt = forms.UUIDField(required=False)
    temporary = forms.BooleanField(required=False)  # where it begins a conversation
    project = forms.UUIDField(required=False)  # that a new conversation begins in
    others = ModelsField(required=False)  # that answer beside the model, one a line

    @property
    def chosen_models(self) -> list[ModelChoice]:
        chosen = super().chosen_models
        others: list[ModelChoice] = self.cleaned_data["others"] if chosen else []
        return chosen + [other for other in others if other not in chosen]

    def clean_message(self) -> str:
        message: str = self.cleaned_data["message"]
        if len(message) > (most := settings.CHATAPP_MAX_PROMPT_CHARACTERS):
            raise forms.ValidationError(
                f"This has {len(message):,} characters, and {most:,} can be sent at once. "
                "Shorten it, or send it in parts."
            )
        # JSON can carry halves of a surrogate pair, which no database stores.
        return message.encode("utf-8", "replace").decode("utf-8")

    def asked(self, model: ModelChoice, *others: ModelChoice) -> Prompt:
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
        )


class EditForm(PromptForm):
    """Another prompt in place of an earlier one."""

    edited = forms.UUIDField()

    def asked(self, model: ModelChoice, *others: ModelChoice) -> Edit:
        clean = self.cleaned_data
        return Edit(
            clean["message"], model, id=clean["prompt"], edited=clean["edited"], others=others
        )


class ContinueForm(AskForm):
    """The rest of a reply that is not whole."""

    reply = forms.UUIDField()
    prompt = forms.UUIDField(required=False)

    def asked(self, model: ModelChoice) -> Continuation:
        return Continuation(self.cleaned_data["reply"], model, self.cleaned_data["prompt"])


class RetryForm(AskForm):
    """One more reply in place of one."""

    reply = forms.UUIDField()

    def asked(self, model: ModelChoice) -> Retry:
        return Retry(self.cleaned_data["reply"], model)


class DeleteForm(forms.Form):
    """A message that goes, with all that follows it."""

    message = forms.UUIDField()

    @property
    def asked(self) -> Deletion:
        return Deletion(self.cleaned_data["message"])


class RestoreForm(forms.Form):
    """What went with a message, and the last one that was shown then."""

    message = forms.UUIDField()
    head = forms.UUIDField(required=False)

    @property
    def asked(self) -> Restoration:
        return Restoration(self.cleaned_data["message"], self.cleaned_data["head"])


class ForkForm(forms.Form):
    """The message up to which a conversation is copied."""

    message = forms.UUIDField()

    @property
    def asked(self) -> Fork:
        return Fork(self.cleaned_data["message"])


class StopForm(forms.Form):
    """Whose replies end; none where the page shows no conversation yet."""

    conversation = forms.UUIDField(required=False)
    reply = forms.UUIDField(required=False)  # this one and no other, where the page says so

    @property
    def asked(self) -> Stop:
        return Stop(**self.cleaned_data)


class DecisionForm(forms.Form):
    """Which tool call of a reply's round a person allows or denies."""

    conversation = forms.UUIDField()
    reply = forms.UUIDField(required=False)  # this one and no other, where the page says so
    round = forms.IntegerField(min_value=0, max_value=1000)
    call = forms.IntegerField(min_value=0, max_value=1000)

    @property
    def asked(self) -> Decision:
        return Decision(**self.cleaned_data)


class StepForm(forms.Form):
    """From one reply to another of the same prompt."""

    conversation = forms.UUIDField()
    message = forms.UUIDField()

    @property
    def asked(self) -> Step:
        return Step(**self.cleaned_data)


class WatchForm(forms.Form):
    """What a tab shows; nothing where it has no conversation yet."""

    conversation = forms.UUIDField(required=False)
    head = forms.UUIDField(required=False)
    ending = forms.CharField(required=False)
    later = forms.BooleanField(required=False)

    @property
    def asked(self) -> Seen | None:
        return Seen(**self.cleaned_data) if self.cleaned_data["conversation"] else None


class _Shared(dict[str, forms.Field]):
    """A form's fields, for all messages: Django copies them for each, since some change theirs."""

    def __deepcopy__(self, _memo: object) -> "_Shared":
        return self


FORMS = (
    PromptForm,
    EditForm,
    ContinueForm,
    RetryForm,
    StopForm,
    DecisionForm,
    DeleteForm,
    RestoreForm,
    ForkForm,
    StepForm,
    WatchForm,
)
for _form in FORMS:
    _form.base_fields = _Shared(_form.base_fields)
