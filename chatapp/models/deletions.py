"""A message is deleted with all that follows it, and brought back with the same.

Nothing is taken out of the database yet: each message that goes says when, and those of one
deletion say the same. So below a deleted message there are deleted ones alone, and none that was
deleted later; `MessageQuerySet.purge_deleted` takes them out in the end.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, models, transaction
from django.db.models.expressions import RawSQL
from django.utils import timezone

from chatapp.models.conversations import Conversation
from chatapp.models.held import held
from chatapp.models.messages import Message, MessageQuerySet
from chatapp.models.refusals import Refused
from chatapp.models.users import User

BELOW = """
WITH RECURSIVE below(id) AS (
  SELECT id FROM chatapp_message WHERE id = %s
  UNION ALL
  SELECT child.id FROM below JOIN chatapp_message AS child ON child.parent_id = below.id
  WHERE child.deleted_at IS NULL
)
SELECT id FROM below
"""
STREAMS = "A reply is being written in what you would delete. Stop it first, or wait for its end."
FOLLOWS_DELETED = "What this followed was deleted, too. Bring that back first."


@dataclass(frozen=True)
class Deleted:
    """What went: a message, and how many with it."""

    conversation: Conversation
    message: Message
    count: int  # itself included


@dataclass(frozen=True)
class Deletion:
    """What a person wants to be gone: a message, and all that follows it."""

    message: UUID

    @transaction.atomic
    def store(self, user: User) -> Deleted:
        """Raises `Refused`, also while a reply is being written there."""
        message = held(user, self.message)
        conversation = message.conversation
        below = _with_all_below(message)
        if below.streaming().exists():
            raise Refused(STREAMS)
        count = below.update(deleted_at=_moment_in(conversation))
        conversation.go_on_from(message.parent_id)
        return Deleted(conversation, message, count)


@dataclass(frozen=True)
class Restoration:
    """What a person wants back: what was deleted with a message, and the branch they read then."""

    message: UUID
    head: UUID | None = None

    @transaction.atomic
    def store(self, user: User) -> Conversation:
        """Brings back exactly what that deletion took; raises `Refused`."""
        message = held(user, self.message, is_deleted=True)
        conversation = message.conversation
        if message.parent and message.parent.deleted_at:
            raise Refused(FOLLOWS_DELETED)
        of_it = conversation.messages.filter(deleted_at=message.deleted_at)
        of_it.update(deleted_at=None)
        there = conversation.messages.filter(deleted_at=None)
        # Where it ended in several replies, it does so again: nothing was chosen by the deletion.
        conversation.active_leaf = None
        is_there = self.head and there.filter(pk=self.head).exists()
        conversation.go_on_from(self.head if is_there else message.pk)
        return conversation


def _with_all_below(message: Message) -> MessageQuerySet:
    pk = Message._meta.pk.get_db_prep_value(message.pk, connection)
    below: MessageQuerySet = Message.objects.filter(pk__in=RawSQL(BELOW, (pk,)))  # noqa: S611 - our own
    return below


def _moment_in(conversation: Conversation) -> datetime:
    """Now, or just after the last deletion there: no two are of one moment."""
    last = conversation.messages.aggregate(last=models.Max("deleted_at"))["last"]
    now = timezone.now()
    return max(now, last + timedelta(microseconds=1)) if last else now
