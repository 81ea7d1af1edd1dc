"""Upstreams: where they are, their keys, what goes along with requests; and the check of one."""

from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from chatapp import tools
from chatapp.catalogue import endpoint_of
from chatapp.models import AccessRule, Price, Upstream, User, audit
from chatapp.staff.admin.inquiries import InquiringAdmin
from chatapp.staff.admin.secret_forms import SecretForm, state_of_secret
from chatapp.upstream.check import Report, check, model_for_chat
from chatapp.upstream.wire.estimates import cost_of_tools
from chatapp.upstream.wire.parameters import doubts_about

DEMO_WENT = (
    "The built-in demo is switched off now. Who wants it beside this can switch it on again."
)


class UpstreamForm(SecretForm):
    secret_name = "api_key"  # noqa: S105 - a field's name
    new_secret_name = "new_api_key"  # noqa: S105 - a field's name
    sent_to = frozenset({"base_url"})
    moved = "The stored key was meant for the old address. Enter a key again."

    new_api_key = forms.CharField(
        label="API key",
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown again. Leave empty to keep what is stored.",
    )
    takes_doubtful = forms.BooleanField(
        label="Send these request parameters as they are",
        required=False,
        widget=forms.HiddenInput,  # until there is something to confirm
        help_text="For what this upstream takes, and others do not.",
    )

    class Meta:
        model = Upstream
        fields: list[str] = []  # the admin names them

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if clock := self.fields.get("offers_clock"):  # not where the page only shows
            tokens = cost_of_tools([tools.CLOCK.as_request()])
            clock.help_text += f" About {tokens} tokens a request; a check measures them."

    def clean(self) -> dict[str, Any]:
        """Upstreams pass over a misspelt parameter without a word, so it is asked about here."""
        fields = super().clean()
        parameters = fields.get("parameters") or {}
        is_new = parameters != self.initial.get("parameters")
        if is_new and (doubts := doubts_about(parameters)):
            self.fields["takes_doubtful"].widget = forms.CheckboxInput()
            if not fields.get("takes_doubtful"):
                cure = "Correct this, or confirm below that it is meant so."
                self.add_error("parameters", ValidationError([*doubts, cure]))
        return fields


def report_of(upstream: Upstream) -> Report:
    """Asks it a few short questions, which takes up to a minute."""
    model = model_for_chat(list(upstream.named_models))
    return async_to_sync(check)(endpoint_of(upstream), model, tools.CLOCK.as_request())


def switch_demo_off(request: HttpRequest) -> None:
    """For something better, which is connected in this transaction."""
    if demo := Upstream.switch_demo_off():
        assert isinstance(request.user, User)
        detail = {"before": {"enabled": True}, "after": {"enabled": False}}
        audit.record("upstream.changed", actor=request.user, about=demo, detail=detail)
        messages.success(request, DEMO_WENT)


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
                ]
            },
        ),
    ]

    def save_model(
        self, request: HttpRequest, obj: Upstream, form: UpstreamForm, change: bool
    ) -> None:
        """The demo answers until a gateway is connected, or where it is switched on again."""
        super().save_model(request, obj, form, change)
        is_new = obj.enabled and (not change or "enabled" in form.changed_data)
        if is_new and not obj.is_demo:
            switch_demo_off(request)

    def taken_along_by(self, row: Upstream) -> dict[str, Any]:
        prices = row.prices.filter(source=Price.Source.ADMINISTRATOR)
        return {
            "access": AccessRule.objects.filter(upstream=row).as_record(),
            "prices": [price.as_set() for price in prices.select_related("upstream")],
        }

    @admin.display(description="API key")
    def key(self, upstream: Upstream) -> str:
        return state_of_secret(upstream.api_key, upstream.secret_problem)

    def get_readonly_fields(self, request: HttpRequest, obj: Upstream | None = None) -> list[str]:
        """The environment's upstream is what the environment says at each start."""
        return ["name", "base_url"] if obj and obj.from_environment else []

    def before_inquiry(self, request: HttpRequest, asked: Upstream) -> HttpResponse | None:
        if not asked.secret_problem:
            return None
        self.message_user(request, asked.secret_problem, messages.ERROR)
        return redirect("admin:chatapp_upstream_change", asked.pk)

    def inquire(self, asked: Upstream) -> dict[str, Any]:
        """What the upstream, as it is saved, does."""
        return {"title": f"What {asked} does", "report": report_of(asked)}
