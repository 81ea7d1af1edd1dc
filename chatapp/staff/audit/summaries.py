"""Events in words: actor, action, target and details."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from django.utils.text import Truncator

from chatapp.models import AuditEvent
from chatapp.models.audit import ACTIONS
from chatapp.staff.audit.queries import Names, references_in

THINGS = {
    "user": "person",
    "conversation": "chat",
    "installation": "settings",
    "upstream": "provider",
    "toolserver": "tool server",
    "reviewpolicy": "policy",
    "auditevent": "event",
    "reviewrule": "rule",
    "reviewview": "view",
    "reviewsample": "sample",
    "savedprompt": "prompt",
}
WITHOUT_TARGET = {"installation"}  # the words of the action say it all
CHAT = "conversation"
SHORT = 8  # characters of an ID in a sentence
LABELS = {"ip": "IP address", "login": "Name entered", "asked": "Filter"}
SOMEBODY = "Someone"
NOBODY = "someone without an account"
TERMINAL = "The server's terminal"
HOUSEKEEPING = "Housekeeping"
MAX_NAME_LENGTH = 80
# Only the actor is named if the actor is also the target.
OF_ONESELF = {
    "person.signed_in",
    "person.signed_out",
    "person.joined",
    "archive.made",
    "conversations.exported",
}
WITHOUT_ACTOR = {
    "person.sign_in_failed": SOMEBODY,
    "person.signed_out": SOMEBODY,
    "person.invited": SOMEBODY,  # asked for an account
    "chat.share_opened": SOMEBODY,
    "retention.applied": HOUSEKEEPING,
    "log.emptied": HOUSEKEEPING,
}


@dataclass(frozen=True)
class Change:
    """A field, before and after."""

    field: str
    before: str
    after: str


@dataclass(frozen=True)
class EventSummary:
    number: int
    at: datetime
    actor: str
    by: int | None  # the actor as the filter takes it
    words: str
    target: str  # "" if there is none, or it would repeat the actor
    about: str  # the target as the filter takes it
    facts: Sequence[tuple[str, str]]
    changes: Sequence[Change]
    is_erased: bool

    @classmethod
    def of(cls, event: AuditEvent, names: Names) -> Self:
        detail = getattr(event, "detail", None)
        values = _resolve_people(detail.values if detail else {}, names)
        is_own = event.target_type == "user" and event.target == str(event.actor)
        return cls(
            number=event.sequence,
            at=event.at,
            actor=_actor(event, names, values),
            by=event.actor,
            words=_words(event, values),
            target="" if is_own and event.action in OF_ONESELF else _target(event, names, values),
            about=event.target,
            facts=[("Event", str(event.sequence)), *_item(event), *_facts(values)],
            changes=_changes(values),
            is_erased=bool(detail and detail.is_erased),
        )


def describe_action(action: str) -> str:
    words = ACTIONS[action]
    return words[0].upper() + words[1:]


def _actor(event: AuditEvent, names: Names, values: Mapping[str, Any]) -> str:
    if event.actor is None:
        return WITHOUT_ACTOR.get(event.action, TERMINAL)
    return _person(event.actor, names, values.get("actor"))


def _words(event: AuditEvent, values: Mapping[str, Any]) -> str:
    """Return what was done; who joined or left a group is part of it."""
    if event.action == "group.changed" and "added" in values:
        return f"added {values['added']} to the group"
    if event.action == "group.changed" and "removed" in values:
        return f"removed {values['removed']} from the group"
    if event.action == "conversations.exported" and event.target == str(event.actor):
        return "exported their own chats"
    return event.words


def _target(event: AuditEvent, names: Names, values: Mapping[str, Any]) -> str:
    """Return the target in words, by its present name or else by the one in the detail."""
    if not event.target:
        is_nobody = event.action == "person.sign_in_failed"
        return str(values.get("login") or (NOBODY if is_nobody else ""))
    if event.target_type == "user" and event.target.isdecimal():
        return _person(int(event.target), names, values.get("about"))
    if event.target_type in WITHOUT_TARGET:
        return ""
    if event.target_type == CHAT:
        short = _short(event.target)
        return short if event.words.endswith("a chat") else f"a chat {short}"
    name = names.get((event.target_type, event.target)) or values.get("about", "")
    called = Truncator(name).chars(MAX_NAME_LENGTH)
    model = values.get("model") if event.action == "access.changed" else ""
    return f"{model} of {called}" if model else called or _short(event.target)


def _short(target: str) -> str:
    return f"({target[:SHORT]})" if len(target) > SHORT else target


def _item(event: AuditEvent) -> list[tuple[str, str]]:
    """Return which item the event is about, by its kind and whole ID."""
    kind = THINGS.get(event.target_type, event.target_type)
    return [(kind.capitalize(), event.target)] if event.target else []


def _person(pk: int, names: Names, recorded_name: object = None) -> str:
    return names.get(("user", str(pk))) or str(recorded_name or f"person {pk}, erased")


def _resolve_people(values: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """Return the detail with people's present names instead of their ids."""
    resolved = dict(values)
    for part, name, pk in references_in(values):
        if part:
            resolved[part] = {**resolved[part], name: _person(pk, names)}
        else:
            resolved[name] = _person(pk, names)
    return resolved


def _facts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    own_parts = {"actor", "about", "before", "after"}
    return [
        (LABELS.get(name, name.replace("_", " ").capitalize()), _text(value))
        for name, value in values.items()
        if name not in own_parts
    ]


def _changes(values: Mapping[str, Any]) -> list[Change]:
    before, after = _fields(values.get("before")), _fields(values.get("after"))
    return [
        Change(name.replace("_", " "), _text(before.get(name)), _text(after.get(name)))
        for name in {**before, **after}
    ]


def _fields(values: Any) -> dict[str, Any]:
    """Return a detail's fields; a single value without a name is the field "value"."""
    return values if isinstance(values, dict) else {} if values is None else {"value": values}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(element, str | int) for element in value):
        return ", ".join(map(str, value)) or "none"
    if value is None or value == "":
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
