"""Forms with write-only secrets, and the description of a secret's state."""

from typing import Any

from django import forms
from django.utils.html import escape


class SecretForm(forms.ModelForm):  # type: ignore[type-arg]
    """A model form with a write-only secret.

    The form's field for it is not the model's, so that no page can show the secret.
    """

    secret_name: str  # the model's field
    new_secret_name: str  # the form's
    sent_to: frozenset[str]  # the fields that say where the secret goes
    moved: str  # the error if those change and the secret is not entered again

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
            # Otherwise anyone who may change the address could have the secret sent to them.
            self.add_error(self.new_secret_name, self.moved)
        return fields

    def _is_stored(self) -> bool:
        return bool(getattr(self.instance, self.secret_name) or self.instance.secret_problem)


def state_of_secret(secret: str | None, problem: str) -> str:
    return "can't be read: enter it again" if problem else "stored" if secret else "none"
