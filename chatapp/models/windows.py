"""What is shown of a conversation: a window of one branch, and whether that goes on beyond it.

However long the branch is, no more messages are read than are shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self
from uuid import UUID

from django.db import models

from chatapp.models import branches
from chatapp.models.messages import Message
from chatapp.models.statements import Among, Slot

if TYPE_CHECKING:
    from chatapp.models.conversations import Conversation

WINDOW = 30  # messages of a page
MORE = 40  # that come where its reader reaches an end of those


@dataclass(frozen=True)
class View:
    """A conversation as it is shown: some messages of a branch, oldest first.

    Where it ends in several replies that were asked for at once, and none of them was chosen, they
    are shown side by side below their prompt, the last of the thread.
    """

    conversation: "Conversation"
    thread: list[Message]
    end: Message | None = None  # of the branch, with what `Message.KNOWN_BY` names
    streaming: Sequence[Message] = ()  # in whatever process
    together: Sequence[Message] = ()  # all in which it ends, of which `end` is the first; or none
    beside: Sequence[Message] = ()  # the same as they are shown, where this window reaches them
    has_earlier: bool = False
    has_later: bool = False
    follows: bool = False  # what a page has already

    @property
    def head(self) -> Message | None:
        """The last message that is shown; of replies side by side, their prompt."""
        return self.thread[-1] if self.thread else None

    @property
    def leaf(self) -> UUID | None:
        """What leads to this end again."""
        if self.end is None:
            return None
        return self.end.parent_id if self.together else self.end.pk

    @property
    def ending(self) -> str:
        """Of the last message that is shown; of replies side by side, of each."""
        last = self.beside or self.thread[-1:]
        return " ".join(message.ending for message in last)

    @property
    def shown(self) -> list[Message]:
        return [*self.thread, *self.beside]

    def is_known(self, head: UUID | None, ending: str) -> bool:
        """Whether a page has all until this end whose last message is that, with that ending."""
        endings = " ".join(one.ending for one in self.together or filter(None, [self.end]))
        return (self.leaf, endings) == (head, ending)

    def runs(self, reply: UUID) -> bool:
        """Whether this reply is shown, and had not ended when it was read."""
        return any(message.pk == reply and message.is_streaming for message in self.shown)

    def newest(self) -> Self:
        """With the last messages of the branch."""
        found = branches.upwards(self.end.pk, WINDOW + 1) if self.end else []
        return self._with(reversed(found[:WINDOW]), has_earlier=len(found) > WINDOW)

    def around(self, at: UUID) -> Self:
        """With a message of the branch, and what stands before and after it."""
        assert self.end
        below = branches.downwards(at, self.end.pk, WINDOW // 2 + 2)[1:]
        after = below[: WINDOW // 2]
        above = branches.upwards(at, WINDOW - len(after) + 1)
        before = above[: WINDOW - len(after)]
        return self._with(
            [*reversed(before), *after],
            has_earlier=len(above) > len(before),
            has_later=len(below) > len(after),
        )

    def before(self, message: UUID) -> Self:
        """With what stands before a message."""
        found = branches.upwards(message, MORE + 2)[1:]
        return self._with(reversed(found[:MORE]), has_earlier=len(found) > MORE)

    def after(self, message: UUID) -> Self:
        """With what stands after a message of the branch."""
        assert self.end
        found = branches.downwards(message, self.end.pk, MORE + 2)[1:]
        return self._with(found[:MORE], has_later=len(found) > MORE)

    def prompts(self) -> list[UUID]:
        """What its owner typed on the branch, the oldest first."""
        return branches.prompts(self.end.pk) if self.end else []

    def since(self, head: UUID | None, ending: str | None = None) -> Self:
        """What a page lacks whose last message is this one, of which it has this ending.

        All of it, where that is not among these.
        """
        ids = [message.pk for message in self.thread]
        if head not in ids:
            return self
        place = ids.index(head)
        is_last = place == len(ids) - 1
        known = self.ending if is_last else self.thread[place].ending
        missing = self.thread[place + 1 if known == ending else place :]
        beside = self.beside if missing else ()
        return replace(self, thread=missing, beside=beside, has_earlier=False, follows=True)

    def _with(
        self, ids: Iterable[UUID], *, has_earlier: bool = False, has_later: bool = False
    ) -> Self:
        """With these messages, and what stands beside the last of them."""
        wanted = list(ids)
        several = len(self.together) if self.end and self.end.pk in wanted[-1:] else 0
        read = _read(self.conversation, [*wanted, *(one.pk for one in self.together[1:several])])
        beside = {one.pk for one in self.together[:several]}
        return replace(
            self,
            thread=[message for message in read if message.pk not in beside],
            beside=[message for message in read if message.pk in beside],
            has_earlier=has_earlier,
            has_later=has_later,
        )


def _read(conversation: "Conversation", ids: Iterable[UUID]) -> list[Message]:
    """The messages of these ids as they are shown, in that order.

    Each has `siblings`: all that follow what it follows, oldest first, itself included.
    """
    wanted = list(ids)
    found = {message.pk: message for message in _SHOWN.all(wanted)}
    messages = [found[pk] for pk in wanted if pk in found]
    families = branches.siblings(conversation.pk, messages) if messages else {}
    for message in messages:
        message.conversation = conversation
        message.siblings = families[message.parent_id]
    return messages


def _shown(*ids: Slot) -> "models.QuerySet[Message]":
    # By their ids alone, or SQLite would look at all messages of the conversation for them.
    related = Message.objects.filter(pk__in=ids, deleted_at=None)  # type: ignore[misc]
    # One takes long to decrypt, the other to read, in which nobody else has a turn.
    related = related.defer("upstream__api_key", "logprobs")
    related = related.select_related("usage", "upstream", "feedback")
    return related.annotate(keeps_logprobs=models.Q(logprobs__isnull=False)).order_by()


_SHOWN = Among(_shown, Message._meta.pk)
