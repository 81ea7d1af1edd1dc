"""Adds presets to a person's own and changes them, within their number and their quota of bytes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from chatapp.models import Preset, Refused, User
from chatapp.models.conversations.storage import take_room
from chatapp.models.library.presets import MAX_NAME_LENGTH, MAX_PRESETS
from chatapp.realtime.worker import worker

COPY = " (copy)"
TOO_MANY = "You can have {:,} presets at most, and have {:,}. Delete some first."


@transaction.atomic
def add(owner: User, contents: Sequence[Mapping[str, Any]]) -> list[Preset]:
    """Save new presets. Raises `Refused`."""
    _check_number(owner, len(contents))
    take_room(owner, sum(map(_size, contents)), worker().stored_bytes[owner.pk])
    return Preset.start_all(owner, contents)


def copy(preset: Preset, owner: User) -> list[Preset]:
    """Save a copy, with a name that tells it from the owner's own. Raises `Refused`."""
    name = preset.name
    if Preset.objects.owned_by(owner).filter(name=name).exists():
        name = f"{name[: MAX_NAME_LENGTH - len(COPY)]}{COPY}"
    return add(owner, [{**preset.content, "name": name}])


def change(preset: Preset, by: User, opened: int, content: Mapping[str, Any]) -> None:
    """Save a version. Raises `Refused`."""
    take_room(by, _size(content), worker().stored_bytes[by.pk])
    preset.change(by, opened, **content)


def restore(preset: Preset) -> None:
    """Bring a deleted preset back. Raises `Refused`."""
    _check_number(preset.owner, 1)
    preset.restore()


def _check_number(owner: User, more: int) -> None:
    own = Preset.objects.owned_by(owner).count()
    if own + more > MAX_PRESETS:
        raise Refused(TOO_MANY.format(MAX_PRESETS, own))


def _size(content: Mapping[str, Any]) -> int:
    return len(json.dumps(content, ensure_ascii=False).encode())
