"""Adds items to a person's own and changes them, within their number and their quota of bytes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from chatapp.library.kinds import Item, Kind
from chatapp.models import Refused, User
from chatapp.models.conversations.messages.storage import charge_quota
from chatapp.realtime.worker import worker

COPY = " (copy)"
TOO_MANY = "You can have {:,} {} at most, and have {:,}. Delete some first."


def check_number(kind: Kind[Item], owner: User, more: int) -> None:
    """Raise `Refused` if the person would have too many."""
    own = kind.model.objects.owned_by(owner).count()
    if own + more > kind.max_owned:
        raise Refused(TOO_MANY.format(kind.max_owned, kind.plural, own))


@transaction.atomic
def add(kind: Kind[Item], owner: User, contents: Sequence[Mapping[str, Any]]) -> list[Item]:
    """Save new items. Raises `Refused`."""
    check_number(kind, owner, len(contents))
    _take_room(owner, *contents)
    return kind.model.start_all(owner, kind.adapt_contents(owner, contents))


def copy(kind: Kind[Item], item: Item, owner: User) -> Item:
    """Save a copy, with a name that tells it from the owner's own. Raises `Refused`."""
    content, name = item.content, str(item)
    if kind.model.objects.owned_by(owner).filter(**{item.NAME: name}).exists():
        field: Any = item._meta.get_field(item.NAME)
        content[item.NAME] = f"{name[: field.max_length - len(COPY)]}{COPY}"
    return add(kind, owner, [content])[0]


def change(item: Item, by: User, opened: int, content: Mapping[str, Any]) -> None:
    """Save a version. Raises `Refused`."""
    _take_room(by, content)
    item.change(by, opened, **content)


def restore(kind: Kind[Item], item: Item) -> None:
    """Bring a deleted item back. Raises `Refused`."""
    check_number(kind, item.owner, 1)
    item.restore()


def _take_room(user: User, *contents: Mapping[str, Any]) -> None:
    size = len(json.dumps(contents, ensure_ascii=False).encode())
    charge_quota(user, size, worker().stored_bytes[user.pk])
