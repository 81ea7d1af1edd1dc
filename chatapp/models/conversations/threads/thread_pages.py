"""The part of a conversation that a page shows: a window of one branch, and what lies beyond it.

No more messages are read than are shown, however long the branch is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self
from uuid import UUID

from django.db import models

from chatapp.db.statements import Parameter, PreparedIn
from chatapp.models.conversations.messages.messages import Message, load_shown_files
from chatapp.models.conversations.threads import branches
from chatapp.models.conversations.threads.context_cuts import ContextCut

WINDOW = 30  # messages on a page
MORE = 40  # messages loaded when the reader reaches an end of the window


@dataclass(frozen=True)
class ThreadPage:
    """A conversation as it is shown: some messages of a branch, oldest first.

    If the branch ends in several replies that were requested at once and none was chosen, they are
    shown side by side below their prompt, which is the last message of the thread.
    """

    conversation: models.Model  # a `Conversation`, whose module imports this one
    thread: list[Message]
    end: Message | None = None  # of the branch, with the fields in `Message.BRANCH_FIELDS`
    streaming: Sequence[Message] = ()  # in any process
    together: Sequence[Message] = ()  # the replies side by side, `end` first; or none
    beside: Sequence[Message] = ()  # the same as they are shown, if this window reaches them
    has_earlier: bool = False
    has_later: bool = False
    follows: bool = False  # it only continues what a page has already
    cut: ContextCut | None = None  # what is left out of the branch
    lifted: Sequence[ContextCut] = ()  # with summaries that could be used again, on any branch

    @property
    def head(self) -> Message | None:
        """The last message that is shown; the prompt of replies side by side."""
        return self.thread[-1] if self.thread else None

    @property
    def leaf(self) -> UUID | None:
        """The message to remember so that the same end is found again."""
        if self.end is None:
            return None
        return self.end.parent_id if self.together else self.end.pk

    @property
    def ending(self) -> str:
        """The ending of the last message that is shown; of replies side by side, all of them."""
        last = self.beside or self.thread[-1:]
        return " ".join(message.ending for message in last)

    @property
    def visible_messages(self) -> list[Message]:
        return [*self.thread, *self.beside]

    def is_up_to_date(self, head: UUID | None, ending: str) -> bool:
        """Whether a page that ends with message `head` in this state is complete."""
        endings = " ".join(message.ending for message in self.together or filter(None, [self.end]))
        return (self.leaf, endings) == (head, ending)

    def runs(self, reply: UUID) -> bool:
        """Whether this reply is shown and was still streaming when it was read."""
        return any(
            message.pk == reply and message.is_streaming for message in self.visible_messages
        )

    def newest(self) -> Self:
        """Return the view with the last messages of the branch."""
        ids = branches.ancestors(self.end.pk, WINDOW + 1) if self.end else []
        return self._load_window(reversed(ids[:WINDOW]), has_earlier=len(ids) > WINDOW)

    def around(self, at: UUID) -> Self:
        """Return the view with a message of the branch, and those before and after it."""
        assert self.end
        below = branches.path_down(at, self.end.pk, WINDOW // 2 + 2)[1:]
        after = below[: WINDOW // 2]
        above = branches.ancestors(at, WINDOW - len(after) + 1)
        before = above[: WINDOW - len(after)]
        return self._load_window(
            [*reversed(before), *after],
            has_earlier=len(above) > len(before),
            has_later=len(below) > len(after),
        )

    def before(self, message: UUID) -> Self:
        """Return the view with the messages before this one."""
        ids = branches.ancestors(message, MORE + 2)[1:]
        return self._load_window(reversed(ids[:MORE]), has_earlier=len(ids) > MORE)

    def after(self, message: UUID) -> Self:
        """Return the view with the messages of the branch after this one."""
        assert self.end
        ids = branches.path_down(message, self.end.pk, MORE + 2)[1:]
        return self._load_window(ids[:MORE], has_later=len(ids) > MORE)

    def prompts(self) -> list[UUID]:
        """Return the prompts that the owner typed on this branch, oldest first."""
        return branches.prompts(self.end.pk) if self.end else []

    def since(self, head: UUID | None, ending: str | None = None) -> Self:
        """Return what a page lacks that ends with message `head` in the state `ending`.

        Returns the whole view if `head` is not among its messages.
        """
        ids = [message.pk for message in self.thread]
        if head not in ids:
            return self
        index = ids.index(head)
        is_last = index == len(ids) - 1
        current_ending = self.ending if is_last else self.thread[index].ending
        missing = self.thread[index + 1 if current_ending == ending else index :]
        beside = self.beside if missing else ()
        return replace(self, thread=missing, beside=beside, has_earlier=False, follows=True)

    def _load_window(
        self, ids: Iterable[UUID], *, has_earlier: bool = False, has_later: bool = False
    ) -> Self:
        """Return the view with these messages, and the replies side by side if it reaches them."""
        window_ids = list(ids)
        several = len(self.together) if self.end and self.end.pk in window_ids[-1:] else 0
        messages = _load_messages(
            self.conversation, [*window_ids, *(reply.pk for reply in self.together[1:several])]
        )
        beside = {reply.pk for reply in self.together[:several]}
        return replace(
            self,
            thread=[message for message in messages if message.pk not in beside],
            beside=[message for message in messages if message.pk in beside],
            has_earlier=has_earlier,
            has_later=has_later,
        )


def _load_messages(conversation: models.Model, ids: Iterable[UUID]) -> list[Message]:
    """Return the messages with these ids, in this order, as they are shown.

    Each gets `siblings`: all messages with the same parent, oldest first, itself included.
    """
    ordered_ids = list(ids)
    by_pk = {message.pk: message for message in _BY_IDS.all(ordered_ids)}
    messages = [by_pk[pk] for pk in ordered_ids if pk in by_pk]
    families = branches.siblings(conversation.pk, messages) if messages else {}
    for message in messages:
        message.conversation = conversation  # type: ignore[assignment]
        message.siblings = families[message.parent_id]
    load_shown_files(messages)
    return messages


def _select_messages(*ids: Parameter) -> "models.QuerySet[Message]":
    # Filter by id alone, or SQLite would scan all messages of the conversation.
    related = Message.objects.filter(pk__in=ids, deleted_at=None)  # type: ignore[misc]
    related = related.defer(*_DEFERRED_FIELDS)
    related = related.select_related("usage", "upstream", "feedback")
    return related.annotate(keeps_logprobs=models.Q(logprobs__isnull=False)).order_by()


# The key takes long to decrypt and the others long to read, while others wait.
_DEFERRED_FIELDS = (
    "logprobs",
    "upstream__api_key",
    "upstream__model_parameters",
    "upstream__parameter_refusals",
)
_BY_IDS = PreparedIn(_select_messages, Message._meta.pk)
