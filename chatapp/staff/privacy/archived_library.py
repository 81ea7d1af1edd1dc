"""A person's saved prompts and presets for their archive: each in the format of an export, with the
versions that the person saved; and what is remembered of what they filled into prompts."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from django.db import models

from chatapp.library.formats import VERSION, name_format
from chatapp.library.presets.formats import describe_content
from chatapp.models import Preset, PresetVersion, PromptVersion, RememberedValues, SavedPrompt, User

AT_ONCE = 100  # prompts or versions in memory


def archived_library(person: User) -> dict[str, Iterator[str]]:
    """Return the contents of the files by name, each as pieces of text."""
    prompts = SavedPrompt.objects.filter(owner=person)
    prompt_versions = PromptVersion.objects.filter(author=person).order_by("pk")
    presets = Preset.objects.filter(owner=person).select_related("upstream")
    saved = PresetVersion.objects.filter(author=person).order_by("pk")
    preset_versions = saved.select_related("upstream")
    return {
        "prompts.json": _export(prompts, "prompts"),
        "prompt_versions.jsonl": map(partial(_version, "prompt"), _in_chunks(prompt_versions)),
        "remembered.json": _export_remembered(person),
        "presets.json": _export(presets, "presets"),
        "preset_versions.jsonl": map(partial(_version, "preset"), _in_chunks(preset_versions)),
    }


def _export(own: "models.QuerySet[Any]", name: str) -> Iterator[str]:
    yield f'{{"format": "{name_format(name)}", "version": {VERSION}, "{name}": [\n'
    for number, item in enumerate(_in_chunks(own.prefetch_related("grants__group"))):
        comma = "," if number else ""
        yield comma + _line(_item(item))
    yield "]}\n"


def _item(item: SavedPrompt | Preset) -> dict[str, Any]:
    return {
        "id": str(item.pk),
        **_content(item),
        "version_number": item.version,
        "created_at": item.created_at.isoformat(),
        "updated_at": item.updated_at.isoformat(),
        "deleted_at": item.deleted_at.isoformat() if item.deleted_at else None,
        "shared_with": [str(grant) for grant in item.grants.all()],
    }


def _version(kind: str, version: PromptVersion | PresetVersion) -> str:
    record = {
        kind: str(version.target_id),
        "number": version.number,
        "created_at": version.created_at.isoformat(),
        **_content(version),
    }
    return _line(record)


def _content(version: SavedPrompt | PromptVersion | Preset | PresetVersion) -> dict[str, Any]:
    if isinstance(version, Preset | PresetVersion):
        return describe_content(version)
    return {name: getattr(version, name) for name in SavedPrompt.CONTENT}


def _export_remembered(person: User) -> Iterator[str]:
    records = [
        {
            "prompt": str(remembered_row.prompt_id),
            "values": remembered_row.values,
            "used_at": remembered_row.used_at.isoformat(),
        }
        for remembered_row in RememberedValues.objects.filter(user=person)
    ]
    yield json.dumps(records, ensure_ascii=False, indent=2) + "\n"


def _in_chunks(rows: "models.QuerySet[Any]") -> Iterator[Any]:
    """Yield the rows. No query stays open in between: each step may have another connection."""
    keys = list(rows.values_list("pk", flat=True))
    for start in range(0, len(keys), AT_ONCE):
        yield from list(rows.filter(pk__in=keys[start : start + AT_ONCE]))


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
