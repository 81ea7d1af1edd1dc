"""The newest events first, a page at a time, by what is wanted of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as clock_time

from django.db.models import Q, QuerySet
from django.utils import timezone

from chatapp.models import AuditEvent, User

PAGE = 50
LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Asked:
    """What of the log is wanted; "" and None are no wish."""

    action: str = ""
    actor: str = ""  # a person's name, or their number
    about: str = ""  # likewise, or the number of what it was done to
    since: date | None = None
    until: date | None = None  # that day is part of it
    before: int | None = None  # the event that the page before ended with

    def events(self) -> QuerySet[AuditEvent]:
        found = AuditEvent.objects.select_related("detail").order_by("-sequence")
        if self.action:
            found = found.filter(action=self.action)
        if self.actor:
            found = found.filter(actor__in=_people(self.actor))
        if self.about:
            found = found.filter(Q(person__in=_people(self.about)) | Q(target=self.about))
        if self.since:
            found = found.filter(at__gte=_midnight(self.since))
        if self.until:
            found = found.filter(at__lt=_midnight(self.until + timedelta(days=1)))
        return found.filter(sequence__lt=self.before) if self.before is not None else found


def page_of(asked: Asked) -> tuple[list[AuditEvent], bool]:
    """The events of one page, and whether there are older ones."""
    found = list(asked.events()[: PAGE + 1])
    return found[:PAGE], len(found) > PAGE


def names_of(events: Sequence[AuditEvent]) -> dict[int, str]:
    """As people are called today, by their numbers; who was erased has none."""
    found = (one for event in events for one in (event.actor, event.person, asked_for(event)))
    numbers = {one for one in found if one is not None}
    people = User.objects.filter(pk__in=numbers).only("pk", "username")
    return {person.pk: person.get_username() for person in people}


def asked_for(event: AuditEvent) -> int | None:
    """Whose conversations a reviewer looked for, as the event's detail has it."""
    detail = getattr(event, "detail", None)
    asked = detail.said.get("asked") if detail else None
    person = asked.get("person") if isinstance(asked, dict) else None
    return person if isinstance(person, int) else None


def _people(named: str) -> list[int]:
    """Whom this may be: of a number also who has no account any more."""
    numbers = [int(named)] if named.isdecimal() and int(named) <= LARGEST else []
    person = User.by_login(named)
    return numbers + ([person.pk] if person else [])


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, clock_time.min))
