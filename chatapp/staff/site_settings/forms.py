"""The form of the installation's settings, including its logo."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import UploadedFile
from django.forms import BoundField

from chatapp.models import Installation, Logo, Suggestion, Upstream
from chatapp.models.platform.branding import OWN_ACCENT, OWN_NAME
from chatapp.models.platform.logos import MAX_BYTES, MAX_PIXELS, MEDIA_TYPES, TOO_LARGE, parse_logo
from chatapp.staff.pickers.fields import PickerInput
from chatapp.text.multiline import MultilineField
from chatapp.text.visible import VisibleCharField
from chatapp.upstream.wire.images import Image

NOTHING_CHOSEN = {
    "title_upstream": "None (use the first words of the prompt)",
    "default_upstream": "None (use the first available)",
}


GROUPS = ("sharing_groups", "api_groups")


class ColourInput(forms.TextInput):
    """The browser's colour picker. It cannot be empty, so the app's own colour means none."""

    input_type = "color"

    def format_value(self, value: Any) -> str | None:
        text: str | None = super().format_value(value or OWN_ACCENT)
        return text

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
        colour = str(super().value_from_datadict(data, files, name) or "").lower()
        return "" if colour == OWN_ACCENT else colour


class SettingsForm(forms.ModelForm):  # type: ignore[type-arg]
    """The settings of the installation. Save them with `store`."""

    logo = forms.FileField(
        required=False,
        widget=forms.FileInput({"accept": ",".join(MEDIA_TYPES)}),
        help_text=f"Replaces the app's logo. PNG, JPEG or WebP, up to {MAX_BYTES // 1024} KiB and "
        f"{MAX_PIXELS:,} pixels per side. It is shown in a small square.",
    )
    removes_logo = forms.BooleanField(label="Remove the logo", required=False)
    sharing_groups, api_groups = (
        forms.ModelMultipleChoiceField(
            Group.objects.order_by("name"),
            label="Groups",
            required=False,
            widget=forms.CheckboxSelectMultiple,
        )
        for _ in GROUPS
    )
    suggestions = MultilineField(
        required=False,
        widget=forms.Textarea({"rows": 4}),
        help_text="Prompts that a new chat offers, one per line, at most "
        f"{Suggestion.MAX_SHOWN}. A click sends one as it is.",
    )

    class Meta:
        model = Installation
        fields = [
            *("name", "accent"),
            *("notice", "default_upstream", "default_model"),
            "closing",
            *("who_shares", "allows_public_links", "share_days", "who_uses_api"),
            *("title_upstream", "title_model"),
        ]
        field_classes = {"name": VisibleCharField, "notice": MultilineField}
        labels = {
            "title_upstream": "Provider for titles",
            "default_upstream": "Provider of new chats",
        }
        widgets = {
            "accent": ColourInput,
            "name": forms.TextInput({"placeholder": OWN_NAME}),
            "notice": forms.Textarea({"rows": 4}),
            "default_model": PickerInput("pick-models", provider="default_upstream"),
            "title_model": PickerInput("pick-models", provider="title_upstream"),
        }

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for name, words in NOTHING_CHOSEN.items():
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.empty_label = words
        for name in ("closing", "who_shares", "who_uses_api"):
            self.fields[name].required = False  # without an answer it stays as it is
        are_groups = Group.objects.exists()
        for name in GROUPS:
            self.initial[name] = list(getattr(self.instance, name).order_by("name"))
            if not are_groups:
                del self.fields[name]
        self.initial["suggestions"] = "\n".join(Suggestion.list_all())
        if not self.instance.logo_version:
            del self.fields["removes_logo"]

    def clean_logo(self) -> Image | None:
        """Return the uploaded image; None if there is none."""
        upload: Any = self.cleaned_data["logo"]
        if not isinstance(upload, UploadedFile):
            return None
        if upload.size is None or upload.size > MAX_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        return parse_logo(upload.read())

    def clean_suggestions(self) -> list[str]:
        """Return the suggestions, one per line."""
        lines = [line.strip() for line in self.cleaned_data["suggestions"].splitlines()]
        suggestions = [line for line in lines if line]
        if suggestions == Suggestion.list_all():
            return suggestions
        if len(suggestions) > Suggestion.MAX_SHOWN:
            raise forms.ValidationError(f"Enter at most {Suggestion.MAX_SHOWN} suggestions.")
        if any(len(suggestion) > Suggestion.MAX_LENGTH for suggestion in suggestions):
            raise forms.ValidationError(
                f"A suggestion can have {Suggestion.MAX_LENGTH} characters at most."
            )
        return suggestions

    def store(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Save the changes, and return the changed settings before and after, for the audit log.

        Call it in a transaction.
        """
        stored, installation = Installation.load(), self.instance
        if image := self.cleaned_data["logo"]:
            installation.logo_version = Logo.replace(image)
        elif self.cleaned_data.get("removes_logo"):
            installation.logo_version = Logo.replace(None)
        is_other_logo = stored.logo_version != installation.logo_version
        changed = [
            name
            for name in self.Meta.fields
            if getattr(stored, name) != getattr(installation, name)
        ]
        if changed or is_other_logo:
            installation.save()
        before: dict[str, Any] = {name: _log_text(getattr(stored, name)) for name in changed}
        after: dict[str, Any] = {name: _log_text(getattr(installation, name)) for name in changed}
        if is_other_logo:
            after["logo"] = "changed"
        suggestions, new_suggestions = Suggestion.list_all(), self.cleaned_data["suggestions"]
        if suggestions != new_suggestions:
            Suggestion.replace(new_suggestions)
            before["suggestions"], after["suggestions"] = suggestions, new_suggestions
        for name in GROUPS:
            groups = self.cleaned_data.get(name, ())
            if self.initial[name] != list(groups):
                installation.save()  # its row may not exist yet
                getattr(installation, name).set(groups)
                before[name] = [group.name for group in self.initial[name]]
                after[name] = [group.name for group in groups]
        return before, after

    @property
    def sections(self) -> Sequence[tuple[str, str, Sequence[BoundField]]]:
        """The anchor, heading and fields of each section of the page."""
        sections = [
            ("branding", "Branding", ("name", "accent", "logo", "removes_logo")),
            (
                "new-chats",
                "New chats",
                ("notice", "suggestions", "default_upstream", "default_model"),
            ),
            ("closing", "Closed tabs", ("closing",)),
            (
                "sharing",
                "Sharing",
                ("who_shares", "sharing_groups", "allows_public_links", "share_days"),
            ),
            ("api", "API", ("who_uses_api", "api_groups")),
            ("titles", "Chat titles", ("title_upstream", "title_model")),
        ]
        return [
            (anchor, heading, [self[name] for name in names if name in self.fields])
            for anchor, heading, names in sections
        ]


def _log_text(value: Upstream | str | int | None) -> str | int:
    """Return a value as the audit log shows it."""
    if isinstance(value, Upstream):
        return f"{value} ({value.pk})"
    return "" if value is None else value
