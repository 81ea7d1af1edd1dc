"""The base of forms whose fields a tab sends over its socket."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from django import forms


class MessageForm(forms.Form):
    """A form of only the fields that came, and of those that must.

    Cleaning the others, and copying all of them, would take as long as storing a prompt. In
    `cleaned_data` the others have the values of empty fields.
    """

    def __init__(self, fields: Mapping[str, Any], **options: Any) -> None:
        self.base_fields = _SharedFields(  # type: ignore[misc]  # the constructor copies these
            (name, field)
            for name, field in type(self).base_fields.items()
            if name in fields or field.required
        )
        super().__init__(fields, **options)

    def clean(self) -> None:
        self.cleaned_data = {**_empty_values(type(self)), **self.cleaned_data}
        super().clean()


class _SharedFields(dict[str, forms.Field]):
    """Fields that every form shares, since cleaning does not change them."""

    def __deepcopy__(self, memo: object) -> dict[str, forms.Field]:
        return dict(self)


@cache
def _empty_values(form: type[forms.Form]) -> dict[str, object]:
    return {
        name: field.clean(None) for name, field in form.base_fields.items() if not field.required
    }
