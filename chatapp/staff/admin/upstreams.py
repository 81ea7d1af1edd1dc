"""The admin of upstreams: addresses, keys and request parameters, and the check of one."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from chatapp import tools
from chatapp.catalogue import build_endpoint
from chatapp.checks.results import CheckResult
from chatapp.demo.suggestions import SUGGESTIONS
from chatapp.models import (
    AccessRule,
    Fallback,
    Installation,
    Price,
    Suggestion,
    Upstream,
    User,
    audit,
)
from chatapp.models.platform.addresses import parse_origin
from chatapp.parameters.doubts import doubts_about
from chatapp.staff.admin.inquiries import InquiringAdmin
from chatapp.staff.admin.secret_forms import SecretForm, describe_secret
from chatapp.upstream.check import check, model_for_chat
from chatapp.upstream.wire.estimates import cost_of_tools

DEMO_TURNED_OFF = "The built-in demo is now turned off. You can turn it back on."


class UpstreamForm(SecretForm):
    """An upstream with its API key, which is write-only."""

    secret_name = "api_key"  # noqa: S105 - a field's name
    new_secret_name = "new_api_key"  # noqa: S105 - a field's name
    moved_error = "The stored key was entered for another server. Enter a key for this one."

    new_api_key = forms.CharField(
        label="API key",
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown again. Leave empty to keep the stored key. "
        "Enter it again if the address moves to another server: another scheme, host or port.",
    )
    takes_doubtful = forms.BooleanField(
        label="Send these request parameters as they are",
        required=False,
        widget=forms.HiddenInput,  # until there is something to confirm
        help_text="For parameters that only this provider accepts.",
    )

    class Meta:
        model = Upstream
        fields: list[str] = []  # the admin names them

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if clock := self.fields.get("offers_clock"):  # absent if the page is read-only
            tokens = cost_of_tools([tools.CLOCK.as_request()])
            clock.help_text += f" About {tokens} tokens per request; a check measures this."

    def clean(self) -> dict[str, Any]:
        """Ask to confirm unknown parameters, since upstreams silently ignore misspelt ones."""
        fields = super().clean()
        parameters = fields.get("parameters") or {}
        is_new = parameters != self.initial.get("parameters")
        if is_new and (doubts := doubts_about(parameters)):
            self.fields["takes_doubtful"].widget = forms.CheckboxInput()
            if not fields.get("takes_doubtful"):
                remedy = "Correct this, or confirm below that it is intended."
                self.add_error("parameters", ValidationError([*doubts, remedy]))
        if not {"base_url", "new_api_key"}.isdisjoint(self.changed_data):
            self.instance.connected_at = timezone.now()
        return fields

    def goes_elsewhere(self, fields: dict[str, Any]) -> bool:
        """Whether the address is on another server; another path on the same one keeps the key."""
        origin = parse_origin(fields.get("base_url", ""))  # absent if the environment sets it
        return origin is not None and origin != parse_origin(self.initial["base_url"])


async def check_upstream(upstream: Upstream, model: str = "") -> AsyncGenerator[CheckResult, None]:
    """Check an upstream with a few short prompts, which takes up to a minute.

    The check asks `model`, or one of the upstream.
    """
    model = model or model_for_chat(list(upstream.named_models))
    steps = check(build_endpoint(upstream), model, tools.CLOCK.as_request())
    async with aclosing(steps):
        async for step in steps:
            if isinstance(step, CheckResult):
                yield step


async def _list_results(upstream: Upstream) -> list[CheckResult]:
    return [result async for result in check_upstream(upstream)]


def switch_demo_off(request: HttpRequest) -> None:
    """Turn the demo off if the first real upstream is connected in this transaction.

    Its suggestions stay, as the site's own, unless there are others.
    """
    if demo := Upstream.switch_demo_off():
        assert isinstance(request.user, User)
        detail: dict[str, Any] = {"before": {"enabled": True}, "after": {"enabled": False}}
        audit.record("upstream.changed", actor=request.user, about=demo, detail=detail)
        if not Suggestion.list_all():
            Suggestion.replace(SUGGESTIONS)
            detail = {"before": {"suggestions": []}, "after": {"suggestions": list(SUGGESTIONS)}}
            about = Installation.load()
            audit.record("installation.changed", actor=request.user, about=about, detail=detail)
        messages.success(request, DEMO_TURNED_OFF)


def describe_cascade(upstream: Upstream) -> dict[str, Any]:
    """Return what is deleted with an upstream, as the audit log shows it."""
    prices = upstream.prices.filter(source=Price.Source.ADMINISTRATOR)
    fallbacks = Fallback.objects.filter(Q(upstream=upstream) | Q(to_upstream=upstream))
    return {
        "access": AccessRule.objects.filter(upstream=upstream).as_record(),
        "prices": [price.as_audit_record() for price in prices.select_related("upstream")],
        "fallbacks": [
            f"{fallback.model}: {fallback}" for fallback in fallbacks.select_related("to_upstream")
        ],
    }


@admin.register(Upstream)
class UpstreamAdmin(InquiringAdmin):
    form = UpstreamForm
    inquiry = "check"
    limited_by = "upstream"
    list_display = ["name", "base_url", "key", "enabled", "from_environment"]
    fieldsets = [
        (None, {"fields": ["name", "base_url", "new_api_key", "offered_models", "enabled"]}),
        (
            "Requests",
            {
                "fields": [
                    "dialect",
                    "parameters",
                    "takes_doubtful",
                    "offers_tools",
                    "offers_clock",
                    "drains_stopped",
                    "silence_seconds",
                    "image_side",
                ]
            },
        ),
    ]

    def save_model(
        self, request: HttpRequest, obj: Upstream, form: UpstreamForm, change: bool
    ) -> None:
        """Save the upstream. Connecting or enabling the first real one turns the demo off."""
        super().save_model(request, obj, form, change)
        is_new = obj.enabled and (not change or "enabled" in form.changed_data)
        if is_new and not obj.is_demo:
            switch_demo_off(request)

    def describe_cascade(self, row: Upstream) -> dict[str, Any]:
        return describe_cascade(row)

    @admin.display(description="API key")
    def key(self, upstream: Upstream) -> str:
        return describe_secret(upstream.api_key, upstream.secret_problem)

    def get_readonly_fields(self, request: HttpRequest, obj: Upstream | None = None) -> list[str]:
        """Lock what the environment sets again at each start."""
        return ["name", "base_url"] if obj and obj.from_environment else []

    def before_inquiry(self, request: HttpRequest, row: Upstream) -> HttpResponse | None:
        if not row.secret_problem:
            return None
        self.message_user(request, row.secret_problem, messages.ERROR)
        return redirect("admin:chatapp_upstream_change", row.pk)

    def inquire(self, row: Upstream) -> dict[str, Any]:
        """Return the results of a check of the saved upstream."""
        results = async_to_sync(_list_results)(row)
        failure = next((result for result in results if result.has_failed), None)
        return {"title": f"Check of {row}", "results": results, "failure": failure}
