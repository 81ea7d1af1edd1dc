"""The members of archives besides the chats: files, feedback, names of files and projects."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from chatapp.transfer.archive import Archive, MemberContent
from chatapp.transfer.elements import decoded
from chatapp.transfer.formats.parts import Export, feedback_of, file_named
from chatapp.transfer.records import Format, SourceFeedback, SourceFile
from chatapp.transfer.values import identifier, line, listed, mapping, moment, text

MAX_INDEX_BYTES = 32 * 2**20  # of a member such as `message_feedback.json`
NAMES = "conversation_asset_file_names.json"
FEEDBACK = "message_feedback.json"
PROJECTS = "projects.json"
FILES = "files.json"  # of our own archive
IMAGES = "images"  # a folder in it
_FILE_ID = re.compile(r"file[-_][A-Za-z0-9]+")


def export_of(format: Format, archives: Sequence[Archive]) -> Export:
    match format:
        case Format.CHATGPT:
            return Export(files=_ChatGPTFiles(archives).get, feedback=_feedback(archives))
        case Format.CLAUDE:
            projects = map(mapping, _entries(archives, PROJECTS))
            return Export(
                folders={identifier(o.get("uuid")): line(o.get("name")) for o in projects}
            )
        case Format.OWN:
            return Export(files=_own_files(archives).get)
        case _:
            return Export()


class _ChatGPTFiles:
    """Finds files by ids such as `file-AbC123`, with which the names of members begin."""

    def __init__(self, archives: Sequence[Archive]) -> None:
        self._found: dict[str, tuple[Archive, str]] = {}
        self._names: dict[str, str] = {}
        for archive in archives:
            for name in archive.members:
                base = PurePosixPath(name).name
                match = _FILE_ID.match(base)
                for id in {match.group() if match else "", base.partition(".")[0]} - {""}:
                    self._found.setdefault(id, (archive, name))
            self._names |= mapping(_index(archive, NAMES))

    def get(self, pointer: str) -> SourceFile | None:
        named = pointer.rpartition("://")[2]
        match = _FILE_ID.search(named)
        id = match.group() if match else named
        if id not in self._found:
            return None
        archive, name = self._found[id]
        base = PurePosixPath(name).name
        shown = text(self._names.get(base)) or base.removeprefix(id).lstrip("-_") or base
        shown = base if shown.startswith(".") else shown
        size = archive.members[name].file_size
        return file_named(shown, size=size, content=MemberContent(archive, name))


def _own_files(archives: Sequence[Archive]) -> Mapping[str, SourceFile]:
    found = {}
    for archive in archives:
        for record in map(mapping, listed(_index(archive, FILES))):
            path = text(record.get("path"))
            if path in archive.members:
                content = MemberContent(archive, path)
                found[identifier(record.get("id"))] = file_named(
                    record.get("name"), content=content
                )
        for path in archive.members:  # personal archives once didn't list the images of replies
            folder, _, name = path.rpartition("/")
            if folder == IMAGES:
                content = MemberContent(archive, path)
                found.setdefault(name.partition(".")[0], file_named(name, content=content))
    return found


def _feedback(archives: Sequence[Archive]) -> Mapping[str, SourceFeedback]:
    found: dict[str, SourceFeedback] = {}
    for one in map(mapping, _entries(archives, FEEDBACK)):
        content = mapping(one.get("content")) or one
        at = moment(one.get("create_time"), Counter())
        feedback = feedback_of(one.get("rating"), content.get("text"), at)
        if feedback:
            found[identifier(one.get("message_id") or one.get("id"))] = feedback
    return found


def _entries(archives: Sequence[Archive], base: str) -> Iterator[Any]:
    for archive in archives:
        yield from listed(_index(archive, base))


def _index(archive: Archive, base: str) -> Any:
    return decoded(archive.read(archive.named(base), MAX_INDEX_BYTES))
