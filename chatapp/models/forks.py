"""A conversation of its own from a message: the branch up to it, copied.

What was said, called and brought along is copied, and how each reply came and ended. What a reply
has cost is not, so that nothing is counted twice.
"""

import uuid
from dataclasses import dataclass

from django.db import connection, transaction

from chatapp.models import branches
from chatapp.models.conversations import LONGEST_TITLE, Conversation
from chatapp.models.held import held
from chatapp.models.messages import STORED, Message
from chatapp.models.refusals import Refused
from chatapp.models.users import User

AT_ONCE = 200  # messages
OF_A_FORK = " (fork)"
STREAMS = "This reply is being written. Stop it first, or wait for its end."
COPIED_IMAGES = """
INSERT INTO chatapp_replyimage (message_id, position, media_type, data)
SELECT %s, position, media_type, data FROM chatapp_replyimage WHERE message_id = %s
"""


@dataclass(frozen=True)
class Fork:
    """What a person wants to go on from elsewhere."""

    message: uuid.UUID

    @transaction.atomic
    def store(self, user: User) -> Conversation:
        """The new conversation; raises `Refused`."""
        last = held(user, self.message)
        if last.is_streaming:
            raise Refused(STREAMS)
        fork = _beside(last.conversation)
        ids = branches.upwards(last.pk, branches.ANY)[::-1]
        copies = {pk: uuid.uuid4() for pk in ids}
        fork.active_leaf = copies[last.pk]
        fork.begin()
        for start in range(0, len(ids), AT_ONCE):
            _copy(ids[start : start + AT_ONCE], copies, fork)
        return fork


def _beside(conversation: Conversation) -> Conversation:
    title = conversation.title.removesuffix(OF_A_FORK)[: LONGEST_TITLE - len(OF_A_FORK)]
    return Conversation(
        user_id=conversation.user_id,
        title=f"{title.rstrip()}{OF_A_FORK}",
        titled_by=conversation.titled_by,
        project_id=conversation.project_id,
        is_temporary=conversation.is_temporary,
    )


def _copy(ids: list[uuid.UUID], copies: dict[uuid.UUID, uuid.UUID], fork: Conversation) -> None:
    """Stores the copies of some messages, in that order."""
    found = Message.objects.in_bulk(ids)
    messages = [found[pk] for pk in ids]
    for message in messages:
        message.pk = copies[message.pk]
        message.conversation = fork
        message.parent_id = copies[message.parent_id] if message.parent_id else None
        message.sequence = message.streamed_by = message.indexed_at = None
    STORED.run(*messages)
    pk = Message._meta.pk
    pictured = [
        old for old, message in zip(ids, messages, strict=True) if message.extras.image_count
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            COPIED_IMAGES,
            [
                [pk.get_db_prep_value(one, connection) for one in (copies[old], old)]
                for old in pictured
            ],
        )
