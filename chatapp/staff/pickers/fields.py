"""Form fields with suggestions, which `static/js/staff/picker.js` shows."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.urls import reverse_lazy

from chatapp.models import User
from chatapp.models.accounts.users import MAX_LOGIN_LENGTH
from chatapp.staff.pickers.queries import people

MAX_GUESSES = 3  # people named in an error


class PickerInput(forms.TextInput):
    """A text field with suggestions from the URL with this name and these arguments.

    `provider` names the form's field of a model's provider: suggestions are of the provider chosen
    there, and picking a model chooses its provider.
    """

    def __init__(self, url: str, *arguments: int, provider: str = "", **attrs: str) -> None:
        own = {"data-picker": reverse_lazy(url, args=arguments), "autocomplete": "off"}
        own |= {"autocapitalize": "none", "spellcheck": "false"}
        super().__init__(attrs | own | ({"data-provider": provider} if provider else {}))


class PersonField(forms.CharField):
    """A person, by username or email address; its value is the person, or None."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=MAX_LOGIN_LENGTH,
            widget=PickerInput("pick-people", placeholder="Name or email address"),
            **options,
        )

    def clean(self, value: Any) -> User | None:
        login = super().clean(value)
        if not login:
            return None
        if person := User.find_by_login(login):
            return person
        meant = " or ".join(option.value for option in people(login)[:MAX_GUESSES])
        raise ValidationError(
            "Nobody has this username or email address."
            + (f" Did you mean {meant}?" if meant else "")
        )
