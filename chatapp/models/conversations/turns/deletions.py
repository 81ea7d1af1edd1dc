"""Delete a message with all that follows it, and restore exactly what a deletion took.

Messages are only marked: all of one deletion get the same `deleted_at`. So everything below a
deleted message is deleted too, and not later than it. `ErasableMessages.purge_deleted` removes the
rows in the end.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, models, transaction
from django.db.models.expressions import RawSQL
from django.utils import timezone

from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.locked_message import locked_message
from chatapp.models.conversations.messages.messages import Message, MessageQuerySet
from chatapp.models.refusals import Refused

DESCENDANTS = """
WITH RECURSIVE below(id) AS (
  SELECT id FROM chatapp_message WHERE id = %s
  UNION ALL
  SELECT child.id FROM below JOIN chatapp_message AS child ON child.parent_id = below.id
  WHERE child.deleted_at IS NULL
)
SELECT id FROM below
"""
STREAMS = "A reply that this would delete is still being written. Stop it first, or wait."
FOLLOWS_DELETED = "The message before this one was deleted too. Restore that one first."


@dataclass(frozen=True)
class DeletionResult:
    """A deleted message, and how many messages were deleted with it."""

    conversation: Conversation
    message: Message
    count: int  # itself included


@dataclass(frozen=True)
class Deletion:
    """A person's request to delete a message and all that follows it."""

    message: UUID

    @transaction.atomic
    def store(self, user: User) -> DeletionResult:
        """Mark the messages as deleted. Raises `Refused`, also while a reply is being written."""
        message = locked_message(user, self.message)
        conversation = message.conversation
        below = _select_with_descendants(message)
        if below.streaming().exists():
            raise Refused(STREAMS)
        count = below.update(deleted_at=_next_deletion_time(conversation))
        conversation.go_on_from(message.parent_id)
        return DeletionResult(conversation, message, count)


@dataclass(frozen=True)
class Restoration:
    """A person's request to restore what was deleted with a message.

    `head` is the end of the branch that they read at the time.
    """

    message: UUID
    head: UUID | None = None

    @transaction.atomic
    def store(self, user: User) -> Conversation:
        """Restore exactly what that deletion took. Raises `Refused`."""
        message = locked_message(user, self.message, is_deleted=True)
        conversation = message.conversation
        if message.parent and message.parent.deleted_at:
            raise Refused(FOLLOWS_DELETED)
        conversation.messages.filter(deleted_at=message.deleted_at).update(deleted_at=None)
        present = conversation.messages.filter(deleted_at=None)
        # If the branch ended in several replies, it does so again: the deletion chose none.
        conversation.active_leaf = None
        has_head = self.head and present.filter(pk=self.head).exists()
        conversation.go_on_from(self.head if has_head else message.pk)
        return conversation


def _select_with_descendants(message: Message) -> MessageQuerySet:
    pk = Message._meta.pk.get_db_prep_value(message.pk, connection)
    below: MessageQuerySet = Message.objects.filter(pk__in=RawSQL(DESCENDANTS, (pk,)))  # noqa: S611 - our own
    return below


def _next_deletion_time(conversation: Conversation) -> datetime:
    """Return now, or just after the conversation's last deletion, so that no two are equal."""
    last = conversation.messages.aggregate(last=models.Max("deleted_at"))["last"]
    now = timezone.now()
    return max(now, last + timedelta(microseconds=1)) if last else now
