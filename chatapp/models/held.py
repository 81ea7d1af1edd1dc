"""A message that a person is about to do something with: one of theirs, held where it stands."""

from uuid import UUID

from chatapp.models.conversations import Conversation
from chatapp.models.messages import Message
from chatapp.models.refusals import Refused
from chatapp.models.users import User

GONE = "That message is not here any more. Reload the page."


def held(user: User, pk: UUID, *, is_deleted: bool = False) -> Message:
    """This person's message; raises `Refused`. Nobody else changes its conversation until the
    transaction ends, in which this must be called.

    It is looked for among what was not deleted, or where it `is_deleted`, among what was.
    """
    own = Conversation.objects.filter(user=user, messages=pk, trashed_at=None).order_by()
    if (conversation := own.select_for_update(of=("self",), no_key=True).first()) is None:
        raise Refused(GONE)
    # Only now: until just now another process may have deleted it, or brought it back.
    there = Message.objects.filter(pk=pk, deleted_at__isnull=not is_deleted).order_by()
    message = there.select_related("parent").defer("logprobs", "parent__logprobs").first()
    if message is None:
        raise Refused(GONE)
    message.conversation = conversation
    return message
