"""Adds prompts to a person's own, within their number and their quota of bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

from chatapp.models import Refused, SavedPrompt, User
from chatapp.models.conversations.storage import take_room
from chatapp.models.library.prompts import MAX_COMMAND_LENGTH, MAX_PROMPTS
from chatapp.realtime.worker import worker

TOO_MANY = "You can have {:,} prompts at most, and have {:,}. Delete some first."


def add(owner: User, contents: Sequence[Mapping[str, Any]]) -> list[SavedPrompt]:
    """Save prompts. A command that the person has used already gets a number. Raises `Refused`."""
    own = list(SavedPrompt.objects.owned_by(owner).values_list("command", flat=True))
    if len(own) + len(contents) > MAX_PROMPTS:
        raise Refused(TOO_MANY.format(MAX_PROMPTS, len(own)))
    size = sum(len(value.encode()) for content in contents for value in content.values())
    take_room(owner, size, worker().stored_bytes[owner.pk])
    taken = {command for command in own if command}
    numbered = [{**one, "command": _free(one["command"], taken)} for one in contents]
    return SavedPrompt.start_all(owner, numbered)


def _free(command: str, taken: set[str]) -> str:
    """Return the command, or the first one with a number that is not taken; it is taken then."""
    if not command:
        return ""
    free, number = command, 1
    while free in taken:
        number += 1
        free = f"{command[: MAX_COMMAND_LENGTH - 1 - len(str(number))]}-{number}"
    taken.add(free)
    return free
