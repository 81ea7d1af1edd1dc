"""Forms of a conversation's page in the review."""

from django import forms

from chatapp.models.review.reviews import MAX_NOTE_LENGTH, MAX_REASON_LENGTH
from chatapp.text.multiline import MultilineField
from chatapp.text.visible import VisibleCharField


class SentForm(forms.Form):
    """A form whose errors are shown as one message at the top of the page."""

    @property
    def refusal(self) -> str:
        return " ".join(str(error) for errors in self.errors.values() for error in errors)


class OpeningForm(SentForm):
    reason = VisibleCharField(
        label="Why are you opening this chat?",
        max_length=MAX_REASON_LENGTH,
        widget=forms.TextInput(attrs={"autocomplete": "off", "data-focused": True}),
        error_messages={"required": "Enter a reason first."},
        help_text="The chat's owner sees this on their Privacy page.",
    )


class RevealForm(SentForm):
    reason = VisibleCharField(
        label="Why do you need the owner's name?",
        max_length=MAX_REASON_LENGTH,
        widget=forms.TextInput(attrs={"autocomplete": "off", "id": "reveal-reason"}),
        error_messages={"required": "Enter a reason for revealing the name."},
    )


class NoteForm(SentForm):
    text = MultilineField(
        label="Note",
        max_length=MAX_NOTE_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Write the note first."},
        help_text="Visible to reviewers only.",
    )
    message = forms.UUIDField(required=False, widget=forms.HiddenInput)
