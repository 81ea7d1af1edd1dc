"""The names and texts of attached files, as far as they are searched."""

from collections.abc import Collection, Iterator
from typing import NamedTuple
from uuid import UUID

from django.db.models import Value
from django.db.models.functions import Coalesce, Left

from chatapp.models.files.attachments import Attachment

MAX_CHARACTERS = 500_000  # of the files of one message
SLICE = 16_000  # characters that are split into words at once


class FileText(NamedTuple):
    name: str
    text: str  # "" of an image, a scan, and an expired file


def file_texts(messages: Collection[UUID]) -> dict[UUID, list[FileText]]:
    """Return the name and text of each file by message, in order. Texts over the limit are cut."""
    text = Coalesce(Left("file__content__text", MAX_CHARACTERS), Value(""))
    files = Attachment.objects.filter(message__in=messages).annotate(text=text)
    texts: dict[UUID, list[FileText]] = {}
    left = dict.fromkeys(messages, MAX_CHARACTERS)
    for message, name, text in files.values_list("message", "name", "text"):
        texts.setdefault(message, []).append(FileText(name, text[: left[message]]))
        left[message] = max(0, left[message] - len(text))
    return texts


def load_file_keys(messages: Collection[UUID]) -> set[tuple[UUID, int | None]]:
    """Return which files these messages have, to see whether one has expired since."""
    return set(Attachment.objects.filter(message__in=messages).values_list("pk", "file"))


def slices(text: str) -> Iterator[str]:
    """Cut a text between words, since splitting a long one at once would block other threads."""
    start = 0
    while start < len(text):
        end = start + SLICE
        if end < len(text):
            end = max(text.rfind(" ", start, end), text.rfind("\n", start, end)) + 1 or end
        yield text[start:end]
        start = end
