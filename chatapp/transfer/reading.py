"""Tells which app wrote an export, and reads its chats one at a time."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO
from zipfile import ZipInfo

from chatapp.transfer import archive as archives
from chatapp.transfer import database
from chatapp.transfer.archive import Archive
from chatapp.transfer.assets import export_of
from chatapp.transfer.database import Database
from chatapp.transfer.elements import Broken, Elements, Watch, Watched, decoded, unwatched
from chatapp.transfer.formats import chatgpt, claude, librechat, open_webui, own
from chatapp.transfer.formats.parts import Export, Unusable
from chatapp.transfer.records import (
    Damaged,
    Format,
    Report,
    Skipped,
    SourceChat,
    SourceFile,
    SourcePerson,
    Unreadable,
)
from chatapp.transfer.tree import TooComplex
from chatapp.transfer.values import identifier, line, mapping

CHUNK_BYTES = 256 * 1024
MAX_LOOKED_AT = 20  # elements of a file, and files of a ZIP, by which it is recognised
IMPORTABLE = (
    "Chats can be imported from exports of ChatGPT and Claude (the ZIP, or its"
    " conversations.json), of Open WebUI (JSON, or the database webui.db), of LibreChat (JSON)"
    " and of this app (JSON Lines, or a personal archive)."
)
UNKNOWN = f"This file isn't an export that can be read. {IMPORTABLE}"
MIXED = "These files come from different apps. Import them one after another."
CUT_OFF = "The file ends too early. The chats before that are read."
_CHATS = re.compile(r"(?:^|/)conversations(?:[-_]\d+)?\.jsonl?\Z")
NOT_A_CHAT = "It isn't a chat, or one of a kind that isn't known here."
DAMAGED = "A part of the ZIP is damaged. The chats before that are read."


@dataclass(frozen=True)
class _Reader:
    is_chat: Callable[[dict[str, Any]], bool]
    chat_of: Callable[[dict[str, Any], Export], SourceChat]


_READERS: Mapping[Format, _Reader] = {
    Format.OWN: _Reader(own.is_chat, own.chat_of),
    Format.CHATGPT: _Reader(chatgpt.is_chat, chatgpt.chat_of),
    Format.CLAUDE: _Reader(claude.is_chat, claude.chat_of),
    Format.LIBRECHAT: _Reader(librechat.is_chat, librechat.chat_of),
    Format.OPEN_WEBUI: _Reader(open_webui.is_chat, open_webui.chat_of),
}


def detect(files: Sequence[BinaryIO], watch: Watch = unwatched) -> Format:
    """Return the app that wrote an export, which may be several files, by their content.

    Raises `Unreadable`, which names what can be imported.
    """
    found = {format for file in files if (format := _format_of(file, watch))}
    if not found:
        raise Unreadable(UNKNOWN)
    if len(found) > 1:
        raise Unreadable(MIXED)
    return found.pop()


def read(
    files: Sequence[BinaryIO],
    format: Format,
    report: Report | None = None,
    watch: Watch = unwatched,
) -> Iterator[SourceChat | Skipped]:
    """Yield the chats of an export, or why one is skipped, and fill in the report.

    The files must be seekable, stay open as long as files of the chats are opened, and are read by
    one reader at a time. Files that were split into several are given in their order. Raises
    `Unreadable` for a file that is not an export at all.
    """
    report = Report() if report is None else report
    opened = [Archive(file) if _starts_with(file, *archives.MAGIC) else file for file in files]
    export = export_of(format, [one for one in opened if isinstance(one, Archive)])
    for source in opened:
        if isinstance(source, Archive):
            entries = _of_archive(source, format, report, watch)
        elif is_database(source):
            entries = _of_database(source, export, watch)
        else:
            entries = _of_json(source, report, watch)
        for entry in entries:
            chat = _read_chat(entry, format, export)
            report.count(chat)
            yield chat


def is_database(file: BinaryIO) -> bool:
    """Whether it is Open WebUI's database, which has the chats of several people."""
    return _starts_with(file, database.MAGIC)


def people_of(file: BinaryIO, watch: Watch = unwatched) -> Mapping[str, SourcePerson]:
    """Return the accounts of a database by their ids, which are the owners of its chats."""
    with closing(Database(file, watch)) as source:
        return source.people()


def chunks_of(file: SourceFile) -> Iterator[bytes]:
    """Yield the content of a file that has some. Raises `Damaged` if it can't be read."""
    if file.content is None:
        raise Damaged(file.missing)
    try:
        with file.content.open() as opened:
            while chunk := opened.read(CHUNK_BYTES):
                yield chunk
    except archives.ERRORS as error:
        raise Damaged(str(error)) from error


def _starts_with(file: BinaryIO, *beginnings: bytes) -> bool:
    file.seek(0)
    found = file.read(max(map(len, beginnings))).startswith(beginnings)
    file.seek(0)
    return found


def _format_of(file: BinaryIO, watch: Watch) -> Format | None:
    if is_database(file):
        with closing(Database(file, watch)):
            return Format.OPEN_WEBUI
    if not _starts_with(file, *archives.MAGIC):
        return _format_of_json(file, watch)
    archive = Archive(file)
    for entry in islice(_with_chats(archive), MAX_LOOKED_AT):
        try:
            with archive.open(entry) as member:
                if format := _format_of_json(member, watch):
                    return format
        except archives.ERRORS:
            continue
    return None


def _format_of_json(file: BinaryIO, watch: Watch) -> Format | None:
    for element in islice(Elements(Watched(file, watch)), MAX_LOOKED_AT):
        value = element if isinstance(element, Broken) else mapping(decoded(element, watch))
        for format, reader in _READERS.items():
            if not isinstance(value, Broken) and reader.is_chat(value):
                return format
    return None


def _with_chats(archive: Archive) -> list[ZipInfo]:
    """Return the members that may contain chats: `conversations…`, or else all JSON, by name."""
    names = sorted(archive.members)
    json = [name for name in names if name.lower().endswith((".json", ".jsonl"))]
    chats = [name for name in json if _CHATS.search(name)]
    return [archive.members[name] for name in chats or json]


def _of_archive(archive: Archive, format: Format, report: Report, watch: Watch) -> Iterator[object]:
    """Yield the values of the members with chats; other members are passed over."""
    for entry in _with_chats(archive):
        try:
            with archive.open(entry) as member:
                if _CHATS.search(entry.filename) or _format_of_json(member, watch) is format:
                    member.seek(0)
                    yield from _of_json(member, report, watch)
        except archives.ERRORS:
            report.note(DAMAGED)


def _of_json(file: BinaryIO, report: Report, watch: Watch) -> Iterator[object]:
    elements = Elements(Watched(file, watch))
    for element in elements:
        yield element if isinstance(element, Broken) else decoded(element, watch)
    if elements.is_cut_off:
        report.note(CUT_OFF)


def _of_database(file: BinaryIO, export: Export, watch: Watch) -> Iterator[object]:
    with closing(Database(file, watch)) as source:
        export.folders = source.folders
        yield from source.chats()


def _read_chat(value: object, format: Format, export: Export) -> SourceChat | Skipped:
    if isinstance(value, Broken):
        return Skipped(value.reason)
    content = mapping(value)
    reader = _READERS[format]
    title = line(content.get("title") or content.get("name"))
    id = content.get("conversation_id") or content.get("conversationId") or content.get("uuid")
    source_id = identifier(id or content.get("id"))
    if not reader.is_chat(content):
        return Skipped(NOT_A_CHAT, title, source_id)
    try:
        return reader.chat_of(content, export)
    except (Unusable, TooComplex) as error:
        return Skipped(str(error), title, source_id)
