"""Tells which app wrote an export, and reads its chats one at a time."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, count, islice, repeat
from typing import Any, BinaryIO
from zipfile import ZipInfo

from chatapp.transfer import archive as archives
from chatapp.transfer import database
from chatapp.transfer.archive import Archive
from chatapp.transfer.assets import build_export
from chatapp.transfer.database import Database
from chatapp.transfer.elements import (
    BrokenElement,
    Elements,
    Watch,
    WatchedFile,
    decode_element,
    ignore_bytes,
)
from chatapp.transfer.formats import (
    chatbox,
    chatgpt,
    claude,
    claude_projects,
    gemini,
    grok,
    librechat,
    llama_cpp,
    open_webui,
    own,
    refused,
)
from chatapp.transfer.formats.parts import NO_MESSAGES, Export, Unusable
from chatapp.transfer.records import (
    Damaged,
    Format,
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
    " conversations.json), of Open WebUI (JSON, or the database webui.db), of LibreChat (JSON),"
    " of Grok (the ZIP), of Gemini (My Activity from Google Takeout, as JSON), of llama.cpp's web"
    " page (JSON), of Chatbox (a backup as JSON) and of this app (JSON Lines, or a personal"
    " archive)."
)
UNKNOWN = f"This file isn't an export that can be read. {IMPORTABLE}"
MIXED = "These files come from different apps. Import them one after another."
CUT_OFF = "{} ends too early. The chats before that are read."
EMPTY = "{} is empty."
FOLLOWED = "{} has something after its last chat that can't be read."
OTHER_LISTS = "{} also has this, which is not imported: {}."
OTHER_FILES = "Files in the ZIP that are not imported: {}."
_CHATS = re.compile(r"(?:^|/)conversations(?:[-_]\d+)?\.jsonl?\Z")
NOT_A_CHAT = "It isn't a chat, or one of a kind that isn't known here."
# Where apps have the messages of a chat.
MESSAGES = ("mapping", "chat_messages", "messages", "messagesTree", "history", "chat", "responses")
DAMAGED = "{} is damaged in the ZIP. The chats before that are read."
GEMINI = "gemini"  # in the name of the one of Takeout's members that has prompts
MAX_NAMED = 10  # files in a ZIP that are not imported

Note = Callable[[str], None]


def ignore_note(_: str) -> None:
    """Do nothing, as the default of `note`."""


@dataclass(frozen=True)
class _Reader:
    is_chat: Callable[[dict[str, Any]], bool]
    read_chat: Callable[[dict[str, Any], Export], SourceChat]
    # Returns why a value is no chat, if it is something else that the app exports, or else "".
    reason_for: Callable[[dict[str, Any]], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A value of an export that should be a chat, and where it is."""

    value: object
    place: str = ""


_READERS: Mapping[Format, _Reader] = {
    Format.OWN: _Reader(own.is_chat, own.read_chat),
    Format.CHATGPT: _Reader(chatgpt.is_chat, chatgpt.read_chat),
    Format.CLAUDE: _Reader(claude.is_chat, claude.read_chat, claude_projects.reason_for),
    Format.LIBRECHAT: _Reader(librechat.is_chat, librechat.read_chat),
    Format.OPEN_WEBUI: _Reader(open_webui.is_chat, open_webui.read_chat),
    Format.GROK: _Reader(grok.is_chat, grok.read_chat),
    Format.GEMINI: _Reader(gemini.is_chat, gemini.read_chat),
    Format.LLAMA_CPP: _Reader(llama_cpp.is_chat, llama_cpp.read_chat),
    Format.CHATBOX: _Reader(chatbox.is_chat, chatbox.read_chat),
}


def detect(files: Sequence[BinaryIO], watch: Watch = ignore_bytes) -> Format:
    """Return the app that wrote an export, which may be several files, by their content.

    Raises `Unreadable`, which names what can be imported.
    """
    formats = {format for file in files if (format := _detect_format(file, watch))}
    if not formats:
        refusals = (_find_refusal(file, watch) for file in files)
        raise Unreadable(next(filter(None, refusals), UNKNOWN))
    if len(formats) > 1:
        raise Unreadable(MIXED)
    return formats.pop()


def read_chats(
    files: Sequence[BinaryIO],
    format: Format,
    watch: Watch = ignore_bytes,
    names: Sequence[str] = (),
    note: Note = ignore_note,
) -> Iterator[SourceChat | Skipped]:
    """Yield the chats of an export, or why one is skipped. `note` gets sentences about the files.

    The files must be seekable, stay open as long as files of the chats are opened, and are read by
    one reader at a time. Files that were split into several are given in their order, as their
    `names` are, which notes mention. Raises `Unreadable` for a file that is not an export at all.
    """
    sources = [Archive(file) if _starts_with(file, *archives.MAGIC) else file for file in files]
    zips = [source for source in sources if isinstance(source, Archive)]
    export = build_export(format, zips)
    for source, name in zip(sources, chain(names, repeat("")), strict=False):
        if isinstance(source, Archive):
            entries = _read_archive(source, format, note, watch)
        elif is_database(source):
            entries = _read_database(source, export, watch)
        else:
            entries = _read_json(source, name, note, watch)
        for entry in entries:
            yield _read_chat(entry, format, export)
    for sentence in export.notes:
        note(sentence)
    _note_other_files(zips, note)


def is_database(file: BinaryIO) -> bool:
    """Whether it is Open WebUI's database, which has the chats of several people."""
    return _starts_with(file, database.MAGIC)


def read_people(file: BinaryIO, watch: Watch = ignore_bytes) -> Mapping[str, SourcePerson]:
    """Return the accounts of a database by their ids, which are the owners of its chats."""
    with closing(Database(file, watch)) as source:
        return source.people()


def read_chunks(file: SourceFile) -> Iterator[bytes]:
    """Yield the content of a file that has some. Raises `Damaged` if it can't be read."""
    if file.content is None:
        raise Damaged(file.missing)
    try:
        with file.content.open() as content:
            while chunk := content.read(CHUNK_BYTES):
                yield chunk
    except archives.ERRORS as error:
        raise Damaged(str(error)) from error


def _find_refusal(file: BinaryIO, watch: Watch) -> str:
    """Return what to say about a file that no reader recognises; "" if it isn't known."""
    if not _starts_with(file, *archives.MAGIC):
        head = file.read(refused.HEAD_BYTES).decode("utf-8", "replace")
        file.seek(0)
        return _find_json_refusal(file, watch) or refused.refusal_of_text(head)
    archive = Archive(file)
    for entry in islice(_with_chats(archive), MAX_LOOKED_AT):
        try:
            with archive.open(entry) as member:
                if refusal := _find_json_refusal(member, watch):
                    return refusal
        except archives.ERRORS:
            continue
    return refused.refusal_of_members(archive.members)


def _find_json_refusal(file: BinaryIO, watch: Watch) -> str:
    for value in _first_values(file, watch):
        reasons = (reader.reason_for(value) for reader in _READERS.values())
        if refusal := refused.refusal_of_value(value) or next(filter(None, reasons), ""):
            return f"{refusal} {IMPORTABLE}"
    return ""


def _starts_with(file: BinaryIO, *beginnings: bytes) -> bool:
    file.seek(0)
    is_match = file.read(max(map(len, beginnings))).startswith(beginnings)
    file.seek(0)
    return is_match


def _detect_format(file: BinaryIO, watch: Watch) -> Format | None:
    if is_database(file):
        with closing(Database(file, watch)):
            return Format.OPEN_WEBUI
    if not _starts_with(file, *archives.MAGIC):
        return _detect_json_format(file, watch)
    archive = Archive(file)
    for entry in islice(_with_chats(archive), MAX_LOOKED_AT):
        try:
            with archive.open(entry) as member:
                if format := _detect_json_format(member, watch):
                    return format
        except archives.ERRORS:
            continue
    return None


def _detect_json_format(file: BinaryIO, watch: Watch) -> Format | None:
    for value in _first_values(file, watch):
        for format, reader in _READERS.items():
            if reader.is_chat(value) and not refused.refusal_of_value(value):
                return format
    return None


def _first_values(file: BinaryIO, watch: Watch) -> Iterator[dict[str, Any]]:
    """Yield the values by which a file is recognised."""
    for element in islice(Elements(WatchedFile(file, watch)), MAX_LOOKED_AT):
        value = element if isinstance(element, BrokenElement) else decode_element(element, watch)
        yield from map(mapping, _chats_in(value)[0][:MAX_LOOKED_AT])


def _with_chats(archive: Archive) -> list[ZipInfo]:
    """Return the members that may contain chats: `conversations…`, or else all JSON, by name."""
    names = sorted(archive.members, key=lambda name: (GEMINI not in name.lower(), name))
    json = [name for name in names if name.lower().endswith((".json", ".jsonl"))]
    chats = [name for name in json if _CHATS.search(name)]
    return [archive.members[name] for name in chats or json]


def _read_archive(archive: Archive, format: Format, note: Note, watch: Watch) -> Iterator[_Entry]:
    """Yield the values of the members with chats; other members are passed over."""
    for entry in _with_chats(archive):
        try:
            with archive.open(entry) as member:
                if _CHATS.search(entry.filename) or _detect_json_format(member, watch) is format:
                    archive.used.add(entry.filename)
                    member.seek(0)
                    yield from _read_json(member, entry.filename, note, watch)
        except archives.ERRORS:
            archive.used.add(entry.filename)
            note(DAMAGED.format(_quote_name(entry.filename)))


def _read_json(file: BinaryIO, name: str, note: Note, watch: Watch) -> Iterator[_Entry]:
    elements = Elements(WatchedFile(file, watch))
    shown_name = _quote_name(name)
    numbers = count(1)
    for element in elements:
        value = element if isinstance(element, BrokenElement) else decode_element(element, watch)
        chats, others = _chats_in(value)
        _note_other_lists(others, shown_name, note)
        for chat in chats:
            number = next(numbers)
            yield _Entry(chat, f"entry {number:,} of {shown_name}" if name else f"entry {number:,}")
    if elements.is_cut_off:
        note(CUT_OFF.format(shown_name))
    if elements.is_empty:
        note(EMPTY.format(shown_name))
    around = decode_element(b"{" + elements.following) if elements.is_wrapped else None
    if isinstance(around, dict):
        _note_other_lists(around, shown_name, note)
    elif elements.following:
        note(FOLLOWED.format(shown_name))


def _chats_in(value: object) -> tuple[list[object], dict[str, Any]]:
    """Return the chats of an object that contains several, or the value, and what else it has."""
    content = dict(mapping(value))
    if sessions := chatbox.take_chats(content):
        return sessions, content
    chats = content.pop("conversations", None)
    return (chats, content) if isinstance(chats, list) else ([value], {})


def _note_other_lists(others: dict[str, Any], shown_name: str, note: Note) -> None:
    """Name what an object with several chats has besides."""
    lists = {
        name: values
        for name, values in others.items()
        if values and isinstance(values, list | dict)
    }
    if named_lists := [f"{line(name, 40)} ({len(values):,})" for name, values in lists.items()]:
        note(OTHER_LISTS.format(shown_name, ", ".join(named_lists[:MAX_NAMED])))


def _quote_name(name: str) -> str:
    return f"“{line(name, 120)}”" if name else "The file"


def _note_other_files(zips: Sequence[Archive], note: Note) -> None:
    names = [name for archive in zips for name in sorted(archive.members.keys() - archive.used)]
    if names:
        listed_names = ", ".join(line(name, 120) for name in names[:MAX_NAMED])
        others = len(names) - MAX_NAMED
        note(
            OTHER_FILES.format(
                f"{listed_names} and {others:,} more" if others > 0 else listed_names
            )
        )


def _read_database(file: BinaryIO, export: Export, watch: Watch) -> Iterator[_Entry]:
    with closing(Database(file, watch)) as source:
        export.folders = source.folders
        yield from map(_Entry, source.chats())


def _read_chat(entry: _Entry, format: Format, export: Export) -> SourceChat | Skipped:
    if isinstance(entry.value, BrokenElement):
        return Skipped(entry.value.reason, place=entry.place)
    content = mapping(entry.value)
    reader = _READERS[format]
    title = line(content.get("title") or content.get("name"))
    id = content.get("conversation_id") or content.get("conversationId") or content.get("uuid")
    source_id = identifier(id or content.get("id"))
    if not reader.is_chat(content):
        is_empty = bool(title or source_id) and not any(map(content.get, MESSAGES))
        reason = reader.reason_for(content) or (NO_MESSAGES if is_empty else NOT_A_CHAT)
        return Skipped(reason, title, source_id, entry.place)
    try:
        return reader.read_chat(content, export)
    except (Unusable, TooComplex) as error:
        return Skipped(str(error), title, source_id, entry.place)
