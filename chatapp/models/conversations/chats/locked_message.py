"""Load one of a person's messages and lock its conversation, before changing something there."""

from uuid import UUID

from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.refusals import Refused

GONE = "That message no longer exists. Reload the page."


def locked_message(user: User, pk: UUID, *, is_deleted: bool = False) -> Message:
    """Return this person's message, with its conversation locked until the transaction ends.

    Call it within a transaction. Finds messages that are not deleted, or with `is_deleted` only
    deleted ones. Raises `Refused` if there is none.
    """
    own = Conversation.objects.filter(user=user, messages=pk, trashed_at=None).order_by()
    if (conversation := own.select_for_update(of=("self",), no_key=True).first()) is None:
        raise Refused(GONE)
    # Read after locking, because another process may just have deleted or restored it.
    messages = Message.objects.filter(pk=pk, deleted_at__isnull=not is_deleted).order_by()
    message = messages.select_related("parent").defer("logprobs", "parent__logprobs").first()
    if message is None:
        raise Refused(GONE)
    message.conversation = conversation
    return message
