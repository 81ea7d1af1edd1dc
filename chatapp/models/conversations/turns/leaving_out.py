"""Requests of a person to leave out the oldest part of a branch, and to send it again."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from django.db import models, transaction
from django.db.models.functions import Cast, Coalesce

from chatapp.models.accounts.users import User
from chatapp.models.billing.context_windows import context_window
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.locked_message import locked_message
from chatapp.models.conversations.messages import storage
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.threads import branches
from chatapp.models.conversations.threads.context_cuts import MAX_SUMMARY, ContextCut, last_cut
from chatapp.models.files.attachments import Attachment
from chatapp.models.platform.upstreams import ModelChoice, Upstream
from chatapp.models.policies.legal_holds import refuse_held
from chatapp.models.refusals import ChatNotFound, Refused
from chatapp.upstream.wire.requests.estimates import BYTES_PER_TOKEN

SHARE_KEPT = 2  # the rest may fill one part in so many of the context
NOTHING_OLDER = (
    "Nothing can be left out: only the last prompt and its reply are sent. Shorten the prompt, or "
    "choose a model with a larger context."
)
NOT_A_REPLY = "Only what ends with a whole reply can be left out."
CONTINUES = "The next prompt continues this reply, so both are needed. Choose another reply."
LEFT_OUT = "This is left out already. Reload the page."
NO_CUT = "What was left out here no longer exists. Reload the page."
TOO_LONG = "A summary can have {most:,} characters; this one has {count:,}. Shorten it."


class _SizedMessage(NamedTuple):
    """A message of a branch and about how many tokens it has."""

    pk: uuid.UUID
    role: str
    is_continuation: bool
    tokens: int


@dataclass(frozen=True)
class LeaveOut:
    """A request not to send the oldest part of a branch any more.

    `message` is the last reply to leave out. Without one, as much is left out as a model needs to
    take the branch through `through`. If a summary of just that part was kept, it is used again.
    """

    conversation: uuid.UUID
    through: uuid.UUID | None = None
    model: ModelChoice | None = None
    message: uuid.UUID | None = None

    @transaction.atomic
    def store(self, user: User) -> Conversation:
        """Store the cut. Raises `Refused`."""
        conversation = Conversation.get_for_update(user, self.conversation)
        message = self.message or oldest_part(conversation, self.through, self.model)
        return store_cut(user, message).conversation


@dataclass(frozen=True)
class SendAgain:
    """A request to send what a cut leaves out; its summary is kept."""

    cut: uuid.UUID

    @transaction.atomic
    def store(self, user: User) -> Conversation:
        """Lift the cut, or delete it if it has no summary. Raises `Refused`."""
        context_cut = get_own_cut(user, self.cut)
        if context_cut.message_id is None:
            raise Refused("This chat begins with its summary. Edit it, or start a new chat.")
        if context_cut.summary:
            context_cut.is_lifted = True
            context_cut.save(update_fields=["is_lifted"])
        else:
            context_cut.delete()
        return record_cut_change(context_cut.conversation)


@dataclass(frozen=True)
class EditSummary:
    """A request to replace the text of a summary."""

    cut: uuid.UUID
    summary: str

    @transaction.atomic
    def store(self, user: User) -> Conversation:
        """Store the text. Raises `Refused`."""
        if len(self.summary) > MAX_SUMMARY:
            raise Refused(TOO_LONG.format(most=MAX_SUMMARY, count=len(self.summary)))
        context_cut = get_own_cut(user, self.cut)
        if context_cut.summary != self.summary:
            if context_cut.summary:
                refuse_held(context_cut.conversation.user_id, context_cut.conversation_id)
            context_cut.summary, context_cut.is_edited = self.summary, True
            context_cut.save(update_fields=["summary", "is_edited"])
            index_again(context_cut)
        return record_cut_change(context_cut.conversation)


def store_cut(
    user: User,
    message: uuid.UUID,
    summary: str = "",
    upstream: Upstream | None = None,
    model: str = "",
) -> ContextCut:
    """Leave out everything up to this reply. Call it in a transaction. Raises `Refused`.

    A summary that was kept there is used again.
    """
    last = locked_message(user, message)
    if last.is_prompt or last.is_streaming:
        raise Refused(NOT_A_REPLY)
    if last.children.filter(is_continuation=True, deleted_at=None).exists():
        raise Refused(CONTINUES)
    existing = ContextCut.objects.filter(message=last).first()
    context_cut = existing or ContextCut(conversation=last.conversation, message=last)
    if existing and (existing.summary if summary else not existing.is_lifted):
        raise Refused(LEFT_OUT)
    context_cut.is_lifted = False
    if summary:
        context_cut.summary, context_cut.upstream, context_cut.model = summary, upstream, model
    context_cut.save()
    if summary:
        index_again(context_cut)
    record_cut_change(last.conversation)
    return context_cut


def record_cut_change(conversation: Conversation) -> Conversation:
    """Record that the cuts of a locked conversation have changed, and return it."""
    stored = Conversation.objects.filter(pk=conversation.pk)
    stored.update(cut_changes=models.F("cut_changes") + 1)
    conversation.cut_changes += 1
    return conversation


def index_again(cut: ContextCut) -> None:
    """Make the search index read a summary again, with the message or title that it belongs to."""
    if cut.message_id:
        Message.objects.filter(pk=cut.message_id).update(indexed_at=None)
    else:
        Conversation.objects.filter(pk=cut.conversation_id).update(indexed_title=None)


def get_own_cut(user: User, pk: uuid.UUID) -> ContextCut:
    """Return this person's cut, with its conversation locked. Raises `Refused`."""
    present = models.Q(message=None) | models.Q(message__deleted_at=None)
    own = ContextCut.objects.filter(present, conversation__user=user, pk=pk).first()
    if own is None:
        raise Refused(NO_CUT)
    own.conversation = Conversation.get_for_update(user, own.conversation_id)
    return own


def oldest_part(
    conversation: Conversation, through: uuid.UUID | None, model: ModelChoice | None
) -> uuid.UUID:
    """Return the last reply of the oldest part of a branch that a model has no room for.

    The last exchange always stays. If the model's context is unknown, about half is left out.
    Raises `Refused` if there is nothing older.
    """
    page = conversation.load_thread_page(through)
    if page.end is None:
        raise ChatNotFound
    sent = _load_sent_messages(conversation, page.end.pk)
    ends = [
        index
        for index, (message, following) in enumerate(pairwise(sent))
        if message.role == Message.Role.ASSISTANT
        and following.role == Message.Role.USER
        and not following.is_continuation
    ]
    if not ends:
        raise Refused(NOTHING_OLDER)
    upstream = Upstream.objects.filter(pk=model.upstream).first() if model else None
    up_to = list(accumulate(message.tokens for message in sent))
    window = context_window(upstream, model.name) if model else None
    room = (window or up_to[-1]) // SHARE_KEPT
    end = next((end for end in ends if up_to[-1] - up_to[end] <= room), ends[-1])
    return sent[end].pk


def _load_sent_messages(conversation: Conversation, end: uuid.UUID) -> Sequence[_SizedMessage]:
    """Return the messages of a branch that are sent now, oldest first, with their sizes."""
    ids = branches.ancestors(end, branches.NO_LIMIT)[::-1]
    if (before := last_cut(conversation.pk, end)) and before.message_id:
        ids = ids[ids.index(before.message_id) + 1 :]
    size = sum(
        Coalesce(storage.OctetLength(Cast(name, models.TextField())), 0)
        for name in ("content", "refusal", "earlier_rounds")
    )
    files = Attachment.objects.filter(message__in=ids).values("message").order_by()
    of_files = dict(files.annotate(sum=models.Sum("tokens")).values_list("message", "sum"))
    messages = Message.objects.filter(pk__in=ids).order_by().annotate(size=size)
    by_pk = {
        pk: _SizedMessage(pk, role, goes_on, size // BYTES_PER_TOKEN + of_files.get(pk, 0))
        for pk, role, goes_on, size in messages.values_list("pk", "role", "is_continuation", "size")
    }
    return [by_pk[pk] for pk in ids if pk in by_pk]
