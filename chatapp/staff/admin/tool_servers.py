"""The admin of tool servers: addresses, secrets, allowed tools, and a page that lists the tools."""

from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from chatapp import tools
from chatapp.models import AccessRule, ToolServer
from chatapp.staff.admin.inquiries import InquiringAdmin
from chatapp.staff.admin.people import is_superuser
from chatapp.staff.admin.secret_forms import SecretForm, describe_secret
from chatapp.text.multiline import MultilineField
from chatapp.upstream.wire.estimates import cost_of_tools


class ToolServerForm(SecretForm):
    """A tool server with its headers or environment, which are write-only."""

    secret_name = "secrets"  # noqa: S105 - a field's name
    new_secret_name = "new_secrets"  # noqa: S105 - a field's name
    moved_error = (
        "The stored values were meant for the old address. Enter them again, or delete them."
    )

    may_run_commands = False  # set for each request

    new_secrets = MultilineField(
        label="Headers or environment",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
        help_text="One per line: <code>Authorization: Bearer key</code> for a URL, "
        "<code>NAME=value</code> for a command. Stored encrypted and never shown again. Leave "
        "empty to keep the stored values.",
    )
    forget_secrets = forms.BooleanField(
        label="Delete the stored headers or environment", required=False
    )

    class Meta:
        model = ToolServer
        fields: list[str] = []  # the admin names them

    def goes_elsewhere(self, fields: dict[str, Any]) -> bool:
        return not {"transport", "url", "command"}.isdisjoint(self.changed_data)

    def clean_transport(self) -> str:
        transport: str = self.cleaned_data["transport"]
        if transport == ToolServer.Transport.STDIO and not self.may_run_commands:
            raise ValidationError(
                "A command runs on this machine, so only a superuser may set one. Ask a superuser, "
                "or use streamable HTTP."
            )
        return transport


@admin.register(ToolServer)
class ToolServerAdmin(InquiringAdmin):
    form = ToolServerForm
    inquiry = "tools"
    list_display = ["name", "transport", "secrets_state", "enabled", "asks_first"]
    fields = [
        "name",
        "enabled",
        "transport",
        "url",
        "command",
        "new_secrets",
        "forget_secrets",
        "asks_first",
        "always_asks",
        "unasked_tools",
        "timeout_seconds",
        "result_limit_kb",
    ]

    def get_form(
        self,
        request: HttpRequest,
        obj: ToolServer | None = None,
        change: bool = False,
        **options: Any,
    ) -> Any:
        form: Any = super().get_form(request, obj, change, **options)
        form.may_run_commands = is_superuser(request)  # the class belongs to this request
        return form

    def has_change_permission(self, request: HttpRequest, obj: ToolServer | None = None) -> bool:
        """Only superusers may change a server with a command, as that can run any program."""
        is_command = obj is not None and obj.transport == ToolServer.Transport.STDIO
        if is_command and not is_superuser(request):
            return False
        return super().has_change_permission(request, obj)

    def describe_cascade(self, row: ToolServer) -> dict[str, Any]:
        return {"access": AccessRule.objects.filter(tool_server=row).as_record()}

    @admin.display(description="Headers or environment")
    def secrets_state(self, server: ToolServer) -> str:
        return describe_secret(server.secrets, server.secret_problem)

    def inquire(self, row: ToolServer) -> dict[str, Any]:
        """Return the tools the server offers now, or why it offers none."""
        offered, problem = async_to_sync(tools.list_server_tools)(row)
        tokens = cost_of_tools([tool.as_request() for tool in offered])
        return {
            "title": f"Tools of {row}",
            "offered": offered,
            "cost": f"{tokens:,}",
            "problem": problem,
        }
