"""A person's conversation: its row, who owns it, where it is filed, and when it was last used.

Its other jobs are in the abstract models that it derives from, each in the module of its name.
"""

import uuid
from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models.expressions import Exists
from django.utils import timezone
from django.utils.functional import cached_property

from chatapp.db.statements import Insert, Query, Update
from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.askable import Askable
from chatapp.models.conversations.chats.branched import Branched
from chatapp.models.conversations.chats.erasable import Erasable
from chatapp.models.conversations.chats.folders import INDEXES, IS_NOT_TRASHED, FolderQuerySet
from chatapp.models.conversations.chats.projects import Project
from chatapp.models.conversations.chats.titled import UNINDEXED_TITLE, Titled
from chatapp.models.conversations.chats.usage_sums import usage_sums
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.threads.paths import build_path
from chatapp.models.platform.installation import Installation
from chatapp.models.platform.upstreams import ModelChoice
from chatapp.models.refusals import ChatNotFound

# The names of apps that chats can be imported from.
IMPORT_SOURCES = {
    "chatgpt": "ChatGPT",
    "claude": "Claude",
    "open_webui": "Open WebUI",
    "librechat": "LibreChat",
    "grok": "Grok",
    "gemini": "Gemini",
    "llama_cpp": "llama.cpp",
    "chatbox": "Chatbox",
    "chatapp": "an export of this app",
}


class ConversationQuerySet(FolderQuerySet["Conversation"]):
    def get_not_trashed(self, pk: uuid.UUID) -> "Conversation":
        """Return this conversation. Raises `ChatNotFound` if it is missing or trashed."""
        return _require_conversation(self.filter(pk=pk, trashed_at=None).first())

    def with_usage(self) -> Self:
        """Annotate with the usage and cost of replies, title and summaries; see `usage_sums`."""
        return self.annotate(**usage_sums())


class Conversation(Titled, Askable, Branched, Erasable):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="conversations")
    created_at = models.DateTimeField(auto_now_add=True)
    # Orders a person's conversations: see `_next_updated_at`.
    updated_at = models.DateTimeField(default=timezone.now, db_index=True)
    project = models.ForeignKey(
        Project, models.SET_NULL, null=True, blank=True, related_name="conversations"
    )
    is_pinned = models.BooleanField(default=False, db_default=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    trashed_at = models.DateTimeField(null=True, blank=True)
    is_temporary = models.BooleanField(default=False, db_default=False)
    # The size of the messages copied into it and of the notes on its replies; see `storage`.
    stored_bytes = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    # The app whose export it was imported from, as in `transfer.Format`; else empty. It was created
    # when it was imported: that is when its review policy was in force.
    imported_from = models.CharField(
        max_length=10, blank=True, default="", db_default="", editable=False
    )
    # Set when a reply ends while no tab of its owner shows it; cleared when one does.
    is_unread = models.BooleanField(default=False, db_default=False, editable=False)

    objects = models.Manager.from_queryset(ConversationQuerySet)()

    has_title_model = True  # assumed; only `get_for_update` checks if a title model is set

    # Set by `with_usage`.
    reply_count: int
    summary_count: int
    total_tokens: int
    estimated_tokens: int
    upper_tokens: int
    unknown_replies: int
    total_cost: int
    estimated_cost: int
    has_flagged: bool

    class Meta:
        ordering = ["-updated_at", "-id"]
        indexes = [
            models.Index(fields=["user", "-updated_at", "-id"]),
            models.Index(
                fields=["updated_at"],
                condition=models.Q(is_temporary=True),
                name="temporary_conversations",
            ),
            models.Index(fields=["id"], condition=UNINDEXED_TITLE, name="title_to_be_indexed"),
            *INDEXES,
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return self._url

    @cached_property
    def _url(self) -> str:
        return build_path("conversation", self.pk)

    @property
    def imported_from_label(self) -> str:
        """The name of the app that it was imported from."""
        return IMPORT_SOURCES.get(self.imported_from, "another app") if self.imported_from else ""

    @property
    def begun_at(self) -> datetime:
        """When it was begun, which may be long before an import created it."""
        if not self.imported_from:
            return self.created_at
        first = self.messages.aggregate(first=models.Min("created_at"))["first"]
        return first or self.created_at

    def get_open_project(self, user: User) -> Project | None:
        """Return its project, unless that is no longer open to the person, its author."""
        return self.project if self.project and self.project.is_open_to(user) else None

    def mark_unread(self) -> None:
        """Record that nobody saw how its reply ended.

        Does nothing if the conversation was deleted in the meantime.
        """
        Conversation.objects.filter(pk=self.pk).update(is_unread=True)

    def mark_read(self) -> bool:
        """Clear the unread mark; return whether it was set."""
        if not self.is_unread:
            return False
        self.is_unread = False
        return bool(Conversation.objects.filter(pk=self.pk).update(is_unread=False))

    def begin(self) -> None:
        """Store this new conversation as the one that its owner used last."""
        self.updated_at = self._next_updated_at()
        self.save(force_insert=True)

    def touch(self, leaf: uuid.UUID | None) -> None:
        """Store it as its owner's last used conversation, with this message as its active leaf.

        A new conversation is inserted. Raises `ChatNotFound` if it was deleted.
        """
        self.updated_at = self._next_updated_at()
        self.active_leaf = leaf
        if self._state.adding:
            _INSERT.run(self)
        elif not _TOUCH.run(self):
            raise ChatNotFound

    def _next_updated_at(self) -> datetime:
        """Return now, or just after the person's last use if another host's clock was ahead."""
        last = _LAST_USED.first(self.user_id)
        now = timezone.now()
        return max(now, last.updated_at + timedelta(microseconds=1)) if last else now

    @staticmethod
    def find_last_used_model(user: User) -> ModelChoice | None:
        """Return the model chosen for the newest reply in the conversation that this person used
        last.

        The reply may be in any branch; of several models asked at once, the first counts. None if
        there is no such reply.
        """
        last = _LAST_USED.first(user.pk)
        reply = _NEWEST_REPLY.first(last.pk) if last else None
        return reply.chosen_model if reply else None

    @classmethod
    def get_own(cls, user: User, pk: uuid.UUID) -> "Conversation":
        """Return this person's conversation. Raises `ChatNotFound` if it is missing or trashed."""
        return _require_conversation(_GET_OWN.first(user.pk, pk))

    @classmethod
    def get_for_update(cls, user: User, pk: uuid.UUID) -> "Conversation":
        """Return the same as `get_own`, with its row locked for the rest of the transaction."""
        return _require_conversation(_GET_FOR_UPDATE.first(user.pk, pk))


def _require_conversation(conversation: Conversation | None) -> Conversation:
    if conversation is None:
        raise ChatNotFound
    return conversation


_INSERT = Insert(Conversation)
_TOUCH = Update(Conversation, ["updated_at", "active_leaf"])
_LAST_USED = Query(
    lambda user: Conversation.objects.filter(user=user).only("updated_at")[:1], User._meta.pk
)
_NEWEST_REPLY = Query(
    lambda conversation: (
        Message.objects.filter(
            conversation=conversation,
            role=Message.Role.ASSISTANT,
            upstream__isnull=False,
            slot=0,
            deleted_at=None,
        )
        .order_by(models.F("sequence").desc(nulls_last=True))
        .only("upstream", "model", "failed_models_record")[:1]
    ),
    Conversation._meta.pk,
)
_GET_OWN = Query(
    lambda user, pk: Conversation.objects.filter(IS_NOT_TRASHED, user=user, pk=pk).order_by(),
    User._meta.pk,
    Conversation._meta.pk,
)
_GET_FOR_UPDATE = Query(
    lambda user, pk: (
        Conversation.objects.filter(IS_NOT_TRASHED, user=user, pk=pk)
        .annotate(  # type: ignore[no-redef]  # overrides what the class assumes
            has_title_model=Exists(Installation.objects.exclude(title_upstream=None))
        )
        .select_for_update(no_key=True)
        .order_by()
    ),
    User._meta.pk,
    Conversation._meta.pk,
)
