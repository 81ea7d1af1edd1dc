"""Decides what an export consists of, and writes it: one file, or an archive of several."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from uuid import UUID

from django.db.models import Sum

from chatapp.exports.contents import Contents
from chatapp.exports.formats.html import html
from chatapp.exports.formats.json_lines import json_lines
from chatapp.exports.formats.markdown import markdown
from chatapp.exports.formats.usage import usage_csv
from chatapp.exports.names import UniqueNames, safe_name
from chatapp.exports.reading import Chat, ChatReader
from chatapp.exports.zipped import Zip
from chatapp.models import Attachment, ChatExport, Message, ReplyImage
from chatapp.models.conversations.turns.exports import ExportFormat, ExportScope

UNTITLED = "Untitled chat"
FILES = "files/"  # the folder of files in an archive of JSON
# An export with more than that is made in the background.
MOST_CHATS = 500
MOST_MESSAGES = {
    ExportFormat.CSV: 50_000,
    ExportFormat.JSON: 10_000,
    ExportFormat.MARKDOWN: 10_000,
    ExportFormat.HTML: 500,  # each of them is rendered
}
MOST_FILE_BYTES = 50 * 2**20
LOOKED_UP_AT_ONCE = 500  # keys per query
TYPES = {
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "jsonl": "application/jsonl",
    "md": "text/markdown; charset=utf-8",
    "zip": "application/zip",
}
Write = Callable[[Chat, Contents | None], Iterator[bytes]]
WRITERS: dict[str, tuple[Write, str]] = {
    ExportFormat.MARKDOWN: (markdown, "md"),
    ExportFormat.HTML: (html, "html"),
}


class ExportContent(NamedTuple):
    suffix: str
    pieces: Iterator[bytes]

    @property
    def content_type(self) -> str:
        return TYPES[self.suffix]


def list_chats(export: ChatExport) -> list[UUID]:
    """Return the keys of the chats, the one that was used last first."""
    own = export.user.conversations.not_trashed()
    match export.scope:
        case ExportScope.CHATS:
            conversations = own.filter(pk__in=export.chats)
        case ExportScope.PROJECT:
            conversations = own.filter(project=export.project, is_temporary=False)
        case _:
            conversations = own.filter(is_temporary=False)
    return list(conversations.values_list("pk", flat=True))


def is_large(export: ChatExport, chats: list[UUID]) -> bool:
    """Whether to make the export in the background."""
    if len(chats) > MOST_CHATS:
        return True
    messages = Message.objects.filter(conversation__in=chats, deleted_at=None)
    if messages.count() > MOST_MESSAGES[ExportFormat(export.format)]:
        return True
    attached = Attachment.objects.filter(message__in=messages).aggregate(bytes=Sum("file__size"))
    has_bytes = export.with_files or export.format == ExportFormat.HTML
    return has_bytes and (attached["bytes"] or 0) > MOST_FILE_BYTES


def build_export(
    export: ChatExport, chats: list[UUID], on_chat: Callable[[], None] = lambda: None
) -> ExportContent:
    """Return the export's bytes. `on_chat` is called after each chat."""
    reader = ChatReader(export.user, chats, export.is_shown_only, on_chat=on_chat)
    if export.format == ExportFormat.CSV:
        return ExportContent("csv", usage_csv(reader))
    with_files = export.with_files and has_files(chats)
    if export.format == ExportFormat.JSON:
        if with_files:
            return ExportContent("zip", _json_with_files(reader))
        return ExportContent("jsonl", json_lines(reader))
    write, suffix = WRITERS[export.format]
    if len(chats) == 1 and not with_files:
        return ExportContent(suffix, (piece for chat in reader for piece in write(chat, None)))
    return ExportContent("zip", _texts(reader, write, suffix, with_files=with_files))


def has_files(chats: list[UUID]) -> bool:
    for start in range(0, len(chats), LOOKED_UP_AT_ONCE):
        batch = chats[start : start + LOOKED_UP_AT_ONCE]
        messages = Message.objects.filter(conversation__in=batch, deleted_at=None)
        images = ReplyImage.objects.filter(message__in=messages)
        if messages.filter(file_count__gt=0).exists() or images.exists():
            return True
    return False


def _json_with_files(reader: ChatReader) -> Iterator[bytes]:
    archive, contents = Zip(), Contents(FILES)
    yield from archive.add("conversations.jsonl", json_lines(reader, contents))
    yield from contents.write(archive)
    yield from archive.add("files.json", [contents.index])
    yield from archive.close()


def _texts(
    reader: Iterable[Chat], write: Write, suffix: str, *, with_files: bool
) -> Iterator[bytes]:
    """Write a text for each chat, with its files in a folder beside it."""
    archive, names = Zip(), UniqueNames()
    for chat in reader:
        name = names.reserve(f"{safe_name(chat.conversation.title, UNTITLED)}.{suffix}")
        contents = Contents(f"{name.removesuffix(f'.{suffix}')} files/") if with_files else None
        yield from archive.add(name, write(chat, contents))
        if contents:
            yield from contents.write(archive)
    yield from archive.close()
