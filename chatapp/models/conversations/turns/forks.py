"""Fork a conversation: copy a branch into a new conversation.

Text, files, tool calls, images, summaries and the metadata of each reply are copied. Costs are not,
so that nothing is counted twice.

A branch may be long, and nobody else can write to SQLite during a transaction, so it is copied in
several short ones. Until the last one, the new conversation is a temporary one that no tab has
open: no list shows it, and if copying is interrupted, the sweep of temporary conversations deletes
it.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from django.db import connection, models, transaction
from django.db.models.functions import Cast, Coalesce

from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.chat_settings import ChatSettings
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.locked_message import GONE, locked_message
from chatapp.models.conversations.chats.request_settings import RequestSettings
from chatapp.models.conversations.chats.titled import MAX_TITLE_LENGTH
from chatapp.models.conversations.messages import storage
from chatapp.models.conversations.messages.images import (
    END_OF_IMAGES,
    FIRST_OF_TOOLS,
    IMAGE_BYTES,
    ReplyImage,
)
from chatapp.models.conversations.messages.messages import INSERT_MESSAGES, Message
from chatapp.models.conversations.threads import branches
from chatapp.models.conversations.threads.context_cuts import copy_cuts, summary_bytes
from chatapp.models.files.attachments import copy_attachments
from chatapp.models.refusals import Refused

MESSAGES_AT_ONCE = 200
BYTES_AT_ONCE = 512 * 1024
ROW_BYTES = 1024  # of a message, besides its text, and of a file, whose content is stored once
FORK_SUFFIX = " (fork)"
STREAMS = "This reply is still being written. Stop it first, or wait for it to finish."
LONG_FIELDS = (
    "content",
    "reasoning",
    "refusal",
    "earlier_rounds",
    "tool_runs",
    "extras_record",
    "logprobs",
)
COPY_IMAGES = """
INSERT INTO chatapp_replyimage (message_id, position, media_type, data, file_id)
SELECT %s, position, media_type, data, file_id FROM chatapp_replyimage
WHERE message_id = %s AND position < %s
"""


@dataclass(frozen=True)
class Fork:
    """A person's request to fork the conversation at a message."""

    message: uuid.UUID

    @transaction.atomic
    def begin(self, user: User, hourly: TokenBucket) -> "ForkCopier":
        """Store the new conversation, empty and hidden.

        `hourly` counts the bytes that this person may still store now. Raises `Refused`.
        """
        last = locked_message(user, self.message)
        if last.is_streaming:
            raise Refused(STREAMS)
        ids = branches.ancestors(last.pk, branches.NO_LIMIT)[::-1]
        summaries = summary_bytes(last.conversation_id, last.conversation.cut_changes)
        sizes = compute_sizes(ids, summaries)
        size = sum(sizes) + summaries.get(None, 0)
        storage.charge_quota(user, size, hourly)
        fork = _build_fork(last.conversation, size)
        copies = {pk: uuid.uuid4() for pk in ids}
        fork.active_leaf = copies[last.pk]
        fork.cut_changes = last.conversation.cut_changes
        fork.begin()
        ChatSettings.copy(last.conversation, fork)
        copy_cuts(fork, {None: None}, last.conversation_id)
        return ForkCopier(
            fork, copies, split_into_steps(ids, sizes), last.conversation.is_temporary
        )


@dataclass
class ForkCopier:
    """A fork that is being copied, step by step."""

    conversation: Conversation
    copies: dict[uuid.UUID, uuid.UUID]
    steps: list[list[uuid.UUID]]
    stays_temporary: bool

    with_settings: ClassVar = True  # the settings of requests, and what is left out of them
    done = 0  # steps

    @property
    def with_tools(self) -> bool:
        """Whether tool calls are copied."""
        return True

    @transaction.atomic
    def step(self, _user: User) -> bool:
        """Copy some messages; return whether they were the last. Raises `Refused`."""
        self._copy(self.steps[self.done])
        self.done += 1
        if self.done < len(self.steps):
            return False
        if not self.stays_temporary:
            self.conversation.is_temporary = False
            self.conversation.save(update_fields=["is_temporary"])
        return True

    def prepare(self, message: Message) -> None:
        """Change a message before its copy is stored."""

    def copy_files(self, copies: Mapping[uuid.UUID, uuid.UUID]) -> None:
        """Copy the files of messages to their copies."""
        copy_attachments(copies, self.conversation.user_id)

    def _copy_settings(self, messages: list[Message]) -> dict[uuid.UUID | None, uuid.UUID]:
        if not self.with_settings:
            return {}
        settings_ids = {
            message.request_settings_id for message in messages if message.request_settings_id
        }
        return dict(RequestSettings.copy(settings_ids, self.conversation))

    def _copy(self, ids: list[uuid.UUID]) -> None:
        """Store copies of these messages, in this order. Raises `Refused` if one was deleted."""
        copies, fork = self.copies, self.conversation
        by_pk = Message.objects.filter(deleted_at=None).in_bulk(ids)
        if len(by_pk) < len(ids):  # deleted since the copying began
            raise Refused(GONE)
        messages = [by_pk[pk] for pk in ids]
        settings = self._copy_settings(messages)
        for message in messages:
            self.prepare(message)
            message.pk = copies[message.pk]
            message.request_settings_id = settings.get(message.request_settings_id)
            message.conversation = fork
            message.parent_id = copies[message.parent_id] if message.parent_id else None
            message.sequence = message.streamed_by = message.indexed_at = None
        INSERT_MESSAGES.run(*messages)
        with_files = (old for old, message in zip(ids, messages, strict=True) if message.file_count)
        self.copy_files({old: copies[old] for old in with_files})
        if self.with_settings:
            copy_cuts(fork, {old: copies[old] for old in ids})
        pk = Message._meta.pk
        with_images = [
            old for old, message in zip(ids, messages, strict=True) if message.extras.has_rows
        ]
        end = END_OF_IMAGES if self.with_tools else FIRST_OF_TOOLS
        with connection.cursor() as cursor:
            cursor.executemany(
                COPY_IMAGES,
                [
                    [*(pk.get_db_prep_value(key, connection) for key in (copies[old], old)), end]
                    for old in with_images
                ],
            )


def compute_sizes(ids: list[uuid.UUID], summaries: Mapping[uuid.UUID | None, int]) -> list[int]:
    """Return the bytes of each message: its texts, its images, its summary, and an allowance for
    the rows."""
    text = ROW_BYTES * (models.F("file_count") + 1) + sum(
        Coalesce(storage.OctetLength(Cast(name, models.TextField())), 0) for name in LONG_FIELDS
    )
    rows = Message.objects.filter(pk__in=ids).order_by()
    of_text = dict(rows.annotate(text=text).values_list("pk", "text"))
    images = ReplyImage.objects.filter(message__in=ids).values("message").order_by()
    of_images = dict(images.annotate(size=models.Sum(IMAGE_BYTES)).values_list("message", "size"))
    return [of_text[pk] + of_images.get(pk, 0) + summaries.get(pk, 0) for pk in ids]


def split_into_steps(ids: list[uuid.UUID], sizes: list[int]) -> list[list[uuid.UUID]]:
    """Cut the branch into pieces, each copied in a short transaction."""
    steps: list[list[uuid.UUID]] = [[]]
    room = BYTES_AT_ONCE
    for pk, size in zip(ids, sizes, strict=True):
        if steps[-1] and (size > room or len(steps[-1]) == MESSAGES_AT_ONCE):
            steps.append([])
            room = BYTES_AT_ONCE
        steps[-1].append(pk)
        room -= size
    return steps


def _build_fork(conversation: Conversation, size: int) -> Conversation:
    title = conversation.title.removesuffix(FORK_SUFFIX)[: MAX_TITLE_LENGTH - len(FORK_SUFFIX)]
    return Conversation(
        user_id=conversation.user_id,
        title=f"{title.rstrip()}{FORK_SUFFIX}",
        titled_by=conversation.titled_by,
        project_id=conversation.project_id,
        is_temporary=True,
        stored_bytes=size,
    )
