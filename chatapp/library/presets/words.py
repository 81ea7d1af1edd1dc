"""A preset's content in words, for readers, and what changed from one version to the next."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chatapp.catalogue import get_display_name
from chatapp.models.library.file_sets import PresetFile
from chatapp.models.library.presets import CLOCK, PresetContent
from chatapp.parameters.table import PARAMETERS
from chatapp.text.differences import Kind, Piece, differences

CLOCK_NAME, FILES = "Clock", "Files"
UNKNOWN_TOOL = "a tool server that you can't use"


@dataclass(frozen=True)
class Change:
    label: str
    pieces: list[Piece]


def changes(before: PresetContent, after: PresetContent, tools: Mapping[int, str]) -> list[Change]:
    """Return what is different, the files last. `tools` has the names of tool servers."""
    old, new = describe_in_words(before, tools), describe_in_words(after, tools)
    changed = [
        Change(label, differences(old[label], new[label]))
        for label in old
        if label != FILES and old[label] != new[label]
    ]
    if before.file_set_id != after.file_set_id:
        changed.append(Change(FILES, _differences_of_files(before.files, after.files)))
    return changed


def _differences_of_files(before: list[PresetFile], after: list[PresetFile]) -> list[Piece]:
    """Return the names of removed and added files; one with another content is both."""
    old = {(file.name, file.file_id): Kind.REMOVED for file in before}
    new = {(file.name, file.file_id): Kind.ADDED for file in after}
    kinds = {**old, **new} | dict.fromkeys(old.keys() & new.keys(), Kind.SAME)
    return [Piece(kind, f"{name}\n") for (name, _), kind in kinds.items()]


def describe_in_words(content: PresetContent, tools: Mapping[int, str]) -> dict[str, str]:
    """Return each part of the content by its label."""
    return {
        "Name": content.name,
        "Icon": content.get_icon_display(),
        "Description": content.description,
        "Model": model_in_words(content),
        "System prompt": content.system_prompt,
        "Parameters": "\n".join(_parameters(content.parameters)),
        "Tools": tools_in_words(content, tools),
        "Suggestions": "\n".join(content.suggestions),
        FILES: "\n".join(file.name for file in content.files),
        "What models know about you": "Sent too" if content.takes_memory else "Not sent",
    }


def model_in_words(content: PresetContent) -> str:
    if not content.model:
        return "Each person's choice"
    name = get_display_name(content.upstream, content.model)
    return name if content.upstream_id else f"{name}, which is no longer offered"


def tools_in_words(content: PresetContent, tools: Mapping[int, str]) -> str:
    if content.tools is None:
        return "All that are offered"
    names = [
        CLOCK_NAME if tool == CLOCK else tools.get(tool, UNKNOWN_TOOL) for tool in content.tools
    ]
    return ", ".join(names) or "None"


def _parameters(parameters: Mapping[str, Any]) -> Iterator[str]:
    for name, parameter in PARAMETERS.items():
        if name in parameters:
            yield f"{parameter.label}: {_format_value(parameters[name])}"


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str | int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False, indent=2)
