"""Text of several lines as a form takes it: its lines end as the box on the page has them."""

from typing import Any

from django import forms

from chatapp.seen import SeenField


class LinesField(SeenField):
    """Whatever is typed into a textarea, with LF alone between its lines.

    A browser sends CRLF for what its box, and the box's maxlength, count as one character (HTML,
    "constructing the entry list"), so a text would be refused within its own length.
    """

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return text.replace("\r\n", "\n").replace("\r", "\n") if isinstance(text, str) else text
