"""What a person sends, checked: each error says what to do.

A valid form says what was asked for as a value: what is stored as `chatapp.models` has it, the rest
as it stands here.
"""

from dataclasses import dataclass
from uuid import UUID

from django import forms
from django.conf import settings

from chatapp.models import Continuation, ModelChoice, Prompt, Retry
from chatapp.models.conversations import LONGEST_TITLE


@dataclass(frozen=True)
class Decision:
    """Whether a tool runs that the reply of this conversation called."""

    conversation: UUID
    reply: UUID | None
    round: int
    call: int


@dataclass(frozen=True)
class Stop:
    """Which reply ends: one by its id, or whichever runs in the conversation."""

    conversation: UUID | None
    reply: UUID | None = None


@dataclass(frozen=True)
class Seen:
    """What a tab shows: a conversation, and its newest message with its ending."""

    conversation: UUID
    head: UUID | None = None
    ending: str = ""


class ModelField(forms.CharField):
    """An upstream's primary key and one of its models, as `catalogue` joins them: `1/gpt-4o`."""

    def to_python(self, value: str | None) -> ModelChoice | None:  # type: ignore[override]
        upstream, _, model = str(value or "").partition("/")
        is_key = upstream.isdecimal() and len(upstream) < 19
        if is_key and 0 < len(model) <= 200 and model.isprintable():
            return ModelChoice(int(upstream), model)
        return None

    def validate(self, value: object) -> None:
        if self.required and value is None:
            raise forms.ValidationError("Choose a model first.")

    def run_validators(self, value: object) -> None:
        """CharField's validators are for text."""


class AskForm(forms.Form):
    """Whatever a model is to answer."""

    model = ModelField(required=False)

    @property
    def chosen_model(self) -> ModelChoice | None:
        """None where the person left it to the app."""
        chosen: ModelChoice | None = self.cleaned_data["model"]
        return chosen


class PromptForm(AskForm):
    """One prompt, as the composer sends it."""

    message = forms.CharField(strip=False, error_messages={"required": "Type a message first."})
    conversation = forms.UUIDField(required=False)
    parent = forms.UUIDField(required=False)
    prompt = forms.UUIDField(required=False)

    def clean_message(self) -> str:
        message: str = self.cleaned_data["message"]
        if not message.strip():
            raise forms.ValidationError("Type a message first.")
        if len(message) > (most := settings.CHATAPP_MAX_PROMPT_CHARACTERS):
            raise forms.ValidationError(
                f"This has {len(message):,} characters, and {most:,} can be sent at once. "
                "Shorten it, or send it in parts."
            )
        # JSON can carry halves of a surrogate pair, which no database stores.
        return message.encode("utf-8", "replace").decode("utf-8")

    def asked(self, model: ModelChoice) -> Prompt:
        clean = self.cleaned_data
        return Prompt(
            clean["message"], model, clean["conversation"], clean["parent"], clean["prompt"]
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


class StopForm(forms.Form):
    """Whose reply ends; none where the page shows no conversation yet."""

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


class WatchForm(forms.Form):
    """What a tab shows; nothing where it has no conversation yet."""

    conversation = forms.UUIDField(required=False)
    head = forms.UUIDField(required=False)
    ending = forms.CharField(required=False)

    @property
    def asked(self) -> Seen | None:
        return Seen(**self.cleaned_data) if self.cleaned_data["conversation"] else None


class RenameForm(forms.Form):
    """A conversation's new title, in one line."""

    title = forms.CharField(error_messages={"required": "Type a title first."})

    def clean_title(self) -> str:
        title = " ".join(self.cleaned_data["title"].split())
        if len(title) > LONGEST_TITLE:
            raise forms.ValidationError(f"A title has at most {LONGEST_TITLE} characters.")
        return title

    @property
    def asked(self) -> str:
        title: str = self.cleaned_data["title"]
        return title


class _Shared(dict[str, forms.Field]):
    """A form's fields, for all messages: Django copies them for each, since some change theirs."""

    def __deepcopy__(self, _memo: object) -> "_Shared":
        return self


# Those that come over the socket.
FORMS = (PromptForm, ContinueForm, RetryForm, StopForm, DecisionForm, WatchForm)
for _form in FORMS:
    _form.base_fields = _Shared(_form.base_fields)
