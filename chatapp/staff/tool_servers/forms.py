"""The form of a tool server."""

from typing import Any

from django import forms
from django.utils.html import escape
from django.utils.text import slugify

from chatapp.models import ToolServer
from chatapp.staff.secret_forms import SecretForm
from chatapp.text.multiline import MultilineField
from chatapp.text.visible import VisibleCharField

SECRETS = (
    "One per line: Authorization: Bearer key for a URL, NAME=value for a command. Stored encrypted "
    "and never shown again."
)
NAME = (
    "“Company Wiki” becomes company-wiki, the prefix of its tools' names for models, for example "
    "company-wiki__search."
)
KEEPS_SECRETS = " Leave empty to keep the stored ones."


class ServerNameField(VisibleCharField):
    """Makes a valid name of what was typed, such as company-wiki of “Company Wiki”."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        # What has no Latin letters or digits stays as it is, and is refused.
        return slugify(text.replace("_", "-")).strip("-") or text


class ServerForm(SecretForm):
    """The settings of a tool server, with its headers or environment, which are write-only."""

    secret_name = "secrets"  # noqa: S105 - a field's name
    new_secret_name = "new_secrets"  # noqa: S105 - a field's name
    moved_error = (
        "The stored values were meant for the old address. Enter them again, or delete them."
    )

    new_secrets = MultilineField(
        label="Headers or environment",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )
    forget_secrets = forms.BooleanField(
        label="Delete the stored headers or environment", required=False
    )
    field_order = ["name", "transport", "url", "command", "new_secrets", "forget_secrets"]

    class Meta:
        model = ToolServer
        fields = [
            *("name", "transport", "url", "command"),
            *("enabled", "asks_first", "always_asks", "unasked_tools"),
            *("timeout_seconds", "result_limit_kb"),
        ]
        field_classes = {
            "name": ServerNameField,
            "url": VisibleCharField,
            "command": VisibleCharField,
            "unasked_tools": MultilineField,
        }
        labels = {
            "enabled": "Turned on",
            "asks_first": "Ask before each call",
            "timeout_seconds": "Time limit of a call (seconds)",
            "result_limit_kb": "Size limit of a result (kB)",
        }

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["name"].help_text = NAME
        self.fields["unasked_tools"].widget.attrs |= {"rows": 3, "spellcheck": "false"}
        secrets = self.fields["new_secrets"]
        if self.instance.secret_problem:
            secrets.help_text = escape(self.instance.secret_problem)
            return
        secrets.help_text = SECRETS + KEEPS_SECRETS * bool(self.instance.secrets)
        if not self.instance.secrets:
            del self.fields["forget_secrets"]

    def goes_elsewhere(self, fields: dict[str, Any]) -> bool:
        return not {"transport", "url", "command"}.isdisjoint(self.changed_data)
