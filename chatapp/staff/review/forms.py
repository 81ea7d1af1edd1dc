"""What a reviewer types on the page of a conversation."""

from django import forms

from chatapp.models.reviews import LONGEST_NOTE, LONGEST_REASON
from chatapp.text.multiline import LinesField
from chatapp.text.visible import SeenField


class SentForm(forms.Form):
    """A form of the page, where what is wrong with it stands above all."""

    @property
    def refusal(self) -> str:
        return " ".join(str(one) for errors in self.errors.values() for one in errors)


class OpeningForm(SentForm):
    reason = SeenField(
        label="Why do you open it?",
        max_length=LONGEST_REASON,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Say why first."},
        help_text="Who wrote it reads this on their page of privacy.",
    )


class RevealForm(SentForm):
    reason = SeenField(
        label="Why must you know whose it is?",
        max_length=LONGEST_REASON,
        widget=forms.TextInput(attrs={"autocomplete": "off", "id": "reveal-reason"}),
        error_messages={"required": "Say why you must know whose it is."},
    )


class NoteForm(SentForm):
    text = LinesField(
        label="Note",
        max_length=LONGEST_NOTE,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Write the note first."},
        help_text="For reviewers.",
    )
    message = forms.UUIDField(required=False, widget=forms.HiddenInput)
