"""Says what Claude's export has besides chats and is not imported: projects and memories.

Known are `projects.json` and `memories.json` of 2025, and the folders with a file for each project
and account of 2026.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from chatapp.transfer.values import as_list, line, mapping, text

MAX_NAMED = 20  # projects
UNNAMED = "a project without a name"
NOT_IMPORTED = "{} of Claude's projects are not imported: {}."
MEMORIES = "What Claude remembers is not imported: {}."
IS_PROJECT = "It is a project, not a chat. Its instructions and documents can't be imported."
IS_MEMORY = "It is what Claude remembers, not a chat."


def notes_about(
    projects: Sequence[dict[str, Any]], memories: Sequence[dict[str, Any]]
) -> Iterator[str]:
    """Yield a sentence for each kind of thing that is in these projects and memories."""
    documents = [(_read_name(project), len(as_list(project.get("docs")))) for project in projects]
    if document_counts := [f"{count:,} in “{name}”" for name, count in documents if count]:
        yield NOT_IMPORTED.format("Documents", _enumerate(document_counts))
    for key, what in (("prompt_template", "Instructions"), ("description", "Descriptions")):
        if names := [
            f"“{_read_name(project)}”" for project in projects if text(project.get(key)).strip()
        ]:
            yield NOT_IMPORTED.format(what, _enumerate(names))
    if kinds := _count_memories(memories):
        yield MEMORIES.format(", ".join(kinds))


def reason_for(value: dict[str, Any]) -> str:
    """Return why a value with a project or memories is no chat; "" if it is neither."""
    if "docs" in value or "prompt_template" in value:
        return IS_PROJECT
    return IS_MEMORY if {"conversations_memory", "project_memories"} & value.keys() else ""


def _read_name(project: dict[str, Any]) -> str:
    return line(project.get("name"), 80) or UNNAMED


def _count_memories(memories: Sequence[dict[str, Any]]) -> list[str]:
    chats = sum(bool(text(memory.get("conversations_memory")).strip()) for memory in memories)
    projects = sum(len(mapping(memory.get("project_memories"))) for memory in memories)
    files = sum(len(as_list(memory.get("memory_files"))) for memory in memories)
    kinds = ((chats, "text about your chats"), (projects, "text about a project"), (files, "file"))
    return [f"{what} ({count:,})" for count, what in kinds if count]


def _enumerate(names: list[str]) -> str:
    others = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {others:,} more" if others > 0 else "")
