"""Tool servers: where they are, their secrets, what may be called; and what one offers now."""

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
from chatapp.staff.admin.secret_forms import SecretForm, state_of_secret
from chatapp.text.multiline import LinesField
from chatapp.upstream.wire.estimates import cost_of_tools


class ToolServerForm(SecretForm):
    secret_name = "secrets"  # noqa: S105 - a field's name
    new_secret_name = "new_secrets"  # noqa: S105 - a field's name
    sent_to = frozenset({"transport", "url", "command"})
    moved = "What is stored was meant for the old address. Enter it again, or forget it."

    may_run_commands = False  # set for each request

    new_secrets = LinesField(
        label="Headers or environment",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
        help_text="One a line: <code>Authorization: Bearer key</code> for a URL, "
        "<code>NAME=value</code> for a command. Stored encrypted and never shown again. Leave "
        "empty to keep what is stored.",
    )
    forget_secrets = forms.BooleanField(
        label="Forget the stored headers or environment", required=False
    )

    class Meta:
        model = ToolServer
        fields: list[str] = []  # the admin names them

    def clean_transport(self) -> str:
        transport: str = self.cleaned_data["transport"]
        if transport == ToolServer.Transport.STDIO and not self.may_run_commands:
            raise ValidationError(
                "A command runs on this machine, so only a superuser may set one. Ask one, or use "
                "streamable HTTP."
            )
        return transport


@admin.register(ToolServer)
class ToolServerAdmin(InquiringAdmin):
    form = ToolServerForm
    inquiry = "tools"
    list_display = ["name", "transport", "stored", "enabled", "asks_first"]
    fields = [
        "name",
        "enabled",
        "transport",
        "url",
        "command",
        "new_secrets",
        "forget_secrets",
        "asks_first",
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
        form.may_run_commands = is_superuser(request)  # a class of this request's own
        return form

    def has_change_permission(self, request: HttpRequest, obj: ToolServer | None = None) -> bool:
        """A command is any program at all, so it is a superuser's to set and to change."""
        is_command = obj is not None and obj.transport == ToolServer.Transport.STDIO
        if is_command and not is_superuser(request):
            return False
        return super().has_change_permission(request, obj)

    def taken_along_by(self, row: ToolServer) -> dict[str, Any]:
        return {"access": AccessRule.objects.filter(tool_server=row).as_record()}

    @admin.display(description="Headers or environment")
    def stored(self, server: ToolServer) -> str:
        return state_of_secret(server.secrets, server.secret_problem)

    def inquire(self, asked: ToolServer) -> dict[str, Any]:
        """What the server offers now, or why it offers nothing."""
        offered, problem = async_to_sync(tools.offered_by)(asked)
        tokens = cost_of_tools([tool.as_request() for tool in offered])
        return {
            "title": f"What {asked} offers",
            "offered": offered,
            "cost": f"{tokens:,}",
            "problem": problem,
        }
