"""Finds the names of ChatGPT's projects. Its chats have only their ids.

Exports do not say where the names are, if they have them, so any object with a project's id and a
name counts.
"""

from typing import Any

from chatapp.transfer.values import line, mapping, text

PROJECT = "g-p-"  # how the ids of projects begin
MAX_VALUES = 200_000  # that are looked at in one member
# An object with one of the last two may be something in a project, which has a name of its own.
_IDS, _FOREIGN_IDS = ("id",), ("gizmo_id", "project_id")
_NAMES = ("project_name", "gizmo_name", "name", "title", "display_name")
_FOREIGN_NAMES = ("project_name", "gizmo_name")


def names_in(value: Any) -> dict[str, str]:
    """Return the names of projects by their ids, wherever they are in this JSON."""
    names_by_id: dict[str, str] = {}
    pending = [value]
    for _ in range(MAX_VALUES):
        if not pending:
            break
        current = pending.pop()
        if isinstance(current, list):
            pending += current
        elif isinstance(current, dict):
            names_by_id |= _read_names(current)
            pending += current.values()
    return names_by_id


def _read_names(value: dict[str, Any]) -> dict[str, str]:
    by_id = {
        id: line(name) or _first_name(mapping(name), _NAMES)
        for id, name in value.items()
        if id.startswith(PROJECT)
    }
    for ids, names in ((_FOREIGN_IDS, _FOREIGN_NAMES), (_IDS, _NAMES)):
        id = next((text(value.get(key)) for key in ids if value.get(key)), "")
        if id.startswith(PROJECT):
            by_id[id] = _first_name(value, names)
    return {id: name for id, name in by_id.items() if name}


def _first_name(value: dict[str, Any], names: tuple[str, ...]) -> str:
    candidates = [value.get(name) for name in names]
    candidates.append(mapping(value.get("display")).get("name"))
    return next(filter(None, map(line, candidates)), "")
