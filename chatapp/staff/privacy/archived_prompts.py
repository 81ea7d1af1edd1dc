"""A person's saved prompts for their archive: the prompts, in the format of an export, the versions
that the person saved, and what is remembered of what they filled in."""

import json
from collections.abc import Iterator
from typing import Any

from django.db import models

from chatapp.library.formats import FORMAT
from chatapp.models import PromptVersion, RememberedValues, SavedPrompt, User

AT_ONCE = 100  # prompts or versions in memory


def archived_prompts(person: User) -> dict[str, Iterator[str]]:
    """Return the contents of the files by name, each as pieces of text."""
    versions = PromptVersion.objects.filter(author=person).order_by("pk")
    return {
        "prompts.json": _export(person),
        "prompt_versions.jsonl": map(_version, _in_chunks(versions)),
        "remembered.json": _remembered(person),
    }


def _export(person: User) -> Iterator[str]:
    yield f'{{"format": "{FORMAT}", "version": 1, "prompts": [\n'
    own = SavedPrompt.objects.filter(owner=person).prefetch_related("grants__group")
    for number, prompt in enumerate(_in_chunks(own)):
        comma = "," if number else ""
        yield comma + _line(_prompt(prompt))
    yield "]}\n"


def _prompt(prompt: SavedPrompt) -> dict[str, Any]:
    return {
        "id": str(prompt.pk),
        **prompt.content,
        "version_number": prompt.version,
        "created_at": prompt.created_at.isoformat(),
        "updated_at": prompt.updated_at.isoformat(),
        "deleted_at": prompt.deleted_at.isoformat() if prompt.deleted_at else None,
        "shared_with": [str(grant) for grant in prompt.grants.all()],
    }


def _version(version: PromptVersion) -> str:
    record = {
        "prompt": str(version.target_id),
        "number": version.number,
        "created_at": version.created_at.isoformat(),
        **{name: getattr(version, name) for name in SavedPrompt.CONTENT},
    }
    return _line(record)


def _remembered(person: User) -> Iterator[str]:
    records = [
        {"prompt": str(one.prompt_id), "values": one.values, "used_at": one.used_at.isoformat()}
        for one in RememberedValues.objects.filter(user=person)
    ]
    yield json.dumps(records, ensure_ascii=False, indent=2) + "\n"


def _in_chunks(found: "models.QuerySet[Any]") -> Iterator[Any]:
    """Yield the rows. No query stays open in between: each step may have another connection."""
    keys = list(found.values_list("pk", flat=True))
    for start in range(0, len(keys), AT_ONCE):
        yield from list(found.filter(pk__in=keys[start : start + AT_ONCE]))


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
