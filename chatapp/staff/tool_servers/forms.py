"""The form of a tool server."""

from typing import Any

from django.utils.text import slugify

from chatapp.staff.admin.recorded import SECRET_CHANGED, is_secret
from chatapp.staff.admin.tool_servers import ToolServerForm
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


class ServerForm(ToolServerForm):
    """The settings of a tool server, for an administrator."""

    may_run_commands = True
    field_order = ["name", "transport", "url", "command", "new_secrets", "forget_secrets"]

    class Meta(ToolServerForm.Meta):
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
            return  # it is the help
        secrets.help_text = SECRETS + KEEPS_SECRETS * bool(self.instance.secrets)
        if not self.instance.secrets:
            del self.fields["forget_secrets"]

    @property
    def changes(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The changed settings before and after, for the audit log."""
        before, after = {}, {}
        for name in self.changed_data:
            if is_secret(self, name):
                after[name] = SECRET_CHANGED
            else:
                before[name], after[name] = self.initial.get(name), self.cleaned_data[name]
        return before, after
