"""What was read of a stored file: the text of a document, or the size of an image.

It is kept once per person and content, however many messages have the file.
"""

from collections.abc import Sequence
from hashlib import sha256
from html import escape
from typing import ClassVar

from django.db import models
from django.db.models.functions import Substr

from chatapp.models.files.stored_files import StoredFile
from chatapp.upstream.wire.content import ImagePart, Part, text_part
from chatapp.upstream.wire.estimates import BYTES_PER_TOKEN, MIDDLE, PromptSize
from chatapp.upstream.wire.history import History

PLAIN_TEXT = "text/plain"


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

    def parts(self, name: str, first: int, last: int) -> list[Part]:
        """Return the content parts that a model is sent of these pages: the same for each turn."""
        if self.kind == self.Kind.IMAGE:
            return [self.as_image_part()]
        if self.kind == self.Kind.SCAN:
            images = list(self.page_images.all())[first - 1 : last]
            label = f"{escape(name)}: {self._range_words(first, last)}, as images."
            return [text_part(label), *(one.as_image_part() for one in images)]
        return [text_part(self._document_text(name, first, last))]

    def _document_text(self, name: str, first: int, last: int) -> str:
        """Return the text between marks that the text itself can't contain."""
        pages = self.pages(first, last)
        if self.unit:
            numbered = enumerate(pages, first)
            pages = [f"[{self.unit} {number}]\n{text}" for number, text in numbered]
        text = "\n\n".join(pages)
        mark = f"document-{sha256(text.encode()).hexdigest()[:16]}"
        of = f' pages="{self._range_words(first, last)}"' if self.unit else ""
        return f'<{mark} name="{escape(name)}"{of}>\n{text}\n</{mark}>'

    def _range_words(self, first: int, last: int) -> str:
        unit = self.unit.lower() or "page"
        pages = f"{first}-{last}" if last > first else f"{first}"
        return f"{unit} {pages} of {self.page_count}"

    def text_from(self, begin: int, length: int) -> str:
        """Return a part of the text without loading all of it."""
        part = Substr("text", begin + 1, length)
        found: str = FileContent.objects.filter(pk=self.pk).values_list(part, flat=True).get()
        return found

    def as_image_part(self) -> ImagePart:
        return ImagePart(self.file.name, self.media_type, self.width, self.height, self.file.size)


def stored_text(text: str, owner: int) -> FileContent:
    """Store a plain text as if the person had uploaded it. Raises `OSError`."""
    described = {
        "kind": FileContent.Kind.DOCUMENT,
        "label": "Text",
        "media_type": PLAIN_TEXT,
        "text": text,
        "page_ends": [len(text)],
    }
    file = StoredFile.store(text.encode(), owner)
    return FileContent.objects.get_or_create(file=file, defaults=described)[0]


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


def tokens_of(parts: Sequence[Part]) -> int:
    """Estimate the tokens of content parts."""
    history = History.of([{"role": "user", "content": parts}])
    return PromptSize.of(history).tokens(BYTES_PER_TOKEN, MIDDLE)
