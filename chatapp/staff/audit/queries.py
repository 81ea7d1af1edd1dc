"""Filtered events of the audit log, newest first, a page at a time."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from chatapp.models import AuditEvent, Invitation, Limit, ReviewSample, ReviewView, User
from chatapp.staff.pickers.queries import MAX_OPTIONS, build_name_condition

PAGE = 50
MAX_BIGINT = 2**63 - 1
# What events name by their present names, and how.
NAMED_TARGETS: Mapping[str, tuple[Any, Callable[[Any], str]]] = {
    "limit": (Limit, str),
    "invitation": (Invitation, lambda invitation: invitation.address or "someone"),
    "reviewview": (ReviewView, str),
    "reviewsample": (ReviewSample, str),
}
Names = Mapping[tuple[str, str], str]  # by the target's type and id


@dataclass(frozen=True)
class AuditFilter:
    """A filter; "" and None mean any."""

    actions: Collection[str] | None = None
    actor: str = ""  # a person's login, part of their names, or primary key
    about: str = ""  # likewise, or the primary key of the target
    since: date | None = None
    until: date | None = None  # inclusive
    before: int | None = None  # the last event of the previous page

    def events(self) -> QuerySet[AuditEvent]:
        events = AuditEvent.objects.select_related("detail").order_by("-sequence")
        if self.actions is not None:
            events = events.filter(action__in=self.actions)
        if self.actor:
            events = events.filter(actor__in=_find_person_ids(self.actor))
        if self.about:
            events = events.filter(
                Q(person__in=_find_person_ids(self.about)) | Q(target=self.about)
            )
        if self.since:
            events = events.filter(at__gte=_midnight(self.since))
        if self.until:
            events = events.filter(at__lt=_midnight(self.until + timedelta(days=1)))
        return events.filter(sequence__lt=self.before) if self.before is not None else events


def load_page(filters: AuditFilter) -> tuple[list[AuditEvent], bool]:
    """Return a page of events, and whether there are older ones."""
    events = list(filters.events()[: PAGE + 1])
    return events[:PAGE], len(events) > PAGE


def load_names(events: Sequence[AuditEvent]) -> Names:
    """Return the present names of the people and things in events, without deleted ones."""
    person_ids = (
        person_id
        for event in events
        for person_id in (event.actor, event.person, *people_in(event))
    )
    numbers = {person_id for person_id in person_ids if person_id is not None}
    people = User.objects.filter(pk__in=numbers).only("pk", "username")
    names = {("user", str(person.pk)): person.get_username() for person in people}
    for kind, (model, get_name) in NAMED_TARGETS.items():
        if pks := {event.target for event in events if event.target_type == kind}:
            targets = model.objects.filter(pk__in=pks)
            names |= {(kind, str(target.pk)): get_name(target) for target in targets}
    return names


def people_in(event: AuditEvent) -> list[int]:
    """Return the primary keys of the people in the event's detail."""
    detail = getattr(event, "detail", None)
    return [pk for _, _, pk in references_in(detail.values if detail else {})]


def references_in(values: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """Return where a detail has people's ids, as (part, field, id).

    These are the person a reviewer filtered by, the person a limit is for, and the person added to
    a group or removed from it.
    """
    references = [("", name, values.get(name)) for name in ("added", "removed")]
    for part, name in {"asked": "person", "before": "user", "after": "user"}.items():
        fields = values.get(part)
        references.append((part, name, fields.get(name) if isinstance(fields, dict) else None))
    return [(part, name, pk) for part, name, pk in references if type(pk) is int]


def _find_person_ids(typed: str) -> list[int]:
    """Return the IDs of the people that a name can mean.

    That is the person with this login, or else a few whose names contain it. A number may also be
    the ID of a deleted account.
    """
    numbers = [int(typed)] if typed.isdecimal() and int(typed) <= MAX_BIGINT else []
    if person := User.find_by_login(typed):
        return [*numbers, person.pk]
    return numbers or list(
        User.objects.filter(build_name_condition(typed)).values_list("pk", flat=True)[:MAX_OPTIONS]
    )


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, clock_time.min))
