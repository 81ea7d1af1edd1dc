"""Administration: review of conversations, read-only; people; upstreams."""

from typing import Any

from allauth.account.decorators import secure_admin_login
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from chatapp import frames
from chatapp.models import Conversation, Upstream, User

admin.site.site_header = admin.site.site_title = "chatapp administration"
admin.site.index_title = "People, upstreams, conversations"
# The one sign-in, with its rate limits.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.register(User, UserAdmin)


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

    list_display = ["title", "user", "updated_at", "replies", "tokens"]
    list_filter = ["updated_at", "messages__model", "messages__ending"]
    list_select_related = ["user"]
    search_fields = ["title", "user__username", "messages__content", "messages__response_id"]
    search_help_text = "Titles, people, the text of messages, and upstreams' response ids."
    date_hierarchy = "updated_at"
    fields = ["title", "user", "created_at", "updated_at", "tokens", "thread"]
    readonly_fields = ["tokens", "thread"]

    class Media:
        css = {"all": ["css/review.css", "css/highlight.css"]}

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
        if conversation.unknown_replies:
            parts.append(f"{conversation.unknown_replies} replies of unknown usage")
        return ", ".join(parts)

    @admin.display(description="Messages")
    def thread(self, conversation: Conversation) -> SafeString:
        """Every message of every branch, oldest first."""
        return frames.review_html(conversation.messages.select_related("usage", "upstream"))


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
        fields = ["name", "base_url", "offered_models", "enabled"]

    def clean(self) -> dict[str, Any]:
        fields = super().clean() or {}
        if fields.get("new_api_key"):
            self.instance.api_key = fields["new_api_key"]
        elif self.instance.api_key and "base_url" in self.changed_data:
            # Or whoever may change the URL could have the key sent elsewhere.
            self.add_error(
                "new_api_key", "The stored key was meant for the old address. Enter a key again."
            )
        return fields


@admin.register(Upstream)
class UpstreamAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = UpstreamForm
    list_display = ["name", "base_url", "enabled", "from_environment"]
    fields = ["name", "base_url", "new_api_key", "offered_models", "enabled"]

    def get_readonly_fields(self, request: HttpRequest, obj: Upstream | None = None) -> list[str]:
        """The environment's upstream is what the environment says at each start."""
        return ["name", "base_url"] if obj and obj.from_environment else []
