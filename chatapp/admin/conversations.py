"""Review of conversations: it reads, and changes nothing."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.forms.widgets import Script
from django.http import HttpRequest
from django.utils.safestring import SafeString

from chatapp import frames, rendering
from chatapp.models import Conversation


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Review changes nothing, and the chat's own page is its owner's alone."""

    view_on_site = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class AnsweringModels(admin.AllValuesFieldListFilter):
    """The models that answered. A prompt names none, and a filter without a name is no link."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.lookup_choices = self.lookup_choices.exclude(model="")


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    """Who talked about what, when, and what it cost."""

    list_display = ["title", "user", "updated_at", "replies", "tokens", "flagged"]
    list_filter = [
        "updated_at",
        "messages__is_flagged",
        ("messages__model", AnsweringModels),
        "messages__ending",
    ]
    list_select_related = ["user"]
    search_fields = ["title", "user__username", "messages__content", "messages__response_id"]
    search_help_text = "Titles, people, the text of messages, and upstreams' response ids."
    date_hierarchy = "updated_at"
    fields = ["title", "user", "created_at", "updated_at", "tokens", "thread"]
    readonly_fields = ["tokens", "thread"]

    class Media:
        css = {
            "all": [f"css/{name}.css" for name in ("review", "bubble", "reply-extras", "highlight")]
        }
        js = (Script("js/folding.js", type="module"),)

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

    @admin.display(ordering="has_flagged", empty_value="\N{EN DASH}")
    def flagged(self, conversation: Conversation) -> str | None:
        """By an upstream's moderation; the messages say in which categories."""
        return "Flagged" if conversation.has_flagged else None

    @admin.display(description="Messages")
    def thread(self, conversation: Conversation) -> SafeString:
        """Every message of every branch, oldest first."""
        messages = list(conversation.messages.select_related("usage", "upstream"))
        return frames.review_html(messages, rendering.rendered(frames.texts_of(messages)))
