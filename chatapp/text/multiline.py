"""A form field for multi-line text that normalizes its line endings."""

from typing import Any

from django import forms

from chatapp.text.visible import VisibleCharField


class MultilineField(VisibleCharField):
    """A textarea whose lines are separated by LF only.

    A browser submits each line break as CRLF (HTML, "constructing the entry list") but counts it as
    one character for maxlength, so without this a text within its maximum length could be refused.
    """

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return text.replace("\r\n", "\n").replace("\r", "\n") if isinstance(text, str) else text
