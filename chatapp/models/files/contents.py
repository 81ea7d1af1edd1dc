"""The content that was read of a stored file: a document's text, or an image's size.

It is kept once per person and content, however many messages have the file.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from itertools import groupby
from typing import ClassVar, NamedTuple

from django.conf import settings
from django.db import models
from django.db.models.functions import Substr

from chatapp.models.files.stored_files import StoredFile
from chatapp.upstream.wire.requests.content import PICTURE_LEFT_OUT, ImagePart, Part, text_part
from chatapp.upstream.wire.requests.estimates import BYTES_PER_TOKEN, MIDDLE, PromptSize
from chatapp.upstream.wire.requests.history import History

PLAIN_TEXT = "text/plain"
BETWEEN_PAGES = "\n\n"
FIRST_FRAME = "{}: an animation. Only its first frame is sent."
PAGES_NOT_SENT = "{} {} {} not sent: at most {} pages of a scan are."


class PlacedPart(NamedTuple):
    """A picture of a document, and its place."""

    page: int  # from 1
    offset: int  # characters of the page before it
    part: Part


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
    # What of the file is not in it, as [noun, count]: [["picture", 3]].
    left_out = models.JSONField(null=True)

    objects: ClassVar[models.Manager["FileContent"]] = models.Manager()

    def __str__(self) -> str:
        return f"{self.label} of {self.file}"

    @property
    def page_count(self) -> int:
        return len(self.page_ends)

    def parts(self, name: str, first: int, last: int) -> list[Part]:
        """Return the content parts that a model is sent of these pages: the same for each turn."""
        if self.kind == self.Kind.IMAGE:
            notes = [text_part(FIRST_FRAME.format(escape(name)))] if self.left_out else []
            return [*notes, self.as_image_part()]
        images = [image for image in self.page_images.all() if first <= image.page_number <= last]
        if self.kind == self.Kind.SCAN:
            return self._scan_parts(name, first, last, images)
        placed = [
            PlacedPart(image.page_number, image.offset, image.as_image_part(PICTURE_LEFT_OUT))
            for image in images
        ]
        return self.document_parts(name, first, last, placed)

    def _scan_parts(
        self, name: str, first: int, last: int, images: "Sequence[PageImage]"
    ) -> list[Part]:
        sent = images[: settings.CHATAPP_SCANNED_PAGES]
        label = f"{escape(name)}: {self._range_words(first, last)}, as images."
        if missing := self.pages_not_sent(first, last, sent):
            label += f" {missing}"
        if self.left_out:
            label += f" Left out: {self.left_out_words}."
        return [text_part(label), *(image.as_image_part() for image in sent)]

    def pages_not_sent(
        self, first: int, last: int, sent: "Iterable[PageImage] | None" = None
    ) -> str:
        """Return a sentence about the pages of a scan that are not sent, or an empty string.

        Without the images that are, the limit says which pages these are.
        """
        limit = settings.CHATAPP_SCANNED_PAGES
        if self.kind != self.Kind.SCAN:
            return ""
        sent_pages = (
            range(first, first + limit) if sent is None else {image.page_number for image in sent}
        )
        missing = [number for number in range(first, last + 1) if number not in sent_pages]
        if not missing:
            return ""
        spans = ", ".join(_spans_in(missing))
        pages, are = ("Page", "is") if len(missing) == 1 else ("Pages", "are")
        return PAGES_NOT_SENT.format(pages, spans, are, limit)

    def document_parts(
        self, name: str, first: int, last: int, pictures: Sequence[PlacedPart]
    ) -> list[Part]:
        """Return the text, between marks that it can't contain itself, and pictures in it."""
        starts = [0, *self.page_ends]
        pages: list[str] = []
        cuts: list[tuple[int, Part]] = []
        length = 0
        for number in range(first, last + 1):
            head = f"[{self.unit} {number}]\n" if self.unit else ""
            page = head + self.text[starts[number - 1] : starts[number]]
            here = (picture for picture in pictures if picture.page == number)
            cuts += [(length + len(head) + picture.offset, picture.part) for picture in here]
            pages.append(page)
            length += len(page) + len(BETWEEN_PAGES)
        text = BETWEEN_PAGES.join(pages)
        mark = f"document-{sha256(text.encode()).hexdigest()[:16]}"
        of = f' pages="{self._range_words(first, last)}"' if self.unit else ""
        of += f' left-out="{words}"' if (words := self.left_out_words) else ""
        begin = f'<{mark} name="{escape(name)}"{of}>\n'
        cuts = [(len(begin) + place, part) for place, part in cuts]
        return _cut_at_pictures(f"{begin}{text}\n</{mark}>", cuts)

    def _range_words(self, first: int, last: int) -> str:
        unit = self.unit.lower() or "page"
        pages = f"{first}-{last}" if last > first else f"{first}"
        return f"{unit} {pages} of {self.page_count}"

    @property
    def left_out_words(self) -> str:
        """The parts of the file that are not in its content: "3 pictures, 1 page"."""
        counts = self.left_out or ()
        return ", ".join(f"{count:,} {what}" + "s" * (count != 1) for what, count in counts)

    def undrawn_pages(self, first: int, last: int) -> list[int]:
        """Return the indices of those pages of a scan that are to be sent and not drawn yet."""
        if self.kind != self.Kind.SCAN:
            return []
        drawn = set(self.page_images.values_list("position", flat=True))
        indices = range(first - 1, min(last, first - 1 + settings.CHATAPP_SCANNED_PAGES))
        return [index for index in indices if index not in drawn]

    def get_text_of_pages(self, first: int, last: int) -> str:
        """Return the text of these pages; the first page of a document is 1."""
        starts = [0, *self.page_ends]
        return self.text[starts[max(first - 1, 0)] : starts[last]]

    def text_from(self, begin: int, length: int) -> str:
        """Return a part of the text without loading all of it."""
        part = Substr("text", begin + 1, length)
        text: str = FileContent.objects.filter(pk=self.pk).values_list(part, flat=True).get()
        return text

    def as_image_part(self) -> ImagePart:
        return ImagePart(self.file.name, self.media_type, self.width, self.height, self.file.size)


def store_text(text: str, owner: int) -> FileContent:
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
    """A picture in a document, or a page that is a picture, such as those of a scan."""

    content = models.ForeignKey(FileContent, models.CASCADE, related_name="page_images")
    # Its number in the document, or of a scan, the index of its page.
    position = models.PositiveSmallIntegerField()
    # Its place in the text of a document: the index of its page, and the characters before it.
    page = models.PositiveSmallIntegerField(null=True)
    offset = models.PositiveIntegerField(default=0, db_default=0)
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
        return f"Picture {self.position + 1}"

    @property
    def page_number(self) -> int:
        return 1 + (self.position if self.page is None else self.page)

    def as_image_part(self, stand_in: str = "") -> ImagePart:
        file = self.file
        return ImagePart(file.name, self.media_type, self.width, self.height, file.size, stand_in)


def _spans_in(numbers: Sequence[int]) -> Iterator[str]:
    """Yield the numbers that follow each other as spans: 3, 5-9."""
    for _, some in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        span = [number for _, number in some]
        yield f"{span[0]}-{span[-1]}" if len(span) > 1 else f"{span[0]}"


def _cut_at_pictures(text: str, cuts: Sequence[tuple[int, Part]]) -> list[Part]:
    """Return the text with as many of its pictures as are sent."""
    parts: list[Part] = []
    start = 0
    for place, picture in cuts[: settings.CHATAPP_SCANNED_PAGES]:
        parts += [text_part(text[start:place]), picture]
        start = place
    return [*parts, text_part(text[start:])]


def estimate_tokens(parts: Sequence[Part]) -> int:
    """Estimate the tokens of content parts."""
    history = History.of([{"role": "user", "content": parts}])
    return PromptSize.of(history).tokens(BYTES_PER_TOKEN, MIDDLE)
