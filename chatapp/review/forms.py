"""What a reviewer types on the page of a conversation."""

from django import forms

from chatapp.models.reviews import LONGEST_NOTE, LONGEST_REASON


class OpeningForm(forms.Form):
    reason = forms.CharField(
        label="Why do you open it?",
        max_length=LONGEST_REASON,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Who wrote it reads this on their page of privacy.",
    )


class NoteForm(forms.Form):
    text = forms.CharField(
        label="Note",
        max_length=LONGEST_NOTE,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="For reviewers.",
    )
    message = forms.UUIDField(required=False, widget=forms.HiddenInput)
