"""What a person sends, checked: each error says what to do."""

import json
from typing import Any

import msgspec
from django import forms
from django.contrib.auth.forms import BaseUserCreationForm

from chatapp.models import User
from chatapp.passwords import ADVICE

MAX_PROMPT_CHARACTERS = 200_000


class ModelChoice(forms.CharField):
    """An upstream's primary key and one of its models, as `catalogue` joins them: `1/gpt-4o`."""

    def to_python(self, value: str | None) -> tuple[int, str] | None:  # type: ignore[override]
        upstream, _, model = str(value or "").partition("/")
        is_key = upstream.isdecimal() and len(upstream) < 19
        if is_key and 0 < len(model) <= 200 and model.isprintable():
            return int(upstream), model
        return None

    def validate(self, value: object) -> None:
        if self.required and value is None:
            raise forms.ValidationError("Choose a model first.")

    def run_validators(self, value: object) -> None:
        """CharField's validators are for text."""


class PromptForm(forms.Form):
    """One prompt, as the composer sends it."""

    message = forms.CharField(
        strip=False,
        max_length=MAX_PROMPT_CHARACTERS,
        error_messages={
            "required": "Type a message first.",
            "max_length": "The message is too long: shorten it to %(limit_value)d characters.",
        },
    )
    model = ModelChoice(required=False)
    conversation = forms.UUIDField(required=False)
    parent = forms.UUIDField(required=False)
    prompt = forms.UUIDField(required=False)

    def clean_message(self) -> str:
        message: str = self.cleaned_data["message"]
        if not message.strip():
            raise forms.ValidationError("Type a message first.")
        # JSON can carry halves of a surrogate pair, which no database stores.
        return message.encode("utf-8", "replace").decode("utf-8")


class RetryForm(forms.Form):
    reply = forms.UUIDField()
    model = ModelChoice(required=False)


class DecisionForm(forms.Form):
    """Which tool call of a reply's round a person allows or denies."""

    round = forms.IntegerField(min_value=0, max_value=1000)
    call = forms.IntegerField(min_value=0, max_value=1000)


class WatchForm(forms.Form):
    """What a tab shows: a conversation, and its newest message with its ending."""

    conversation = forms.UUIDField()
    head = forms.UUIDField(required=False)
    ending = forms.CharField(required=False)


def fields_of(message: str) -> dict[str, Any]:
    """A form's fields: texts, numbers, null; empty where the message is no JSON object.

    What is nested is left out unread, since no field of ours is: it would take long to build. So is
    what no form has, of which there may be a hundred thousand.
    """
    try:
        fields = msgspec.structs.asdict(msgspec.json.decode(message, type=_Fields))
        texts = {name: bytes(part) for name, part in fields.items()}
        return {
            name: json.loads(text) for name, text in texts.items() if text and text[0] not in b"{["
        }
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return {}


FORMS = (PromptForm, RetryForm, DecisionForm, WatchForm)
_Fields: type[Any] = msgspec.defstruct(
    "_Fields",
    [
        (name, msgspec.Raw, msgspec.Raw())
        for name in sorted({"action"}.union(*(form.base_fields for form in FORMS)))
    ],
)


class SetupForm(BaseUserCreationForm):  # type: ignore[type-arg]
    """The first account, an administrator."""

    class Meta:
        model = User
        fields = ["username", "email"]
        widgets = {
            "username": forms.TextInput(
                attrs={"autocomplete": "username", "autocapitalize": "none", "autofocus": True}
            ),
            "email": forms.EmailInput(attrs={"autocomplete": "email"}),
        }

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["username"].help_text = ""  # what it can't be is told where it is tried
        self.fields["password1"].help_text = ADVICE
        self.fields["password2"].help_text = ""

    def full_clean(self) -> None:
        """Also puts the cursor where something is wrong, so that this is in view."""
        super().full_clean()
        if self.errors:
            self.fields["username"].widget.attrs.pop("autofocus", None)
            self.fields[next(iter(self.errors))].widget.attrs["autofocus"] = True

    def save(self, commit: bool = True) -> User:
        user: User = super().save(commit=False)
        user.is_staff = user.is_superuser = True
        user.save()
        return user
