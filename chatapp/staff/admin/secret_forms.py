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
    moved_error: str  # the error if it would go elsewhere and is not entered again

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        field = self.fields.get(self.new_secret_name)  # absent if the form sets other fields only
        if field and self.instance.secret_problem:
            field.help_text = escape(self.instance.secret_problem)

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        if new_secret := fields.get(self.new_secret_name):
            setattr(self.instance, self.secret_name, new_secret)
        elif fields.get(f"forget_{self.secret_name}"):
            setattr(self.instance, self.secret_name, None)
        elif self._is_stored() and self.goes_elsewhere(fields):
            # Otherwise anyone who may change the address could have the secret sent to them.
            self.add_error(self.new_secret_name, self.moved_error)
        return fields

    def goes_elsewhere(self, fields: dict[str, Any]) -> bool:
        """Whether the submitted `fields` would send the secret to another place than before."""
        raise NotImplementedError

    def _is_stored(self) -> bool:
        return bool(getattr(self.instance, self.secret_name) or self.instance.secret_problem)


def describe_secret(secret: str | None, problem: str) -> str:
    return "can't be read: enter it again" if problem else "stored" if secret else "none"
