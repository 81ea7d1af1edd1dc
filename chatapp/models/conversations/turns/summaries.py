"""Requests of a person for a summary of a branch, and where the summary is stored."""

import uuid
from dataclasses import dataclass

from django.db import transaction

from chatapp.models.accounts.users import User
from chatapp.models.billing.admission import PlannedRequest, admit_request
from chatapp.models.billing.context_windows import context_window
from chatapp.models.billing.reservations import Reservation
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.locked_message import locked_message
from chatapp.models.conversations.chats.titled import MAX_TITLE_LENGTH
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.threads.branch_history import BranchHistory
from chatapp.models.conversations.threads.context_cuts import ContextCut
from chatapp.models.conversations.turns.leaving_out import oldest_part, store_cut
from chatapp.models.platform.upstreams import ModelChoice, Upstream
from chatapp.models.refusals import Refused
from chatapp.upstream.wire.requests.estimates import PromptSize

MIN_SUMMARY = 500  # tokens that limits must leave for one
CONTINUED_SUFFIX = " (continued)"
HAS_SUMMARY = "This part has a summary already. Choose “Send the summary instead” in the chat."
NOTHING_YET = "There is nothing to summarise yet."


@dataclass(frozen=True)
class Summarise:
    """A request to summarise the oldest part of a branch, or with `for_new` all of it.

    `sent_to` is the model that has to take the rest; `by` writes the summary.
    """

    conversation: uuid.UUID
    by: ModelChoice
    through: uuid.UUID | None = None
    sent_to: ModelChoice | None = None
    for_new: bool = False  # chat, which goes on with the summary

    @transaction.atomic
    def begin(self, user: User, process: uuid.UUID) -> "PlannedSummary":
        """Reserve budget for the summary. Raises `Refused`."""
        upstream = Upstream.get_for_choice(self.by, user.pk)
        conversation = Conversation.get_for_update(user, self.conversation)
        last = self._find_last_reply(conversation)
        history = conversation.history_until(last)
        key = uuid.uuid4()
        asking = PlannedRequest(key, upstream.pk, self.by.name, process)
        tokens = PromptSize.of(history.history()).upper_tokens
        reservation = admit_request(user.pk, asking, tokens, MIN_SUMMARY)
        window = context_window(upstream, self.by.name)
        planned = (conversation, last, history, upstream, self.by.name)
        return PlannedSummary(key, *planned, window, self.for_new, reservation)

    def _find_last_reply(self, conversation: Conversation) -> uuid.UUID:
        """Return the last reply to summarise; for a new chat, the last one with an answer."""
        if not self.for_new:
            last = oldest_part(conversation, self.through, self.sent_to or self.by)
            if ContextCut.objects.filter(message=last).exclude(summary="").exists():
                raise Refused(HAS_SUMMARY)
            return last
        end = conversation.load_thread_page(self.through).end
        history = conversation.history_until(end.pk) if end else None
        while history and history.end:
            message = Message.objects.get(pk=history.end)
            if message.role == Message.Role.ASSISTANT and message.content and message.ending:
                return message.pk
            history = conversation.history_until(message.parent_id)
        raise Refused(NOTHING_YET)


@dataclass(frozen=True)
class PlannedSummary:
    """A summary that a process may request now."""

    key: uuid.UUID  # of its ledger row
    conversation: Conversation
    message: uuid.UUID  # the last one that it is about
    history: BranchHistory
    upstream: Upstream
    model: str
    window: int | None  # of the model, in tokens
    for_new: bool
    reservation: Reservation | None

    @transaction.atomic
    def store(self, user: User, summary: str) -> Conversation:
        """Store the summary and return the conversation that it is in. Raises `Refused`."""
        if not self.for_new:
            store_cut(user, self.message, summary, self.upstream, self.model)
            return self.conversation
        before = locked_message(user, self.message).conversation
        new = Conversation(
            user=user,
            title=_build_title(before.title),
            titled_by=before.titled_by,
            project_id=before.project_id,
            is_temporary=before.is_temporary,
            cut_changes=1,
        )
        new.begin()
        ContextCut.objects.create(
            conversation=new, summary=summary, upstream=self.upstream, model=self.model
        )
        return new


def _build_title(title: str) -> str:
    base = title.removesuffix(CONTINUED_SUFFIX)[: MAX_TITLE_LENGTH - len(CONTINUED_SUFFIX)]
    return f"{base.rstrip()}{CONTINUED_SUFFIX}"
