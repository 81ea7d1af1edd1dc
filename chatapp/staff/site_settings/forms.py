"""The installation's settings, each with what is wrong with it at its field."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.forms import BoundField

from chatapp.models import Installation, Logo, Upstream
from chatapp.models.branding import OWN_ACCENT, OWN_NAME
from chatapp.models.logos import MEDIA_TYPES, MOST_BYTES, MOST_PIXELS, TOO_LARGE, logo_of
from chatapp.text.multiline import LinesField
from chatapp.text.visible import SeenField
from chatapp.upstream.wire.images import Image

NOTHING_CHOSEN = {
    "title_upstream": "None: the first words of the prompt",
    "default_upstream": "None: the first that is offered",
}


class ColourInput(forms.TextInput):
    """A browser's picker, which always has a colour: the app's own stands for none."""

    input_type = "color"

    def format_value(self, value: Any) -> str | None:
        shown: str | None = super().format_value(value or OWN_ACCENT)
        return shown

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
        colour = str(super().value_from_datadict(data, files, name) or "").lower()
        return "" if colour == OWN_ACCENT else colour


class SettingsForm(forms.ModelForm):  # type: ignore[type-arg]
    logo = forms.FileField(
        required=False,
        widget=forms.FileInput({"accept": ",".join(MEDIA_TYPES)}),
        help_text=f"In place of the app's mark. PNG, JPEG or WebP, up to {MOST_BYTES // 1024} KiB "
        f"and {MOST_PIXELS:,} pixels a side; it is shown in a small square.",
    )
    removes_logo = forms.BooleanField(label="Remove the logo", required=False)

    class Meta:
        model = Installation
        fields = [
            *("name", "accent"),
            *("notice", "default_upstream", "default_model"),
            *("title_upstream", "title_model"),
        ]
        field_classes = {"name": SeenField, "notice": LinesField}
        widgets = {
            "accent": ColourInput,
            "name": forms.TextInput({"placeholder": OWN_NAME}),
            "notice": forms.Textarea({"rows": 4}),
            "default_model": forms.TextInput({"list": "models", "autocomplete": "off"}),
            "title_model": forms.TextInput({"list": "models", "autocomplete": "off"}),
        }

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for name, words in NOTHING_CHOSEN.items():
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.empty_label = words
        if not self.instance.logo_version:
            del self.fields["removes_logo"]

    def clean_logo(self) -> Image | None:
        """What was uploaded, as an image."""
        given: Any = self.cleaned_data["logo"]
        if not isinstance(given, UploadedFile):
            return None
        if given.size is None or given.size > MOST_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        return logo_of(given.read())

    def store(self) -> tuple[dict[str, str], dict[str, str]]:
        """In a transaction; returns what was before and what is after, of what has changed."""
        stored, wanted = Installation.this(), self.instance
        if image := self.cleaned_data["logo"]:
            wanted.logo_version = Logo.replace(image)
        elif self.cleaned_data.get("removes_logo"):
            wanted.logo_version = Logo.replace(None)
        is_other_logo = stored.logo_version != wanted.logo_version
        told = self.Meta.fields
        changed = [name for name in told if getattr(stored, name) != getattr(wanted, name)]
        if changed or is_other_logo:
            wanted.save()
        before, after = (
            {name: _told(getattr(one, name)) for name in changed} for one in (stored, wanted)
        )
        return before, after | ({"logo": "changed"} if is_other_logo else {})

    @property
    def sections(self) -> Sequence[tuple[str, str, Sequence[BoundField]]]:
        """The anchor of each, its heading and its fields."""
        there = [
            ("branding", "Branding", ("name", "accent", "logo", "removes_logo")),
            ("new-chats", "New chats", ("notice", "default_upstream", "default_model")),
            ("titles", "Titles of conversations", ("title_upstream", "title_model")),
        ]
        return [
            (anchor, heading, [self[name] for name in names if name in self.fields])
            for anchor, heading, names in there
        ]


def _told(value: Upstream | str | None) -> str:
    """In the audit log."""
    return f"{value} ({value.pk})" if isinstance(value, Upstream) else value or ""
