"""Copy a shared chat into a chat of its reader: only what they see of it.

The owner's settings, instructions, feedback and what their provider answered besides the text stay
where they are. The reader's next prompt uses what the reader may use.
"""

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction

from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.models import audit
from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.titled import MAX_TITLE_LENGTH
from chatapp.models.conversations.messages import storage
from chatapp.models.conversations.messages.extras import Extras
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.messages.rounds import Round
from chatapp.models.conversations.turns.forks import (
    STREAMS,
    ForkCopier,
    compute_sizes,
    split_into_steps,
)
from chatapp.models.files.attachments import Attachment, copy_attachments
from chatapp.models.files.contents import PLAIN_TEXT, FileContent, store_text
from chatapp.models.refusals import ChatNotFound, Refused
from chatapp.models.sharing import shared_threads
from chatapp.models.sharing.shared_threads import SharedView

COPY_SUFFIX = " (copy)"
NOT_STORED = "The files can't be copied at the moment. Try again in a while."


@transaction.atomic
def begin_copy(link: SharedView, user: User, hourly: TokenBucket) -> "SharedChatCopier":
    """Store the reader's new conversation, empty and hidden.

    `hourly` counts the bytes that they may still store now. Raises `Refused`.
    """
    path, leaf = shared_threads.get_message_ids(link)
    present = Message.objects.filter(pk__in=path, deleted_at=None).in_bulk()
    ids = [pk for pk in path if pk in present]
    if not ids:
        raise ChatNotFound
    if any(present[pk].is_streaming for pk in ids):
        raise Refused(STREAMS)
    sizes = compute_sizes(ids, {})
    storage.charge_quota(user, sum(sizes), hourly)
    source = link.conversation
    title = source.title.removesuffix(COPY_SUFFIX)[: MAX_TITLE_LENGTH - len(COPY_SUFFIX)]
    copies = {pk: uuid.uuid4() for pk in ids}
    conversation = Conversation(
        user=user,
        title=f"{title.rstrip()}{COPY_SUFFIX}",
        titled_by=source.titled_by,
        is_temporary=True,
        stored_bytes=sum(sizes),
        active_leaf=copies[leaf if leaf and leaf in present else ids[-1]],
    )
    conversation.begin()
    audit.record(link.COPY_ACTION, actor=user, about=source)
    return SharedChatCopier(conversation, copies, split_into_steps(ids, sizes), False, link)


@dataclass
class SharedChatCopier(ForkCopier):
    """A shared chat that is being copied, step by step, while its link is open to the reader."""

    link: SharedView
    texts: dict[uuid.UUID, FileContent | None] = field(default_factory=dict)  # by attachment
    left_out: Counter[uuid.UUID] = field(default_factory=Counter)  # files by message

    with_settings = False

    @property
    def with_tools(self) -> bool:
        return bool(self.link.shows_tools)

    def step(self, user: User) -> bool:
        self._store_texts()  # not within the transaction, as the storage may be slow
        with transaction.atomic():
            if not self.link.is_open_to(user):
                raise ChatNotFound
            return super().step(user)

    def _store_texts(self) -> None:
        """Without the author's name, store the texts of documents: an original may contain it."""
        if not self.link.shows_files or self.link.shows_author:
            return
        attachments = Attachment.objects.filter(
            message__in=self.steps[self.done], file__isnull=False
        )
        originals = attachments.exclude(file__content__kind=FileContent.Kind.IMAGE)
        originals = originals.exclude(file__content__media_type=PLAIN_TEXT)
        for attachment in originals.select_related("file__content"):
            assert attachment.content
            assert attachment.message_id
            text = attachment.content.get_text_of_pages(*attachment.page_range)
            try:
                owner = self.conversation.user_id
                self.texts[attachment.pk] = store_text(text, owner) if text else None
            except OSError as error:
                raise Refused(NOT_STORED) from error
            self.left_out[attachment.message_id] += not text

    def copy_files(self, copies: Mapping[uuid.UUID, uuid.UUID]) -> None:
        copy_attachments(copies, self.conversation.user_id, self.texts)

    def prepare(self, message: Message) -> None:
        """Remove what the reader does not see, before the copy is stored."""
        link = self.link
        message.logprobs = message.moderation = message.error = None
        message.is_flagged = False
        message.response_id = message.service_tier = message.system_fingerprint = ""
        message.extras_record = replace(message.extras, imported_usage={}).as_record()
        if not link.shows_tools and message.earlier_rounds:
            message.content = message.answer_text
            message.earlier_rounds = []
        if not link.shows_tools:
            message.tool_runs = []
            extras = replace(message.extras, tool_image_count=0, asides={})
            message.extras_record = extras.as_record()
        if not link.shows_reasoning:
            message.reasoning = ""
        message.earlier_rounds = [
            self._redact_round(round_record) for round_record in message.earlier_rounds
        ]
        message.file_count -= self.left_out[message.pk]
        if not link.shows_files:
            message.file_count = 0
            message.extras_record = _without_images(message.extras)

    def _redact_round(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a round without its usage, and without what its tool calls are sent back with,
        which may contain reasoning."""
        full_round = Round.from_record(record)
        redacted = Round(
            full_round.reasoning, full_round.content, full_round.refusal, full_round.tool_runs
        )
        if not self.link.shows_reasoning:
            redacted.reasoning = ""
        else:
            redacted.opaque = full_round.opaque
        return redacted.as_record()


def _without_images(extras: Extras) -> dict[str, object] | None:
    return extras.without_images().as_record()
