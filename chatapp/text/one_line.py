"""A form field for a name or title on one line."""

from django import forms

from chatapp.text.visible import VisibleCharField


class OneLineField(VisibleCharField):
    """A name or title: one line of at most `max_length` characters; `what` names it in errors."""

    def __init__(self, max_length: int, what: str) -> None:
        super().__init__(error_messages={"required": f"Type {what[0].lower()}{what[1:]} first."})
        self._longest, self._what = max_length, what

    def clean(self, value: str | None) -> str:
        line = " ".join(super().clean(value).split())
        if len(line) > self._longest:
            raise forms.ValidationError(f"{self._what} has at most {self._longest} characters.")
        return line
