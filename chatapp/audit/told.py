"""Events in words: who, what, to what; and what their details say."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from django.utils.text import Truncator

from chatapp.audit.queries import asked_for
from chatapp.models import AuditEvent
from chatapp.models.audit import ACTIONS

THINGS = {
    "user": "person",
    "toolserver": "tool server",
    "reviewpolicy": "policy",
    "auditevent": "event",
    "reviewrule": "rule",
    "reviewview": "view",
    "reviewsample": "sample",
}
LABELS = {"ip": "From the address", "login": "Typed as the name", "asked": "Asked for"}
SOMEBODY = "Somebody"
TERMINAL = "The server's terminal"
HOUSEKEEPING = "Housekeeping"
LONGEST_NAME = 80
OF_ONESELF = {"person.signed_in", "person.signed_out", "person.joined"}  # whose words say it all
WITHOUT_ACTOR = {
    "person.sign_in_failed": SOMEBODY,
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
class Told:
    number: int
    at: datetime
    actor: str
    words: str
    target: str  # "" where there is none, or the words need none
    about: str  # what the filter takes for the same target
    facts: Sequence[tuple[str, str]]
    changes: Sequence[Change]
    is_erased: bool

    @classmethod
    def of(cls, event: AuditEvent, names: Mapping[int, str]) -> Self:
        detail = getattr(event, "detail", None)
        said: dict[str, Any] = detail.said if detail else {}
        is_own = event.target_type == "user" and event.target == str(event.actor)
        return cls(
            number=event.sequence,
            at=event.at,
            actor=_actor(event, names, said),
            words=ACTIONS.get(event.action, event.action),
            target="" if is_own and event.action in OF_ONESELF else _target(event, names, said),
            about=event.target,
            facts=_facts(_named(event, names, said)),
            changes=_changes(said),
            is_erased=bool(detail and detail.is_erased),
        )


def words_of(action: str) -> str:
    words = ACTIONS[action]
    return words[0].upper() + words[1:]


def _actor(event: AuditEvent, names: Mapping[int, str], said: Mapping[str, Any]) -> str:
    if event.actor is None:
        return WITHOUT_ACTOR.get(event.action, TERMINAL)
    return names.get(event.actor) or str(said.get("actor") or f"person {event.actor}, erased")


def _target(event: AuditEvent, names: Mapping[int, str], said: Mapping[str, Any]) -> str:
    thing = f"{THINGS.get(event.target_type, event.target_type)} {event.target}"
    if not event.target:
        return str(said.get("login", ""))
    if event.target_type == "user" and event.target.isdecimal():
        return names.get(int(event.target)) or str(said.get("about") or f"{thing}, erased")
    called = Truncator(said.get("about", "")).chars(LONGEST_NAME)
    if called.lower() == thing:
        return f"({thing})"
    return f"{called} ({thing})" if called else thing


def _named(
    event: AuditEvent, names: Mapping[int, str], said: Mapping[str, Any]
) -> Mapping[str, Any]:
    """With whose conversations were looked for as they are called today."""
    if (person := asked_for(event)) is None:
        return said
    called = names.get(person, f"person {person}, erased")
    return {**said, "asked": {**said["asked"], "person": called}}


def _facts(said: Mapping[str, Any]) -> list[tuple[str, str]]:
    known = {"actor", "about", "before", "after"}
    return [
        (LABELS.get(name, name.replace("_", " ").capitalize()), _text(value))
        for name, value in said.items()
        if name not in known
    ]


def _changes(said: Mapping[str, Any]) -> list[Change]:
    before, after = _fields(said.get("before")), _fields(said.get("after"))
    return [
        Change(name.replace("_", " "), _text(before.get(name)), _text(after.get(name)))
        for name in {**before, **after}
    ]


def _fields(said: Any) -> dict[str, Any]:
    """Of what is one value, without a name of its own, the one."""
    return said if isinstance(said, dict) else {} if said is None else {"all of it": said}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(one, str | int) for one in value):
        return ", ".join(map(str, value)) or "none"
    if value is None or value == "":
        return "nothing"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
