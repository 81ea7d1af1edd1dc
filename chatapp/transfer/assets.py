"""The members of archives besides the chats: files, feedback, names of files and projects."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from chatapp.transfer.archive import Archive, MemberContent
from chatapp.transfer.elements import decode_element
from chatapp.transfer.formats import chatgpt_projects, claude_projects
from chatapp.transfer.formats.chatgpt import FILE_ID, file_id
from chatapp.transfer.formats.gemini import SINGLE_PROMPTS
from chatapp.transfer.formats.parts import Export, build_file, read_feedback
from chatapp.transfer.records import Format, SourceFeedback, SourceFile
from chatapp.transfer.values import as_list, identifier, line, mapping, moment, text

MAX_INDEX_BYTES = 32 * 2**20  # of a member such as `message_feedback.json`
NAMES = "conversation_asset_file_names.json"
FEEDBACK = "message_feedback.json"
MAX_INDEXES = 50  # members in which names of projects are looked for
GROK_CONTENT = "content"
FILES = "files.json"  # of our own archive
IMAGES = "images"  # a folder in it


def build_export(format: Format, archives: Sequence[Archive]) -> Export:
    match format:
        case Format.CHATGPT:
            return Export(
                files=_ChatGPTFiles(archives).get,
                feedback=_feedback(archives),
                folders=_chatgpt_projects(archives),
            )
        case Format.CLAUDE:
            return _claude_export(archives)
        case Format.GROK:
            return Export(files=_MemberFiles(archives, _grok_id).get)
        case Format.GEMINI:
            return Export(
                files=_MemberFiles(archives, lambda path: path.name).get, notes=(SINGLE_PROMPTS,)
            )
        case Format.OWN:
            return Export(files=_OwnFiles(archives).get)
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
                match = FILE_ID.match(base)
                for id in {match.group() if match else "", base.partition(".")[0]} - {""}:
                    self._found.setdefault(id, (archive, name))
            self._names |= mapping(_index(archive, NAMES))

    def get(self, pointer: str) -> SourceFile | None:
        id = file_id(pointer)
        if id not in self._found:
            return None
        archive, name = self._found[id]
        base = PurePosixPath(name).name
        display_name = text(self._names.get(base)) or base.removeprefix(id).lstrip("-_") or base
        display_name = base if display_name.startswith(".") else display_name
        size = archive.members[name].file_size
        archive.used.add(name)
        return build_file(display_name, size=size, content=MemberContent(archive, name))


def _chatgpt_projects(archives: Sequence[Archive]) -> Mapping[str, str]:
    """Return the names of projects by their ids, from whichever members have both."""
    names_by_id: dict[str, str] = {}
    for archive in archives:
        for name in archive.find_members("*.json")[:MAX_INDEXES]:
            if not PurePosixPath(name).name.startswith("conversations"):
                names = chatgpt_projects.names_in(_decode_member(archive, name))
                names_by_id = names | names_by_id
                archive.used.update([name] if names else [])
    return names_by_id


def _claude_export(archives: Sequence[Archive]) -> Export:
    projects = [mapping(value) for value in _values(archives, "projects.json", "projects/*.json")]
    memories = [mapping(memory) for memory in _values(archives, "memories.json", "memories/*.json")]
    return Export(
        folders={
            identifier(project.get("uuid")): line(project.get("name")) for project in projects
        },
        notes=tuple(claude_projects.notes_about(projects, memories)),
    )


class _MemberFiles:
    """Finds files by ids that `read_id` takes from the names of members, "" for other members."""

    def __init__(
        self, archives: Sequence[Archive], read_id: Callable[[PurePosixPath], str]
    ) -> None:
        self._found: dict[str, MemberContent] = {}
        for archive in archives:
            for name in archive.members:
                if id := read_id(PurePosixPath(name)):
                    self._found.setdefault(id, MemberContent(archive, name))

    def get(self, id: str) -> SourceFile | None:
        if not (content := self._found.get(id)):
            return None
        content.mark_used()
        size = content.archive.members[content.name].file_size
        return build_file(id, size=size, content=content)


def _grok_id(path: PurePosixPath) -> str:
    """Return the id of an uploaded file: a member called `content` in a folder with its id."""
    return path.parent.name if path.name == GROK_CONTENT else ""


class _OwnFiles:
    def __init__(self, archives: Sequence[Archive]) -> None:
        self._found = _own_files(archives)

    def get(self, id: str) -> SourceFile | None:
        file = self._found.get(id)
        if file and isinstance(file.content, MemberContent):
            file.content.mark_used()
        return file


def _own_files(archives: Sequence[Archive]) -> Mapping[str, SourceFile]:
    files_by_id = {}
    for archive in archives:
        for record in map(mapping, as_list(_index(archive, FILES))):
            path = text(record.get("path"))
            if path in archive.members:
                content = MemberContent(archive, path)
                files_by_id[identifier(record.get("id"))] = build_file(
                    record.get("name"), content=content
                )
        for path in archive.members:  # personal archives once didn't list the images of replies
            folder, _, name = path.rpartition("/")
            if folder == IMAGES:
                content = MemberContent(archive, path)
                files_by_id.setdefault(name.partition(".")[0], build_file(name, content=content))
    return files_by_id


def _feedback(archives: Sequence[Archive]) -> Mapping[str, SourceFeedback]:
    feedback_by_id: dict[str, SourceFeedback] = {}
    for entry in map(mapping, _entries(archives, FEEDBACK)):
        content = mapping(entry.get("content")) or entry
        at = moment(entry.get("create_time"), Counter())
        feedback = read_feedback(entry.get("rating"), content.get("text"), at)
        if feedback:
            feedback_by_id[identifier(entry.get("message_id") or entry.get("id"))] = feedback
    return feedback_by_id


def _entries(archives: Sequence[Archive], base: str) -> Iterator[Any]:
    for archive in archives:
        yield from as_list(_index(archive, base))


def _values(archives: Sequence[Archive], *patterns: str) -> Iterator[Any]:
    """Yield the values of the members with these names, of lists each."""
    for archive in archives:
        for name in archive.find_members(*patterns):
            archive.used.add(name)
            value = _decode_member(archive, name)
            yield from value if isinstance(value, list) else [value]


def _index(archive: Archive, base: str) -> Any:
    name = archive.find_member(base)
    archive.used.add(name)
    return _decode_member(archive, name)


def _decode_member(archive: Archive, name: str) -> Any:
    return decode_element(archive.read(name, MAX_INDEX_BYTES))
