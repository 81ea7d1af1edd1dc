"""The tree of a conversation: each message stands under the one that it follows.

A branch is one way through it, from a first prompt to an end: what is shown, and what is sent to an
upstream.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from chatapp.models.messages import Message


class Tree:
    """Made of all messages of a conversation, oldest first; asks the database nothing."""

    def __init__(self, messages: Sequence["Message"]) -> None:
        self._messages = messages
        self._by_id = {message.pk: message for message in messages}
        self._children: dict[UUID | None, list[Message]] = {}
        for message in messages:
            self._children.setdefault(message.parent_id, []).append(message)

    @property
    def streaming(self) -> "Message | None":
        """The reply that is being written, in whatever process."""
        return next((message for message in self._messages if message.is_streaming), None)

    def branch(self, through: UUID | None = None) -> list["Message"]:
        """One branch, oldest message first: the newest that leads through the message named.

        Each message has `siblings`: those that share its parent, oldest first, itself included.
        """
        branch = []
        current = self._end(through)
        while current:
            current.siblings = self._children[current.parent_id]
            branch.append(current)
            current = self._by_id.get(current.parent_id) if current.parent_id else None
        return branch[::-1]

    def _end(self, through: UUID | None) -> "Message | None":
        end = self._by_id.get(through) if through else None
        end = end or (_newest(self._messages) if self._messages else None)
        while end and end.pk in self._children:
            end = _newest(self._children[end.pk])
        return end


def _newest(messages: Sequence["Message"]) -> "Message":
    """The last one, and of several choices of a response the first."""
    return next(message for message in reversed(messages) if message.choice == 0)
