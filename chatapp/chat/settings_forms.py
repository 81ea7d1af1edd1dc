"""Forms of a chat's settings: those in its panel, and what is chosen at its composer."""

from typing import Any

from django import forms
from django.core import signing

from chatapp.chat.form_fields import OUT_OF_DATE, KeysField, ModelField
from chatapp.chat.message_form import MessageForm
from chatapp.library.presets.parameter_form import ParameterForm
from chatapp.models import ParameterChoice


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


class ChooseForm(MessageForm, ParameterForm):
    """The choices made at the composer of an existing chat."""

    conversation = forms.UUIDField()
    off_servers = KeysField(required=False)

    @property
    def value_object(self) -> ParameterChoice:
        off_servers = self.cleaned_data["off_servers"] if "off_servers" in self.data else None
        return ParameterChoice(self.cleaned_data["conversation"], self.control_values, off_servers)
