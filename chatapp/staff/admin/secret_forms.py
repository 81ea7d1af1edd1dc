"""Forms that take a secret, and how its state is told."""

from typing import Any

from django import forms
from django.utils.html import escape


class SecretForm(forms.ModelForm):  # type: ignore[type-arg]
    """The secret goes in and never comes out: the form's field for it is not the model's, so no
    page can show it.
    """

    secret_name: str  # the model's field
    new_secret_name: str  # the form's
    sent_to: frozenset[str]  # the fields that say where the secret goes
    moved: str  # what is said where those change, and the secret is not given again

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.secret_problem:
            self.fields[self.new_secret_name].help_text = escape(self.instance.secret_problem)

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        if given := fields.get(self.new_secret_name):
            setattr(self.instance, self.secret_name, given)
        elif fields.get(f"forget_{self.secret_name}"):
            setattr(self.instance, self.secret_name, None)
        elif self._is_stored() and self.sent_to & set(self.changed_data):
            # Or whoever may change the address could have the secret sent to himself.
            self.add_error(self.new_secret_name, self.moved)
        return fields

    def _is_stored(self) -> bool:
        return bool(getattr(self.instance, self.secret_name) or self.instance.secret_problem)


def state_of_secret(secret: str | None, problem: str) -> str:
    return "can't be read: enter it again" if problem else "stored" if secret else "none"
