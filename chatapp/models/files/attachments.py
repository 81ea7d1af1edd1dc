"""Attachments: the files of prompts, and those that wait in a draft until a prompt is sent.

A draft belongs to a conversation, to its person's next new chat, or to a form that is not saved
yet. Sending a prompt moves its attachments from the draft to the message. The bytes arrive in parts
and are read into a `FileContent`; only attachments that are ready can be sent.
"""

import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from html import escape
from types import MappingProxyType
from typing import ClassVar, Self

from django.db import models, transaction
from django.db.models.functions import Coalesce
from django.utils import timezone

from chatapp.db.statements import Query
from chatapp.models.accounts.users import User
from chatapp.models.files import storage
from chatapp.models.files.contents import PLAIN_TEXT, FileContent, estimate_tokens
from chatapp.models.files.stored_files import StoredFile
from chatapp.models.files.uploads import MAX_NAME_LENGTH, Upload, get_part_bytes
from chatapp.models.platform.processes import Process
from chatapp.models.refusals import Refused
from chatapp.upstream.wire.requests.content import Part

ABANDONED = timedelta(days=1)  # after which nothing goes on with an upload
UNREAD_LIFETIME = timedelta(days=7)  # how long a draft keeps a file that could not be read
MAX_CHOICES = 50  # of last pages, in `pages_and_tokens`

INTERRUPTED = "The server was restarted while it read this file. Try again."
NOT_READY = "“{}” is not ready yet. Wait until it has been read, or remove it."
NOT_READ = "“{}” could not be read. Remove it first."
SUFFIX = ".txt"

EXPIRED = "(The file {} was deleted by the retention policy.)"
GONE = "An attached file is no longer there. Remove it or attach it again; your text is kept."


class AttachmentQuerySet(models.QuerySet["Attachment"]):
    def in_draft(self, conversation: uuid.UUID | None) -> Self:
        """Return the files in the draft of a conversation, or of a new chat (None)."""
        return self.filter(message=None, conversation=conversation, form=None)

    def in_form(self, form: uuid.UUID) -> Self:
        """Return the files in the draft of a form."""
        return self.filter(message=None, form=form)

    def for_chips(self) -> Self:
        """Load what the chips in the composer show, without the texts."""
        return self.select_related("file__content__thumbnail").defer("file__content__text")

    def editable(self) -> Self:
        """Return the files whose text can be edited: plain text files in a draft."""
        plain = models.Q(file__content__media_type=PLAIN_TEXT)
        return self.filter(plain, state=Attachment.State.READY, message=None)

    def with_media_type(self) -> Self:
        """Annotate `media_type`, without reading any text: "" if a file is not read or expired."""
        return self.annotate(media_type=Coalesce("file__content__media_type", models.Value("")))

    def fail_orphans(self) -> Sequence[tuple[int, uuid.UUID | None]]:
        """Mark attachments whose reading process has died as failed.

        Return the (person, conversation) of each changed draft.
        """
        reader = Process.objects.filter(pk=models.OuterRef("read_by"))
        orphans = self.filter(state=Attachment.State.READING).exclude(models.Exists(reader))
        drafts = list(orphans.values_list("user", "conversation"))
        orphans.update(state=Attachment.State.FAILED, problem=INTERRUPTED)
        return drafts

    def delete_abandoned(self) -> bool:
        """Delete uploads that stopped or could not be read, and those of forms that were not
        saved, long ago; return whether any."""
        states, now = Attachment.State, timezone.now()
        stopped = models.Q(state=states.UPLOADING, changed_at__lt=now - ABANDONED)
        unread = models.Q(state=states.FAILED, changed_at__lt=now - UNREAD_LIFETIME)
        unsaved = models.Q(form__isnull=False, changed_at__lt=now - ABANDONED)
        return bool(self.filter(stopped | unread | unsaved, message=None).delete()[0])

    def expire(self) -> int:
        """Delete their content, and those in drafts as a whole; return how many there were.

        The card of an expired file keeps its name and size. Its prompt is indexed again without
        the text.
        """
        drafts, _ = self.filter(message=None).delete()
        sent = list(self.exclude(message=None).values_list("pk", "message"))
        messages = self.model._meta.get_field("message").related_model._default_manager
        messages.filter(pk__in={message for _, message in sent}).update(indexed_at=None)
        of_sent = Attachment.objects.filter(pk__in=[pk for pk, _ in sent])
        return drafts + of_sent.update(file=None, first_page=0, last_page=0, tokens=0, alt="")

    def lock_for_sending(
        self, ids: Sequence[uuid.UUID], edited_message: uuid.UUID | None
    ) -> "list[Attachment]":
        """Return and lock the attachments that a prompt sends, in this order.

        They are in a draft, or belong to `edited_message`, whose edit keeps them. Raises
        `Refused` if one is missing or not ready.
        """
        own = models.Q(message=None, form=None) | models.Q(
            message=edited_message, message__isnull=False
        )
        by_pk = self.filter(own, pk__in=ids).select_for_update(of=("self",)).in_bulk()
        if len(by_pk) < len(set(ids)):
            raise Refused(GONE)
        for attachment in by_pk.values():
            attachment.check_ready()
        return [by_pk[pk] for pk in dict.fromkeys(ids)]


class Attachment(Upload):
    """A file of one prompt or draft."""

    FOLDER = storage.UPLOADS

    class State(models.TextChoices):
        UPLOADING = "uploading"
        READING = "reading"
        READY = "ready"
        FAILED = "failed"

    user = models.ForeignKey(User, models.CASCADE, related_name="attachments")
    # In a draft: its conversation, or None for a new chat's.
    conversation = models.ForeignKey(
        "chatapp.Conversation", models.CASCADE, null=True, related_name="drafted_files"
    )
    # In the draft of a form, such as a preset's: the key that the page made for it.
    form = models.UUIDField(null=True)
    message = models.ForeignKey(
        "chatapp.Message", models.CASCADE, null=True, related_name="attachments"
    )
    position = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=9, choices=State, default=State.UPLOADING)
    problem = models.CharField(max_length=500, blank=True)  # a sentence
    read_by = models.UUIDField(null=True)  # the process that reads it
    file = models.ForeignKey(StoredFile, models.PROTECT, null=True, related_name="attachments")
    first_page = models.PositiveIntegerField(default=0)  # 0: the whole document
    last_page = models.PositiveIntegerField(default=0)
    tokens = models.PositiveIntegerField(default=0)  # an estimate
    alt = models.CharField(max_length=500, blank=True)  # what a person says an image shows
    created_at = models.DateTimeField(auto_now_add=True)

    media_type: str  # set by `with_media_type`
    objects: ClassVar[models.Manager["Attachment"]] = models.Manager.from_queryset(
        AttachmentQuerySet
    )()

    class Meta:
        ordering: ClassVar[Sequence[str]] = ["position", "created_at", "id"]

    @property
    def part_bytes(self) -> int:  # type: ignore[override]  # has no column, unlike an import's
        return get_part_bytes()

    @property
    def is_expired(self) -> bool:
        """Whether retention has deleted the content."""
        return self.state == self.State.READY and self.file_id is None

    @property
    def content(self) -> FileContent | None:
        """The content that was read of the file; None until it is ready."""
        return getattr(self.file, "content", None) if self.file else None

    @property
    def page_range(self) -> tuple[int, int]:
        """The first and the last page that are sent; (0, 0) if it has no pages."""
        if not self.content:
            return 0, 0
        count = self.content.page_count
        return self.first_page or min(1, count), min(self.last_page or count, count)

    def check_ready(self) -> None:
        """Raise `Refused` if it can't be sent yet, or not at all."""
        if self.state == self.State.FAILED:
            raise Refused(NOT_READ.format(self.name))
        if self.state != self.State.READY:
            raise Refused(NOT_READY.format(self.name))

    def parts(self) -> list[Part]:
        """Return the content parts that a model is sent: the same for each turn."""
        if self.is_expired:
            return [{"type": "text", "text": EXPIRED.format(escape(self.name))}]
        assert self.content
        return self.content.parts(self.name, *self.page_range)

    def make_ready(self, content: FileContent) -> None:
        """Store what was read of it; if it was removed meanwhile, erase that."""
        self.file = content.file
        self.file.content = content
        reading = Attachment.objects.filter(pk=self.pk, state=self.State.READING)
        ready = {
            "state": self.State.READY,
            "file": content.file,
            "tokens": estimate_tokens(self.parts()),
        }
        if not reading.update(**ready, problem=""):
            StoredFile.objects.erase([content.file.pk])

    def choose_pages(self, pages: tuple[int, int]) -> None:
        """Send only these pages, from the first to the last; zeros for all of them."""
        self.first_page, self.last_page = pages
        self.tokens = estimate_tokens(self.parts())
        self.save(update_fields=["first_page", "last_page", "tokens", "changed_at"])

    def use_content(self, content: FileContent) -> None:
        """Use another content instead, all of it, without saving that."""
        self.file, self.size = content.file, content.file.size
        self.file.content = content
        self.first_page = self.last_page = 0
        self.tokens = estimate_tokens(self.parts())

    def replace_content(self, content: FileContent) -> None:
        """Use another content instead, and erase the former one if nobody else has it.

        Raises `Refused` if it was removed or sent meanwhile, and `IntegrityError` if the new
        content was erased at this moment.
        """
        fields = ["file", "size", "first_page", "last_page", "tokens", "changed_at"]
        self.use_content(content)
        with transaction.atomic():
            if former := self._lock_draft():
                self.save(update_fields=fields)
        if former != content.file.pk:
            StoredFile.objects.erase([former or content.file.pk])
        if not former:
            raise Refused(GONE)

    def remove(self) -> None:
        """Delete it with its parts, and its content if nobody else has that.

        Does nothing if it was sent meanwhile. Raises `OSError`.
        """
        with transaction.atomic():
            file = self._lock_draft()
            is_deleted, _ = Attachment.objects.filter(pk=self.pk, message=None).delete()
        if file:
            StoredFile.objects.erase([file])
        if is_deleted:
            self.delete_parts()

    def _lock_draft(self) -> int | None:
        """Lock it if it is in a draft, and return the file that it has by now."""
        own = Attachment.objects.filter(pk=self.pk, message=None)
        return own.select_for_update().values_list("file", flat=True).first()

    @property
    def is_editable(self) -> bool:
        return bool(self.content and self.content.media_type == PLAIN_TEXT)

    @property
    def pages_and_tokens(self) -> list[tuple[int, int]]:
        """Return last pages to send, each with the tokens from the first sent page through it.

        There are few of them, as estimates, so that the page can offer pages that fit.
        """
        first, last = self.page_range
        if not self.content or first == last:
            return []
        ends = [0, *self.content.page_ends]
        start, length = ends[first - 1], ends[last] - ends[first - 1]
        step = -(-(last - first) // MAX_CHOICES)
        return [
            (page, self.tokens * (ends[page] - start) // length)
            if length
            else (page, self.tokens * (page - first + 1) // (last - first + 1))
            for page in range(first, last, step)
        ]


def attach(attachments: Collection[Attachment], message: uuid.UUID) -> None:
    """Move drafted attachments to a message, and copy those that another message keeps."""
    for position, attachment in enumerate(attachments):
        is_kept = attachment.message_id is not None
        if is_kept:
            attachment.pk = uuid.uuid4()
        attachment.message_id, attachment.conversation_id = message, None
        attachment.position = position
        attachment.save(force_insert=is_kept)


def copy_attachments(
    copies: Mapping[uuid.UUID, uuid.UUID],
    owner: int,
    texts: Mapping[uuid.UUID, FileContent | None] = MappingProxyType({}),
) -> None:
    """Copy the attachments of messages to other messages, which may be another person's.

    Their content is stored once. Those that `texts` has get this text instead, or are left out.
    """
    attachments = Attachment.objects.filter(message__in=copies)
    copied = [
        attachment for attachment in attachments if texts.get(attachment.pk, attachment) is not None
    ]
    for attachment in copied:
        assert attachment.message_id
        if text := texts.get(attachment.pk):
            attachment.name = f"{attachment.name[: MAX_NAME_LENGTH - len(SUFFIX)]}{SUFFIX}"
            attachment.use_content(text)
        attachment.pk, attachment.message_id = uuid.uuid4(), copies[attachment.message_id]
        attachment.user_id = owner
    Attachment.objects.bulk_create(copied)


def drafted_files(user: User, conversation: uuid.UUID | None) -> list[Attachment]:
    """Return the files in a person's draft, see `in_draft`, with what their chips show."""
    if conversation is None:
        return _NEW_DRAFT_FILES.all(user.pk)
    return _DRAFT_FILES.all(user.pk, conversation)


def count_present(messages: Collection[uuid.UUID]) -> int:
    """Return how many files of these messages have not expired."""
    return Attachment.objects.filter(message__in=messages, file__isnull=False).count()


def parts_by_message(messages: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Part]]:
    """Return the content parts of each message's files."""
    parts: dict[uuid.UUID, list[Part]] = {pk: [] for pk in messages}
    attachments = Attachment.objects.filter(message__in=messages).select_related(
        "file__content__file"
    )
    for attachment in attachments.prefetch_related("file__content__page_images__file"):
        assert attachment.message_id
        parts[attachment.message_id] += attachment.parts()
    return parts


def files_by_message(messages: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Attachment]]:
    """Return each message's files with what a page shows of them, which is not their text."""
    files: dict[uuid.UUID, list[Attachment]] = {pk: [] for pk in messages}
    attachments = Attachment.objects.filter(message__in=messages).select_related("file__content")
    for attachment in attachments.defer("file__content__text"):
        assert attachment.message_id
        files[attachment.message_id].append(attachment)
    return files


_DRAFT_FILES = Query(
    lambda user, conversation: (
        Attachment.objects.filter(user=user).in_draft(conversation).for_chips()
    ),
    User._meta.pk,
    Attachment._meta.pk,
)
_NEW_DRAFT_FILES = Query(
    lambda user: Attachment.objects.filter(user=user).in_draft(None).for_chips(), User._meta.pk
)
