"""What an upstream is sent of a branch.

A conversation may have thousands of messages and all of them are read for each turn, so of most of
them there is no object of the ORM: who says it and what are enough. Those that called tools are
read as a whole.
"""

from typing import Any, NamedTuple
from uuid import UUID

from chatapp.models import branches
from chatapp.models.messages import Message, plain_chat_messages
from chatapp.models.statements import Among, rows

# What stands in other branches is read along: that takes half as long as to go up this one.
SAID = f"""
SELECT id, ({branches.TO_END}), parent_id, role, is_continuation, content, earlier_rounds != '[]'
FROM chatapp_message WHERE conversation_id = %s AND deleted_at IS NULL
"""  # noqa: S608 - our own


class Said(NamedTuple):
    """A message of a branch."""

    stored_pk: object  # as the database has it
    role: str
    is_continuation: bool
    content: str
    whole: Message | None  # where tools were called in it

    @property
    def pk(self) -> UUID:
        return branches.uuid_of(self.stored_pk)

    def as_chat_messages(self, asked: Message | None = None) -> list[dict[str, object]]:
        """As `Message.as_chat_messages`."""
        return self.whole.as_chat_messages(asked) if self.whole else plain_chat_messages(self)


def said(conversation: UUID, through: UUID | None, leaf: UUID | None) -> list[Said]:
    """A branch, oldest first. `leaf` is the message that was read last."""
    values = branches.start_values(conversation, through, leaf)
    found = _upwards(rows(branches.START + SAID, (*values, conversation)))
    calling = [branches.uuid_of(pk) for pk, *_, has_rounds in found if has_rounds]
    whole = {message.pk: message for message in _WHOLE.all(calling)}
    return [
        Said(
            pk, role, is_continuation, content, whole[branches.uuid_of(pk)] if has_rounds else None
        )
        for pk, _, _, role, is_continuation, content, has_rounds in reversed(found)
    ]


def _upwards(there: list[Any]) -> list[Any]:
    """Those of these rows that are the branch's, from its end up to its first prompt."""
    by_pk = {row[0]: row for row in there}
    branch = []
    pk = there[0][1] if there else None
    while row := by_pk.get(pk):
        branch.append(row)
        pk = row[2]
    return branch


_WHOLE = Among(
    lambda *pks: Message.objects.filter(pk__in=pks).only(*Message.SAID).order_by(),
    Message._meta.pk,
)
