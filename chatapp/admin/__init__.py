"""Administration: review of conversations, read-only; people; upstreams; tool servers.

`confirmed` asks for the password before what matters is changed; `people` has accounts and roles.
"""

from typing import Any

from allauth.account.admin import EmailAddress  # registers it
from allauth.account.decorators import secure_admin_login
from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from django.views.generic import RedirectView

from chatapp import frames, rendering, tools
from chatapp.accounts import ask_to_confirm, is_confirmed
from chatapp.admin.confirmed import ConfirmedAdmin, refuse_scripts
from chatapp.admin.people import is_superuser
from chatapp.catalogue import endpoint_of
from chatapp.models import Conversation, ToolServer, Upstream
from chatapp.upstream.estimates import cost_of_tools
from chatapp.upstream_check import check, model_for_chat

admin.site.site_header = admin.site.site_title = "chatapp administration"
admin.site.index_title = "People, upstreams, conversations"
# The one sign-in and the one change of one's password, with their limits.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.password_change = RedirectView.as_view(  # type: ignore[method-assign,assignment]
    pattern_name="account_change_password"
)
# Of allauth: an address there would sign in as well, and nothing here makes one.
admin.site.unregister(EmailAddress)


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Review changes nothing, and the chat's own page is its owner's alone."""

    view_on_site = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    """Who talked about what, when, and what it cost."""

    list_display = ["title", "user", "updated_at", "replies", "tokens", "flagged"]
    list_filter = ["updated_at", "messages__is_flagged", "messages__model", "messages__ending"]
    list_select_related = ["user"]
    search_fields = ["title", "user__username", "messages__content", "messages__response_id"]
    search_help_text = "Titles, people, the text of messages, and upstreams' response ids."
    date_hierarchy = "updated_at"
    fields = ["title", "user", "created_at", "updated_at", "tokens", "thread"]
    readonly_fields = ["tokens", "thread"]

    class Media:
        css = {"all": ["css/review.css", "css/reply-extras.css", "css/highlight.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        return Conversation.objects.with_usage()

    @admin.display(ordering="reply_count")
    def replies(self, conversation: Conversation) -> int:
        return conversation.reply_count

    @admin.display(ordering="total_tokens")
    def tokens(self, conversation: Conversation) -> str:
        """The sum, with how much of it is estimated, and how many replies it leaves out."""
        parts = [f"{conversation.total_tokens:,}"]
        if conversation.estimated_tokens:
            parts.append(f"of which {conversation.estimated_tokens:,} estimated")
            if conversation.upper_tokens > conversation.estimated_tokens:
                parts[-1] += f" (at most {conversation.upper_tokens:,})"
        if conversation.unknown_replies:
            replies = "reply" if conversation.unknown_replies == 1 else "replies"
            parts.append(f"{conversation.unknown_replies} {replies} of unknown usage")
        return ", ".join(parts)

    @admin.display(boolean=True, ordering="has_flagged")
    def flagged(self, conversation: Conversation) -> bool:
        """By an upstream's moderation; the messages say in which categories."""
        return conversation.has_flagged

    @admin.display(description="Messages")
    def thread(self, conversation: Conversation) -> SafeString:
        """Every message of every branch, oldest first."""
        messages = list(conversation.messages.select_related("usage", "upstream"))
        return frames.review_html(messages, rendering.rendered(frames.texts_of(messages)))


class UpstreamForm(forms.ModelForm):  # type: ignore[type-arg]
    """The key goes in and never comes out: the field is not the model's, so no page can show it."""

    new_api_key = forms.CharField(
        label="API key",
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown again. Leave empty to keep what is stored.",
    )

    class Meta:
        model = Upstream
        fields = [
            "name",
            "base_url",
            "offered_models",
            "enabled",
            "dialect",
            "parameters",
            "offers_tools",
            "offers_clock",
            "drains_stopped",
            "silence_seconds",
        ]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if clock := self.fields.get("offers_clock"):  # not where the page only shows
            tokens = cost_of_tools([tools.CLOCK.as_request()])
            clock.help_text += f" About {tokens} tokens a request; a check measures them."
        if self.instance.secret_problem:
            self.fields["new_api_key"].help_text = escape(self.instance.secret_problem)

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        is_stored = self.instance.api_key or self.instance.secret_problem
        if fields.get("new_api_key"):
            self.instance.api_key = fields["new_api_key"]
        elif is_stored and "base_url" in self.changed_data:
            # Or whoever may change the URL could have the key sent elsewhere.
            self.add_error(
                "new_api_key", "The stored key was meant for the old address. Enter a key again."
            )
        return fields


@admin.register(Upstream)
class UpstreamAdmin(ConfirmedAdmin):
    form = UpstreamForm
    list_display = ["name", "base_url", "key", "enabled", "from_environment"]
    fieldsets = [
        (None, {"fields": ["name", "base_url", "new_api_key", "offered_models", "enabled"]}),
        (
            "Requests",
            {
                "fields": [
                    "dialect",
                    "parameters",
                    "offers_tools",
                    "offers_clock",
                    "drains_stopped",
                    "silence_seconds",
                ]
            },
        ),
    ]

    @admin.display(description="API key")
    def key(self, upstream: Upstream) -> str:
        return _state(upstream.api_key, upstream.secret_problem)

    def get_readonly_fields(self, request: HttpRequest, obj: Upstream | None = None) -> list[str]:
        """The environment's upstream is what the environment says at each start."""
        return ["name", "base_url"] if obj and obj.from_environment else []

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_POST(self.check_view))
        checking = path("<path:object_id>/check/", view, name="chatapp_upstream_check")
        return [checking, *super().get_urls()]

    def check_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Asks the upstream, as it is saved, what it does; blocks no thread but this request's."""
        refuse_scripts(request)
        if not self.has_change_permission(request):
            raise PermissionDenied
        if (upstream := self.get_object(request, object_id)) is None:
            raise Http404
        if upstream.secret_problem:
            self.message_user(request, upstream.secret_problem, messages.ERROR)
            return redirect("admin:chatapp_upstream_change", upstream.pk)
        model = model_for_chat(upstream.offered_models.split())
        context = {
            **self.admin_site.each_context(request),
            "title": f"What {upstream} does",
            "opts": self.opts,
            "original": upstream,
            "report": async_to_sync(check)(endpoint_of(upstream), model),
        }
        return TemplateResponse(request, "admin/chatapp/upstream/check.html", context)


class ToolServerForm(forms.ModelForm):  # type: ignore[type-arg]
    """Secrets go in and never come out: the field is not the model's, so no page can show it."""

    may_run_commands = False  # set for each request

    new_secrets = forms.CharField(
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
        fields = [
            "name",
            "transport",
            "url",
            "command",
            "enabled",
            "asks_first",
            "unasked_tools",
            "timeout_seconds",
            "result_limit_kb",
        ]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.secret_problem:
            self.fields["new_secrets"].help_text = escape(self.instance.secret_problem)

    def clean_transport(self) -> str:
        transport: str = self.cleaned_data["transport"]
        if transport == ToolServer.Transport.STDIO and not self.may_run_commands:
            raise ValidationError(
                "A command runs on this machine, so only a superuser may set one. Ask one, or use "
                "streamable HTTP."
            )
        return transport

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        is_stored = self.instance.secrets or self.instance.secret_problem
        if fields.get("new_secrets"):
            self.instance.secrets = fields["new_secrets"]
        elif fields.get("forget_secrets"):
            self.instance.secrets = None
        elif is_stored and {"transport", "url", "command"} & set(self.changed_data):
            # Or whoever may change the URL could have the secrets sent to himself.
            self.add_error(
                "new_secrets",
                "What is stored was meant for the old address. Enter it again, or forget it.",
            )
        return fields


@admin.register(ToolServer)
class ToolServerAdmin(ConfirmedAdmin):
    form = ToolServerForm
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

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_POST(self.tools_view))
        asking = path("<path:object_id>/tools/", view, name="chatapp_toolserver_tools")
        return [asking, *super().get_urls()]

    @admin.display(description="Headers or environment")
    def stored(self, server: ToolServer) -> str:
        return _state(server.secrets, server.secret_problem)

    def tools_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """What the server offers now, or why it offers nothing. A command is started for it, so
        nobody gets there by looking, and only a superuser gets to a command's at all."""
        refuse_scripts(request)
        server = self.get_object(request, object_id)
        if not self.has_change_permission(request, server):
            raise PermissionDenied
        if server is None:
            raise Http404
        if not is_confirmed(request):
            return ask_to_confirm(reverse("admin:chatapp_toolserver_change", args=[server.pk]))
        offered, problem = async_to_sync(tools.offered_by)(server)
        tokens = cost_of_tools([tool.as_request() for tool in offered])
        context = {
            **self.admin_site.each_context(request),
            "title": f"What {server} offers",
            "opts": self.opts,
            "original": server,
            "offered": offered,
            "cost": f"{tokens:,}",
            "problem": problem,
        }
        return TemplateResponse(request, "admin/chatapp/toolserver/tools.html", context)


def _state(secret: str | None, problem: str) -> str:
    return "can't be read: enter it again" if problem else "stored" if secret else "none"
