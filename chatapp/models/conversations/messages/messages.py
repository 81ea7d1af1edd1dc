"""The `Message` model: prompts and replies, stored as a tree."""

import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Self

from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, models, transaction
from django.db.models.base import ModelBase
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.text import Truncator

from chatapp.db.statements import Insert, Query, Update
from chatapp.models.accounts.users import User
from chatapp.models.billing import budget_accounts
from chatapp.models.billing.usage import Usage, milliseconds
from chatapp.models.conversations.messages.erasing import ErasableMessages
from chatapp.models.conversations.messages.images import ReplyImage, tool_image_files
from chatapp.models.conversations.messages.plain_messages import plain_chat_messages
from chatapp.models.conversations.messages.replies import StoredReply
from chatapp.models.conversations.messages.rounds import ToolRun
from chatapp.models.files.attachments import Attachment, files_by_message, parts_by_message
from chatapp.models.platform.processes import Process
from chatapp.models.platform.upstream_failures import FAILURES, UpstreamFailure
from chatapp.upstream.wire.reply import Ending, Reply
from chatapp.upstream.wire.requests.content import Part
from chatapp.upstream.wire.requests.estimates import PromptSize, estimate

# One running reply per slot of a conversation. The name begins with the constraint's name in the
# previous version, because that version's processes recognise the error by it.
STREAMING_CONSTRAINT = "message_one_streams_a_slot"


class MessageQuerySet(ErasableMessages["Message"]):
    def for_user(self, user: User) -> Self:
        """Messages in a person's conversations, without deleted ones and without the trash."""
        messages = self.filter(conversation__user=user, conversation__trashed_at=None)
        return messages.filter(deleted_at=None)

    def streaming(self) -> Self:
        return self.filter(ending=Message.STREAMING)

    def interrupt_orphans(self) -> int:
        """End the replies of dead processes as interrupted, and return their number."""
        return self.orphans().interrupt()

    def interrupt(self) -> int:
        """End those that are streaming, book each at its last known cost, return their number."""
        with transaction.atomic(self.db):
            # A process that hangs, or whose host is gone, may hold its row locks for a long time.
            related = self.streaming().select_related("conversation", "upstream")
            streaming = related.defer("upstream__api_key")
            lost = list(streaming.select_for_update(skip_locked=True, of=("self",)))
            ended = Message.objects.filter(pk__in=[message.pk for message in lost])
            ended.update(ending=Ending.INTERRUPTED, usage_so_far=None)
            for message in lost:
                message.ending = Ending.INTERRUPTED
            usages = [message.stored_usage() for message in lost]
            Usage.book(usages)
            budget_accounts.settle(usages)
        return len(lost)

    def orphans(self) -> Self:
        """Streaming replies whose process no longer exists."""
        owner = Process.objects.filter(pk=models.OuterRef("streamed_by"))
        return self.streaming().exclude(models.Exists(owner))

    def checkpoint(self, replies: Iterable["Message"]) -> None:
        """Save the text so far of replies, unless they have ended in the database."""
        growing = [message for message in replies if message.is_streaming]
        with transaction.atomic(self.db):
            _SAVE_GROWING.run(*growing)


_IS_REPLY = models.Q(role="assistant", deleted_at=None)
# Indexes for reviewers' queries. Each covers everything that its query reads of a message.
REVIEW_INDEXES = [
    models.Index(
        fields=["conversation", "upstream"], condition=_IS_REPLY, name="reply_of_conversation"
    ),
    models.Index(
        fields=["conversation"],
        condition=models.Q(is_flagged=True, deleted_at=None),
        name="message_flagged",
    ),
    # Deleted messages are few, so this index answers both "not deleted" and "due to be purged".
    models.Index(
        fields=["id"], condition=models.Q(deleted_at__isnull=False), name="message_deleted"
    ),
]


class Message(StoredReply):
    """A prompt or a reply. A reply's `parent` is its prompt; a prompt's is the reply before it."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    # Enough to know its place in the branch, whether it has ended, and what was sent with it.
    BRANCH_FIELDS = ("parent", "ending", "slot", "created_at")
    SENT_FIELDS = (  # the fields from which `as_chat_messages` builds what an upstream is sent
        "parent",
        "deleted_at",
        "role",
        "is_continuation",
        "file_count",
        "reasoning",
        "content",
        "refusal",
        "upstream",
        "model",
        "earlier_rounds",
        "tool_runs",
        "extras_record",
    )
    OTHER_CHOICE_FIELDS = (  # overwritten in other choices when their reply is saved again
        "reasoning",
        "content",
        "refusal",
        "tool_runs",
        "extras_record",
        "ending",
        "finish_reason",
        "response_id",
        "service_tier",
        "system_fingerprint",
        "error",
        "logprobs",
        "moderation",
        "is_flagged",
        "duration",
        "indexed_at",
    )

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(
        "chatapp.Conversation", models.CASCADE, related_name="messages"
    )
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="children")
    role = models.CharField(max_length=9, choices=Role)
    is_continuation = models.BooleanField(
        default=False,
        db_default=False,
        help_text="A prompt that nobody typed: it asks for the rest of the reply before it.",
    )
    created_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True, editable=False)
    # When the present text was indexed for search; saving another text resets it to None.
    indexed_at = models.DateTimeField(null=True, editable=False)
    # Set by a database trigger (see `sequence`), so no clock orders messages.
    sequence = models.BigIntegerField(null=True, editable=False)
    file_count = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)

    objects = models.Manager.from_queryset(MessageQuerySet)()
    siblings: list["Message"]
    is_limited = True  # assumed until `reserve_budget` has looked whether a limit applies

    class Meta:
        ordering = [models.F("sequence").asc(nulls_first=True), "created_at", "choice", "id"]
        indexes = [
            models.Index(fields=["conversation", "sequence"]),
            models.Index(
                fields=["created_at"],
                condition=models.Q(indexed_at=None),
                name="message_to_be_indexed",
            ),
            *REVIEW_INDEXES,
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "slot"],
                condition=models.Q(ending="streaming"),
                name=STREAMING_CONSTRAINT,
            )
        ]

    def __str__(self) -> str:
        text = "continued" if self.is_continuation else Truncator(self.content).chars(60)
        return f"{self.role}: {text}"

    def save(
        self,
        *,
        force_insert: bool | tuple[ModelBase, ...] = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Iterable[str] | None = None,
    ) -> None:
        """Save as usual, but never overwrite `sequence`, which the database sets."""
        if update_fields is None and not self._state.adding:
            names = (field.name for field in self._meta.concrete_fields if not field.primary_key)
            update_fields = [name for name in names if name != "sequence"]
        super().save(
            force_insert=force_insert,
            force_update=force_update,
            using=using,
            update_fields=update_fields,
        )

    @property
    def is_prompt(self) -> bool:
        return self.role == self.Role.USER

    @cached_property
    def file_parts(self) -> list[Part]:
        """The content parts of the attached files."""
        return parts_by_message([self.pk])[self.pk] if self.file_count else []

    @cached_property
    def files(self) -> list[Attachment]:
        """The attached files, as pages show them."""
        return files_by_message([self.pk])[self.pk] if self.file_count else []

    @cached_property
    def tool_images(self) -> dict[int, str]:
        """The names in the storage of the images that tools returned, by position."""
        return tool_image_files(self.pk) if self.extras.tool_image_count else {}

    def load_files(self) -> None:
        """Read `file_parts` and `files` now, because the event loop can't."""
        _ = self.file_parts, self.files

    def is_beside(self, other: "Message") -> bool:
        """Whether both answer the same prompt and were requested at the same moment."""
        return (self.parent_id, self.created_at) == (other.parent_id, other.created_at)

    def as_chat_messages(self, reply: "Message | None" = None) -> list[dict[str, object]]:
        """Return the chat messages that an upstream is sent for this message.

        If tools were called, and `reply` (which is about to be written) is by the same model of
        the same upstream, they include the model's own extras and the reasoning of all rounds.
        """
        if not self.earlier_rounds:
            return plain_chat_messages(self, self.file_parts)
        is_same = reply and (reply.upstream_id, reply.model) == (self.upstream_id, self.model)
        reasoning_field = self.extras.reasoning_field if is_same else ""
        *earlier, last = self.rounds
        called = [
            message
            for round in earlier
            for message in round.as_chat_messages(reasoning_field, bool(is_same), self.tool_images)
        ]
        answer = plain_chat_messages(self)
        if answer and reasoning_field:
            answer[0][reasoning_field] = last.reasoning
        return [*called, *answer]

    def stored_usage(self) -> Usage:
        """Return the usage of a reply known only from the database: that of its last checkpoint,
        or else an estimate from the stored text."""
        if self.usage_so_far:
            usage = Usage(**self.usage_so_far)
        else:
            history = self.conversation.history_until(self.parent_id).history()
            with suppress(ObjectDoesNotExist):  # deleted with the conversation meanwhile
                if self.request_settings:
                    history = self.request_settings.add_to_history(history)
            reply = Reply()
            reply.reasoning_parts = [self.reasoning]
            reply.answer_parts, reply.refusal_parts = [self.content], [self.refusal]
            side = self.upstream.image_side if self.upstream else None
            size = PromptSize.of(history, image_side=side)
            last = Usage.from_estimate(estimate(size, [reply]))
            earlier = (round["usage"] for round in self.earlier_rounds)
            usage = Usage.sum_rounds([*earlier, last.as_record()])
        return self.bill(usage)

    def bill(self, usage: Usage) -> Usage:
        """Fill in this reply as the one that had this cost, for booking; return the usage."""
        usage.message, usage.ending = self, self.ending
        usage.first_token_ms = milliseconds(self.time_to_first_token)
        usage.duration_ms = milliseconds(self.duration)
        usage.preset = self.preset
        usage.charge(self.conversation.user_id, self.upstream, self.model, asked_at=self.created_at)
        return usage

    def save_reply(self, usage: Usage, others: Sequence["Message"] = ()) -> None:
        """Save a reply that has ended, its cost, and the other choices of its response.

        It replaces the ending if another process took this one for dead and ended the reply.
        Raises `DatabaseError` if the reply was deleted meanwhile, after its cost is booked.
        """
        self.bill(usage)
        self.usage_so_far = self.indexed_at = None
        images = [image for message in (self, *others) for image in message.image_rows()]
        with transaction.atomic():
            is_stored = _SAVE_ENDED.run(self)
            if not is_stored:
                usage.forget_erased_person()
            Usage.book([usage])
            if self.is_limited:
                budget_accounts.settle([usage])
            if self.ending in FAILURES and self.upstream_id:
                kind = self.error["kind"] if self.error else self.ending
                UpstreamFailure.count_failure(self.upstream_id, kind)
            if others and is_stored:
                _SAVE_CHOICES.run(*others)
            if images and is_stored:
                ReplyImage.objects.bulk_create(images, ignore_conflicts=True)
        if not is_stored:
            raise DatabaseError("the reply has been deleted")

    def image_rows(self) -> list[ReplyImage]:
        """The new images as unsaved rows."""
        return [
            ReplyImage(
                message=self, position=position, media_type=image.media_type, data=image.data
            )
            for position, image in enumerate(self.new_images)
        ]

    def other_choice(self, reply: Reply, ending: Ending) -> "Message":
        """Return a sibling of this message: another choice of the same response."""
        other = Message(
            id=uuid.uuid5(self.pk, f"choice {reply.choice}"),  # stable if it is saved twice
            conversation=self.conversation,
            parent_id=self.parent_id,
            role=self.role,
            upstream=self.upstream,
            model=self.model,
            failed_models_record=self.failed_models_record,
            choice=reply.choice,
            duration=self.duration,
        )
        other.copy_progress(reply, map(ToolRun.of, reply.tool_calls))
        other.finish(reply, ending)
        return other


def get_texts(message: Message) -> list[str]:
    """Return the texts of each round: answer, refusal, reasoning. Empty texts are left out."""
    texts = (
        (reply_round.content, reply_round.refusal, reply_round.reasoning)
        for reply_round in message.rounds
    )
    return [text for round in texts for text in round if text]


def load_shown_files(messages: Iterable[Message]) -> None:
    """Read the `files` of these messages in one query, or in none if they have no files."""
    with_files = {message.pk: message for message in messages if message.file_count}
    if with_files:
        for pk, files in files_by_message(with_files).items():
            with_files[pk].files = files


def load_streaming_replies(conversation: uuid.UUID) -> list[Message]:
    """Return the replies that are being written in a conversation, in any process, by slot.

    Only their parents and processes are loaded.
    """
    return _STREAMING.all(conversation)


INSERT_MESSAGES = Insert(Message)
_SAVE_GROWING = Update(Message, Message.GROWING_FIELDS, where=("id", "ending"))
_SAVE_ENDED = Update(
    Message,
    [
        *(
            field.name
            for field in StoredReply._meta.local_fields
            if field.name not in Message.INITIAL_FIELDS
        ),
        "indexed_at",
    ],
)
_SAVE_CHOICES = Insert(Message, replacing=Message.OTHER_CHOICE_FIELDS)
_STREAMING = Query(
    # Raw SQL, because SQLite uses the partial index only if the condition is written as there.
    lambda conversation: (
        Message.objects.filter(
            RawSQL("chatapp_message.ending = 'streaming'", (), models.BooleanField()),
            conversation=conversation,
            deleted_at=None,
        )
        .only("parent", "streamed_by")
        .order_by("slot")
    ),
    Message._meta.pk,
)
