"""Forms of saved prompts. Each error is a sentence that says the limit or what to do."""

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

from django import forms

from chatapp.library.forms import ItemForm
from chatapp.models import SavedPrompt, User
from chatapp.models.library.prompts import (
    MAX_BLANKS,
    MAX_COMMAND_LENGTH,
    MAX_TEXT_LENGTH,
    MAX_TITLE_LENGTH,
    validate_command,
)
from chatapp.text.blanks import Blank, Kind, find_mistakes, has_more_blanks_than
from chatapp.text.multiline import MultilineField
from chatapp.text.one_line import OneLineField

MAX_VALUE_LENGTH = 20_000  # characters in a blank
MAX_REMARKS = 3
NO_BLANK = (
    "“{}” isn't a blank, so it is sent as it stands. A choice is written "
    "{{{{tone|formal, casual}}}}; “Blanks” on this page lists the others."
)


class PromptForm(ItemForm):
    title = OneLineField(MAX_TITLE_LENGTH, "A title")
    command = forms.CharField(
        required=False,
        help_text="Type a slash and this in the message box to find the prompt, for example "
        "/weekly-report.",
    )
    text = MultilineField(
        max_length=MAX_TEXT_LENGTH,
        widget=forms.Textarea({"rows": 12}),
        error_messages={
            "required": "Type the text of the prompt first.",
            "max_length": f"A prompt has at most {MAX_TEXT_LENGTH:,} characters.",
        },
    )

    def __init__(self, data: Any, user: User, prompt: SavedPrompt | None = None) -> None:
        initial = prompt.content | {"opened": prompt.version} if prompt else {}
        super().__init__(data, initial=initial)
        self.fields["title"].widget.attrs |= {"dir": "auto"}
        self.fields["text"].widget.attrs |= {"dir": "auto"}
        self.fields["command"].widget.attrs |= {"autocapitalize": "none", "spellcheck": "false"}
        self._others = SavedPrompt.objects.owned_by(user)
        if prompt and prompt.owner_id != user.pk:
            self._others = SavedPrompt.objects.none()  # the owner's others are not this person's
        elif prompt:
            self._others = self._others.exclude(pk=prompt.pk)

    def clean_command(self) -> str:
        command = self.cleaned_data["command"].removeprefix("/").lower()
        if not command:
            return ""
        if len(command) > MAX_COMMAND_LENGTH:
            raise forms.ValidationError(f"A command has at most {MAX_COMMAND_LENGTH} characters.")
        validate_command(command)
        if taken := self._others.filter(command=command).first():
            raise forms.ValidationError(
                f"The prompt “{taken.title}” has this command already. Choose another one."
            )
        return str(command)

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"]
        if has_more_blanks_than(MAX_BLANKS, text):
            raise forms.ValidationError(f"A prompt has at most {MAX_BLANKS} blanks.")
        return text

    @property
    def remarks(self) -> Sequence[str]:
        mistakes = find_mistakes(self.cleaned_data["text"])[:MAX_REMARKS]
        return [NO_BLANK.format(shorten(mistake, 80)) for mistake in mistakes]

    @property
    def content(self) -> dict[str, str]:
        return {name: self.cleaned_data[name] for name in SavedPrompt.CONTENT}


class FillForm(forms.Form):
    """A field for each blank of a prompt, with remembered values."""

    WIDGETS = {
        Kind.LINES: "textarea",
        Kind.DATE: "date",
        Kind.TIME: "time",
        Kind.DATETIME: "datetime-local",
        Kind.MONTH: "month",
        Kind.NUMBER: "number",
    }

    def __init__(
        self, data: Any, blanks: list[Blank], remembered: Mapping[str, str], today: str
    ) -> None:
        super().__init__(data)
        self._blanks = blanks
        for number, blank in enumerate(blanks):
            default = today if blank.default == "today" and blank.kind is Kind.DATE else None
            field = _field(blank)
            field.initial = remembered.get(blank.name, default or blank.default)
            if blank.options and field.initial not in blank.options:
                field.initial = blank.default
            self.fields[f"blank-{number}"] = field

    @property
    def values(self) -> dict[str, str]:
        """The values by the blanks' names."""
        return {
            blank.name: self.cleaned_data[f"blank-{number}"]
            for number, blank in enumerate(self._blanks)
        }


def _field(blank: Blank) -> forms.Field:
    label = blank.name[0].upper() + blank.name[1:].replace("_", " ")
    options: dict[str, Any] = {"label": label, "required": blank.is_required}
    if blank.kind is Kind.CHOICE:
        choices = [(option, option) for option in blank.options]
        return forms.ChoiceField(choices=choices, **options)
    kind = FillForm.WIDGETS.get(blank.kind, "text")
    attributes = {"placeholder": blank.placeholder, "dir": "auto", "autocomplete": "off"}
    widget: forms.Widget = forms.TextInput(attributes)
    if blank.kind is Kind.LINES:
        widget = forms.Textarea(attributes | {"rows": 4})
    elif kind != "text":
        widget = forms.TextInput({"type": kind} | ({"step": "any"} if kind == "number" else {}))
    return MultilineField(widget=widget, max_length=MAX_VALUE_LENGTH, strip=False, **options)
