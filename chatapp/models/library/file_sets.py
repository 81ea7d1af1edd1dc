"""The files of presets: a set of files that versions send along with their system prompt.

A set is never changed: a version with other files has another set. Versions that have the same
files share one, also with the versions of a copy. It goes once no version has it.
"""

import uuid
from collections.abc import Collection, Sequence
from typing import ClassVar, Self

from django.conf import settings
from django.db import models, transaction
from django.template.defaultfilters import filesizeformat

from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.models.accounts.users import User
from chatapp.models.files.attachments import Attachment
from chatapp.models.files.contents import FileContent
from chatapp.models.files.stored_files import StoredFile, filter_unreferenced
from chatapp.models.refusals import Refused
from chatapp.upstream.wire.requests.content import Part

AT_ONCE = 100
FULL = (
    "Your files take up {used} of the {allowed} you may use, and this one has {size}. Delete chats "
    "and presets with files that you no longer need, from the trash too."
)
TOO_FAST = "You have stored as many bytes of files as is allowed within an hour. Try again later."
OWNER_FULL = "The owner has no more room for files. Ask them to delete some, or save a copy first."


class FileSetQuerySet(models.QuerySet["FileSet"]):
    @transaction.atomic
    def delete_unused(self) -> bool:
        """Delete some sets that no version has any more; return whether there were any."""
        batch = list(
            filter_unreferenced(self).select_for_update().values_list("pk", flat=True)[:AT_ONCE]
        )
        # Looked at again: one may have been referred to while its lock was waited for.
        return bool(filter_unreferenced(self.filter(pk__in=batch)).delete()[0])


class FileSet(models.Model):
    """Files in the order in which they are sent. Stored in the transaction that refers to it."""

    objects: ClassVar[FileSetQuerySet] = models.Manager.from_queryset(FileSetQuerySet)()  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"Set of files {self.pk}"

    @classmethod
    def store(cls, files: "Sequence[PresetFile]") -> "FileSet | None":
        """Store a new set of these files; None if there are none."""
        if not files:
            return None
        file_set = cls.objects.create()
        for position, file in enumerate(files):
            file.pk, file.file_set, file.position = uuid.uuid4(), file_set, position
        PresetFile.objects.bulk_create(files)
        return file_set


class PresetFileQuerySet(models.QuerySet["PresetFile"]):
    def owned_by(self, user: User) -> Self:
        """Return the files of all versions of a person's presets."""
        return self.filter(file_set__presetversion__target__owner=user).distinct()

    def of_preset(self, preset: uuid.UUID) -> Self:
        """Return the files of all versions of a preset."""
        return self.filter(file_set__presetversion__target=preset).distinct()

    def for_display(self) -> Self:
        """Load what pages show of them, without the texts."""
        return self.select_related("file__content").defer("file__content__text")


class PresetFile(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    file_set = models.ForeignKey(FileSet, models.CASCADE, related_name="files")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=120)
    size = models.PositiveBigIntegerField()  # bytes, as uploaded
    tokens = models.PositiveIntegerField()  # an estimate
    file = models.ForeignKey(StoredFile, models.PROTECT, related_name="preset_files")

    objects: ClassVar[PresetFileQuerySet] = models.Manager.from_queryset(PresetFileQuerySet)()  # type: ignore[assignment]

    class Meta:
        ordering: ClassVar[Sequence[str]] = ["file_set", "position"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def from_draft(cls, attachment: Attachment) -> Self:
        """Return a file of a set that is not stored yet, with the content of an attachment."""
        assert attachment.file
        names = ("name", "size", "tokens", "file")
        return cls(**{name: getattr(attachment, name) for name in names})

    @property
    def content(self) -> FileContent:
        return self.file.content

    @property
    def has_images(self) -> bool:
        return self.content.kind != FileContent.Kind.DOCUMENT

    @property
    def page_range(self) -> tuple[int, int]:
        """The first and the last page; (0, 0) if it has no pages."""
        return min(1, self.content.page_count), self.content.page_count

    def parts(self) -> list[Part]:
        """Return the content parts that a model is sent."""
        return self.content.parts(self.name, *self.page_range)


def load_files(file_set: int | None) -> list[PresetFile]:
    """Return the files of a set, as pages show them."""
    return list(PresetFile.objects.filter(file_set=file_set).for_display()) if file_set else []


def load_parts(file_set: int | None) -> list[Part]:
    """Return the content parts that a model is sent of a set."""
    if not file_set:
        return []
    files = PresetFile.objects.filter(file_set=file_set).select_related("file__content__file")
    files = files.prefetch_related("file__content__page_images__file")
    return [part for file in files for part in file.parts()]


def sum_stored_bytes(person: User) -> int:
    """Return the bytes of a person's files, in chats and presets, each content once, of the images
    in replies that they imported, and of their uploads that are not read."""
    attached = models.Q(pk__in=person.attachments.order_by().values("file"))
    imported = models.Q(pk__in=person.imported_images.order_by().values("file"))
    of_presets = models.Q(pk__in=PresetFile.objects.owned_by(person).order_by().values("file"))
    stored_files = StoredFile.objects.filter(attached | imported | of_presets)
    uploads = person.attachments.filter(file=None, message=None)
    sums = (rows.aggregate(sum=models.Sum("size"))["sum"] or 0 for rows in (stored_files, uploads))
    return sum(sums)


def check_room_for_sets(owner: User, file_sets: Collection[int | None]) -> None:
    """Raise `Refused` if the files in these sets exceed what their new owner may store."""
    if keys := [key for key in file_sets if key]:
        owned = PresetFile.objects.owned_by(owner).order_by().values("file")
        new_files = PresetFile.objects.filter(file_set__in=keys).exclude(file__in=owned)
        stored_files = StoredFile.objects.filter(pk__in=new_files.order_by().values("file"))
        check_room(owner, stored_files.aggregate(sum=models.Sum("size"))["sum"] or 0)


def reserve_room(person: User, size: int, hourly: TokenBucket, *, in_place_of: int = 0) -> None:
    """Take `size` bytes from what a person may store, in place of the `in_place_of` bytes they
    replace.

    `hourly` holds the bytes that the person may still store now. Raises `Refused`.
    """
    check_room(person, size - in_place_of)
    if not hourly.has(size):
        raise Refused(TOO_FAST)
    hourly.take(size)


def check_room(owner: User, size: int, by: User | None = None) -> None:
    """Raise `Refused` if so many more bytes of files exceed what the owner may store.

    `by` is the person who stores them, if that is somebody else.
    """
    used, allowed = sum_stored_bytes(owner), settings.CHATAPP_FILE_BYTES_PER_PERSON
    if used + size <= allowed:
        return
    if by and by != owner:
        raise Refused(OWNER_FULL)
    figures = {"used": used, "allowed": allowed, "size": size}
    raise Refused(FULL.format(**{name: filesizeformat(count) for name, count in figures.items()}))
