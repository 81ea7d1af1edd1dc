"""What was read of a stored file: the text of a document, or the size of an image.

It is kept once per content, however many messages have the file.
"""

from collections.abc import Sequence
from typing import ClassVar

from django.db import models
from django.db.models.functions import Substr

from chatapp.models.files.stored_files import StoredFile
from chatapp.upstream.wire.content import ImagePart


class FileContent(models.Model):
    """The content of a file as the model gets it."""

    class Kind(models.TextChoices):
        IMAGE = "image"
        DOCUMENT = "document"
        SCAN = "scan"  # a document without text, whose pages are images

    file = models.OneToOneField(StoredFile, models.CASCADE, related_name="content")
    kind = models.CharField(max_length=8, choices=Kind)
    label = models.CharField(max_length=40)  # the format, as people call it: "PDF", "Word"
    media_type = models.CharField(max_length=100)
    # Of an image.
    width = models.PositiveIntegerField(default=0)
    height = models.PositiveIntegerField(default=0)
    # None if the image is as small as one: a file that refers to itself would never be unused.
    thumbnail = models.ForeignKey(
        StoredFile, models.PROTECT, null=True, related_name="thumbnail_of"
    )
    # Of a document: its text, and where in it each page ends, in characters.
    text = models.TextField(blank=True)
    page_ends = models.JSONField(default=list)
    unit = models.CharField(max_length=10, blank=True)  # "Page", "Slide", "Sheet", or none

    objects: ClassVar[models.Manager["FileContent"]] = models.Manager()

    def __str__(self) -> str:
        return f"{self.label} of {self.file}"

    @property
    def page_count(self) -> int:
        return len(self.page_ends)

    def pages(self, first: int, last: int) -> list[str]:
        """Return the texts of these pages; the first page of a document is 1."""
        starts = [0, *self.page_ends[:-1]]
        some = slice(first - 1, last)
        spans = zip(starts[some], self.page_ends[some], strict=True)
        return [self.text[start:end] for start, end in spans]

    def text_from(self, begin: int, length: int) -> str:
        """Return a part of the text without loading all of it."""
        part = Substr("text", begin + 1, length)
        found: str = FileContent.objects.filter(pk=self.pk).values_list(part, flat=True).get()
        return found

    def as_image_part(self) -> ImagePart:
        return ImagePart(self.file.name, self.media_type, self.width, self.height, self.file.size)


class PageImage(models.Model):
    """A page of a scan."""

    content = models.ForeignKey(FileContent, models.CASCADE, related_name="page_images")
    position = models.PositiveSmallIntegerField()
    file = models.ForeignKey(StoredFile, models.PROTECT, related_name="page_images")
    media_type = models.CharField(max_length=10)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar[Sequence[str]] = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["content", "position"], name="one_page_a_position")
        ]

    def __str__(self) -> str:
        return f"Page {self.position + 1}"

    def as_image_part(self) -> ImagePart:
        return ImagePart(self.file.name, self.media_type, self.width, self.height, self.file.size)
