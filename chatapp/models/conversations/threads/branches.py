"""Find one branch of a conversation: a path through its tree, from a first prompt to an end.

A branch goes through the message that is given as `through`, or else through `leaf`, the one that
was read last, or else through the newest. If `leaf` is below `through`, the branch goes on to it.
From there on, each message is followed by its newest child, or by the first of several choices of
one response. Of several replies that were asked for at once, the branch follows the one that the
person continued with. Deleted messages are in no branch. However long a branch is, only the
messages of a window are read.
"""

from typing import TypeVar
from uuid import UUID

from django.db import models
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from chatapp.db.statements import Parameter, PreparedIn, Query, fetch_rows
from chatapp.models.conversations.messages.messages import Message

T = TypeVar("T")

# The message from which a branch is followed down to its end. `read` walks up from the leaf that
# was read last to the given message, which usually is the same one.
START = """
WITH RECURSIVE
  read(id, parent_id) AS (
    SELECT id, parent_id FROM chatapp_message
    WHERE id = %s AND conversation_id = %s AND deleted_at IS NULL
    UNION ALL
    SELECT above.id, above.parent_id
    FROM read JOIN chatapp_message AS above ON above.id = read.parent_id
    WHERE read.id != %s
  ),
  start(id) AS (
    SELECT coalesce(
      (
        SELECT id FROM chatapp_message
        WHERE id = %s AND %s IN (SELECT id FROM read)
      ),
      (
        SELECT id FROM chatapp_message
        WHERE id = %s AND conversation_id = %s AND deleted_at IS NULL
      ),
      (
        SELECT id FROM chatapp_message
        WHERE id = %s AND conversation_id = %s AND deleted_at IS NULL
      ),
      (
        SELECT id FROM chatapp_message
        WHERE conversation_id = %s AND choice = 0 AND deleted_at IS NULL
        ORDER BY sequence DESC NULLS LAST, created_at DESC, id DESC LIMIT 1
      )
    )
  ),
  after(id, depth) AS (
    SELECT id, 0 FROM start
    UNION ALL
    SELECT (
      SELECT child.id FROM chatapp_message AS child
      WHERE child.parent_id = after.id AND child.deleted_at IS NULL
      ORDER BY child.choice, child.sequence DESC NULLS LAST, child.created_at DESC, child.id DESC
      LIMIT 1
    ), depth + 1
    FROM after WHERE after.id IS NOT NULL
  )
"""
TO_END = "SELECT id FROM after WHERE id IS NOT NULL ORDER BY depth DESC LIMIT 1"
# From a message up to another one or to the first prompt, at most so many steps.
WALK = """
WITH RECURSIVE upwards(id, parent_id, depth) AS (
  SELECT id, parent_id, 0 FROM chatapp_message WHERE id = %s
  UNION ALL
  SELECT above.id, above.parent_id, depth + 1
  FROM upwards JOIN chatapp_message AS above ON above.id = upwards.parent_id
  WHERE upwards.id IS DISTINCT FROM %s AND depth < %s
)
"""
UPWARDS = "SELECT id FROM upwards ORDER BY depth"
DOWNWARDS = "SELECT id FROM upwards ORDER BY depth DESC LIMIT %s"
TYPED = """
SELECT id FROM upwards JOIN chatapp_message AS typed USING (id)
WHERE typed.role = 'user' AND NOT typed.is_continuation AND typed.deleted_at IS NULL
ORDER BY depth DESC
"""
NO_LIMIT = 2**31 - 1


def end(conversation: UUID, through: UUID | None, leaf: UUID | None) -> Message | None:
    """Return the branch's last message, with `Message.BRANCH_FIELDS`; None if it is empty."""
    return _END.first(conversation, through, leaf)


def parallel_replies(reply: Message) -> list[Message]:
    """Return the replies that were asked for at once with this one, itself included, by slot."""
    replies = Message.objects.filter(parent=reply.parent_id, deleted_at=None).only(
        *Message.BRANCH_FIELDS
    )
    return [other for other in replies.order_by("slot") if other.is_beside(reply)]


def find_newest_continued(replies: list[Message]) -> UUID | None:
    """Return the one of these replies that has the newest child, if any has children."""
    after = Message.objects.filter(parent__in=replies, deleted_at=None)
    newest = models.F("sequence").desc(nulls_last=True), "-created_at"
    return after.order_by(*newest).values_list("parent", flat=True).first()


def ancestors(message: UUID, limit: int) -> list[UUID]:
    """Return up to `limit` ids: a message and those before it, newest first."""
    return _ids(WALK + UPWARDS, message, None, limit - 1) if limit > 0 else []


def path_down(message: UUID, end: UUID, limit: int) -> list[UUID]:
    """Return up to `limit` ids: a message and those after it on the path to `end`, oldest first.

    Empty if the message is not on that path.
    """
    ids = _ids(WALK + DOWNWARDS, end, message, NO_LIMIT, limit)
    return ids if ids[:1] == [message] else []


def prompts(end: UUID) -> list[UUID]:
    """Return the ids of the prompts typed on the branch that ends with `end`, oldest first."""
    return _ids(WALK + TYPED, end, None, NO_LIMIT)


def siblings(conversation: UUID, messages: "list[Message]") -> dict[UUID | None, list[Message]]:
    """Return all siblings of these messages, oldest first, by their parent.

    Only the parent and the time of creation are loaded.
    """
    parents = {message.parent_id for message in messages}
    children = _CHILDREN.all(parents - {None})
    if None in parents:
        children += _FIRST.all(conversation)
    families: dict[UUID | None, list[Message]] = {}
    for child in children:
        families.setdefault(child.parent_id, []).append(child)
    return families


def start_values(conversation: T, through: T, leaf: T) -> tuple[T, ...]:
    """Return the parameters of `START`."""
    read = (leaf, conversation, through)
    return (*read, leaf, through, through, conversation, leaf, conversation, conversation)


def to_uuid(value: object) -> UUID:
    """Return a UUID read by raw SQL; SQLite stores it as text."""
    return value if isinstance(value, UUID) else UUID(str(value))


def _ids(sql: str, *values: UUID | int | None) -> list[UUID]:
    return [to_uuid(pk) for (pk,) in fetch_rows(sql, values)]


def _end(
    conversation: Parameter, through: Parameter, leaf: Parameter
) -> "models.QuerySet[Message]":
    end = RawSQL(START + TO_END, start_values(conversation, through, leaf))  # noqa: S611 - our own
    return Message.objects.filter(pk__in=end).only(*Message.BRANCH_FIELDS).order_by()


def _children(*parents: Parameter) -> "models.QuerySet[Message]":
    slots = ", ".join(["%s"] * len(parents))
    of_these = RawSQL(f"chatapp_message.parent_id IN ({slots})", parents, models.BooleanField())  # noqa: S611 - slots
    return Message.objects.filter(of_these, deleted_at=None).only("parent", "created_at")


def _first(conversation: Parameter) -> "models.QuerySet[Message]":
    # Not `parent=None`: the planner would look among the first prompts of all people.
    has_no_parent = models.Q(pk=Coalesce("parent", "pk"))
    first = Message.objects.filter(has_no_parent, conversation=conversation, deleted_at=None)
    return first.only("parent", "created_at")


_CHILDREN = PreparedIn(_children, Message._meta.pk)
_FIRST = Query(_first, Message._meta.pk)
_END = Query(_end, *[Message._meta.pk] * 3)
