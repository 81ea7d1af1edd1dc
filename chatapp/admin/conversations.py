"""Review of conversations: it reads, and changes nothing."""

from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.forms.widgets import Script
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from chatapp import frames, rendering
from chatapp.admin.recorded import RecordedAdmin
from chatapp.models import Conversation, User, audit
from chatapp.models.limits import dollars
from chatapp.models.review_policies import is_reviewable


class ReadOnlyAdmin(RecordedAdmin):
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

    list_display = ["title", "user", "updated_at", "replies", "tokens", "cost", "flagged"]
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
    fields = ["title", "user", "created_at", "updated_at", "tokens", "cost", "thread"]
    readonly_fields = ["tokens", "cost", "thread"]

    class Media:
        css = {
            "all": [f"css/{name}.css" for name in ("review", "bubble", "reply-extras", "highlight")]
        }
        js = (Script("js/folding.js", type="module"),)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Conversation | None:
        """Every page of a conversation asks for it here. That it was opened is stored for good
        before anything of it is shown, and where it can't be stored, nothing is."""
        with transaction.atomic():
            found: Conversation | None = super().get_object(request, object_id, from_field)
            if found and self.has_view_permission(request, found):
                assert isinstance(request.user, User)
                audit.record("conversation.opened", actor=request.user, about=found)
        return found

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Titles are words of people, too, and what is searched for tells of what they wrote."""
        if self.has_view_permission(request):
            assert isinstance(request.user, User)
            asked = {name: request.GET.getlist(name) for name in request.GET}
            with transaction.atomic():
                detail = {"asked": asked} if asked else {}
                audit.record("conversations.listed", actor=request.user, detail=detail)
        return super().changelist_view(request, extra_context)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        """Those whose policy lets them be read."""
        return Conversation.objects.filter(is_reviewable()).with_usage()

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

    @admin.display(ordering="total_cost", empty_value="\N{EN DASH}")
    def cost(self, conversation: Conversation) -> str | None:
        """In US dollars, of the models that have a price."""
        if not conversation.total_cost:
            return None
        estimated = conversation.estimated_cost
        about = f", of which {dollars(estimated)} estimated" if estimated else ""
        return dollars(conversation.total_cost) + about

    @admin.display(ordering="has_flagged", empty_value="\N{EN DASH}")
    def flagged(self, conversation: Conversation) -> str | None:
        """By an upstream's moderation; the messages say in which categories."""
        return "Flagged" if conversation.has_flagged else None

    @admin.display(description="Messages")
    def thread(self, conversation: Conversation) -> SafeString:
        """Every message of every branch, oldest first."""
        there = conversation.messages.filter(deleted_at=None)
        messages = list(there.select_related("usage", "upstream", "feedback"))
        return frames.review_html(messages, rendering.rendered(frames.texts_of(messages)))
