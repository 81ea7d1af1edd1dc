"""One branch of a conversation, read by one statement: what came before a prompt.

`trees` does the same with all of a conversation's messages, for whoever shows them.
"""

from uuid import UUID

from django.db import models
from django.db.models.expressions import RawSQL

from chatapp.models.messages import Message
from chatapp.models.statements import Query, Slot

# From the message that is named, or the newest where there is none such, up to the first prompt,
# and down by the newest that follow each other; of the choices of a response, after the first.
BRANCH = """
WITH RECURSIVE
  start(id) AS (
    SELECT coalesce(
      (SELECT id FROM chatapp_message WHERE id = %s AND conversation_id = %s),
      (
        SELECT id FROM chatapp_message WHERE conversation_id = %s AND choice = 0
        ORDER BY sequence DESC NULLS LAST, created_at DESC, id DESC LIMIT 1
      )
    )
  ),
  before(id) AS (
    SELECT id FROM start
    UNION ALL
    SELECT parent_id FROM before JOIN chatapp_message USING (id)
  ),
  after(id) AS (
    SELECT id FROM start
    UNION ALL
    SELECT (
      SELECT child.id FROM chatapp_message AS child
      WHERE child.parent_id = after.id AND child.choice = 0
      ORDER BY child.sequence DESC NULLS LAST, child.created_at DESC, child.id DESC LIMIT 1
    )
    FROM after WHERE after.id IS NOT NULL
  )
SELECT id FROM before UNION SELECT id FROM after
"""


def said(conversation: UUID, through: UUID | None) -> list[Message]:
    """Oldest first, each message with what `as_chat_messages` needs of it and nothing else."""
    after = {message.parent_id: message for message in _SAID.all(through, conversation)}
    branch: list[Message] = []
    while message := after.get(branch[-1].pk if branch else None):
        branch.append(message)
    return branch


def _said(through: Slot, conversation: Slot) -> "models.QuerySet[Message]":
    branch = RawSQL(BRANCH, (through, conversation, conversation))  # noqa: S611 - our own
    return Message.objects.filter(pk__in=branch).only(*Message.SAID).order_by()


_SAID = Query(_said, Message._meta.pk, Message._meta.pk)
