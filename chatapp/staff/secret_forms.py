"""Forms with write-only secrets, and the description of a secret's state."""

from typing import Any

from django import forms

SECRET_CHANGED = "changed"  # noqa: S105 - logged in place of a secret


class SecretForm(forms.ModelForm):  # type: ignore[type-arg]
    """A model form with a write-only secret.

    The form's field for it is not the model's, so that no page can show the secret.
    """

    secret_name: str  # the model's field
    new_secret_name: str  # the form's
    moved_error: str  # the error if it would go elsewhere and is not entered again

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

    @property
    def changes(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The changed settings before and after, for the audit log."""
        before, after = {}, {}
        for name in self.changed_data:
            if name == self.new_secret_name:
                after[name] = SECRET_CHANGED
            else:
                before[name], after[name] = self.initial.get(name), self.cleaned_data[name]
        return before, after

    def _is_stored(self) -> bool:
        return bool(getattr(self.instance, self.secret_name) or self.instance.secret_problem)


def describe_secret(secret: str | None, problem: str) -> str:
    return "can't be read: enter it again" if problem else "stored" if secret else "none"
