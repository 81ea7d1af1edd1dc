"""Forms for attached files. Each error is a sentence that says the limit."""

import re

from django import forms
from django.conf import settings
from django.template.defaultfilters import filesizeformat

from chatapp.models.files.attachments import Attachment
from chatapp.text.file_names import clean_file_name
from chatapp.text.multiline import MultilineField

EMPTY = "This file is empty."
TOO_LARGE = "This file has {}. The limit is {}."
TOO_LONG = "This text has {:,} characters. The limit is {:,}."
NOT_PAGES = "Write a page such as 3, or a range such as 1-10."


class UploadForm(forms.Form):
    """The name and size of a file that is about to be uploaded, and the draft it is for."""

    name = forms.CharField(strip=False, required=False)
    size = forms.IntegerField(min_value=0)
    conversation = forms.UUIDField(required=False)
    form = forms.UUIDField(required=False)  # the key of a form, if the draft is one's
    resumed = forms.UUIDField(required=False)  # an upload that stopped, if it is the same file

    def clean_name(self) -> str:
        return clean_file_name(self.cleaned_data["name"])

    def clean_size(self) -> int:
        size, max_bytes = self.cleaned_data["size"], settings.CHATAPP_FILE_BYTES
        if not size:
            raise forms.ValidationError(EMPTY)
        if size > max_bytes:
            raise forms.ValidationError(
                TOO_LARGE.format(filesizeformat(size), filesizeformat(max_bytes))
            )
        return int(size)


class PagesForm(forms.Form):
    """The pages of a document to send: one, a range, or all."""

    pages = forms.CharField(required=False, max_length=40)

    def __init__(self, data: object, attachment: Attachment) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self._count = attachment.content.page_count if attachment.content else 0

    def clean_pages(self) -> tuple[int, int]:
        """Return the first and the last page; zeros for all of them."""
        text = self.cleaned_data["pages"]
        if not text:
            return 0, 0
        match = re.fullmatch(r"(\d{1,9})(?:\s*[-\u2013]\s*(\d{1,9}))?", text, re.ASCII)
        if not match:
            raise forms.ValidationError(NOT_PAGES)
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= self._count:
            raise forms.ValidationError(f"This file has pages 1 to {self._count}.")
        return first, last


class TextForm(forms.Form):
    """The new text of a plain text file."""

    text = MultilineField(strip=False, required=False)

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"]
        if not text.strip():
            raise forms.ValidationError(EMPTY)
        if len(text) > (max_characters := settings.CHATAPP_FILE_CHARACTERS):
            raise forms.ValidationError(TOO_LONG.format(len(text), max_characters))
        return text


class AltForm(forms.Form):
    """A person's description of an image."""

    alt = forms.CharField(required=False, max_length=500)
