"""Forms that ask a model for a reply, as a tab sends them over its socket.

Those that start a turn have `build_submission`, which also needs the model.
"""

from django import forms
from django.conf import settings

from chatapp.chat.form_fields import FilesField, KeysField, ModelField, ModelsField, NamesField
from chatapp.chat.message_form import MessageForm
from chatapp.chat.settings_forms import SentSettings
from chatapp.models import Continuation, Edit, ModelChoice, Prompt, Retry
from chatapp.text.multiline import MultilineField

NO_MESSAGE = "Type a message first."


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
