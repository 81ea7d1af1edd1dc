"""Queries of the audit log for what staff opened of a person's chats and did with their account.

The newest come first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Min, Q, QuerySet

from chatapp.models import AuditEvent, Conversation, ReviewPolicy, User
from chatapp.models.policies.review_policies import find_policy_at

READINGS: Mapping[str, str] = {
    "conversation.opened": "opened",
    "name.revealed": "learned your name as the author of",
    "image.opened": "viewed an image in",
    "file.opened": "viewed a file in",
    "reviewrule.matched": "tried a rule that would flag",
}
ACCOUNT_CHANGES: Mapping[str, str] = {
    "password.link_made": "created a link to set a new password for your account",
    "password.changed": "set a new password for your account",
    "factor.removed": "removed your second factor",
    "person.changed": "changed your account",
    "role.changed": "changed your role",
    "sessions.ended": "signed you out",
}
PAGE = 50
MAX_LISTS = 1000  # counted at most
NOBODY_NOW = "A deleted account"
UNNAMED = "A reviewer"


@dataclass(frozen=True)
class StaffAccess:
    """One row of the page: an event that staff caused."""

    number: int  # the event's sequence number
    at: datetime
    who: str
    words: str
    target: str  # the conversation's key, if it is a reading
    is_reading: bool
    conversation: Conversation | None  # None if it was deleted since
    reason: str  # of an opening; "" if it is older than the need to give one


def staff_accesses(person: User, before: int | None = None) -> tuple[list[StaffAccess], bool]:
    """Return one page of others' events, and whether there are older ones."""
    events = _events(person)
    if before is not None:
        events = events.filter(sequence__lt=before)
    page_events = list(events[: PAGE + 1])
    return _build_accesses(person, page_events[:PAGE]), len(page_events) > PAGE


def all_staff_accesses(person: User) -> list[StaffAccess]:
    return _build_accesses(person, list(_events(person)))


def _events(person: User) -> QuerySet[AuditEvent]:
    events = AuditEvent.objects.filter(person=person.pk, action__in=[*READINGS, *ACCOUNT_CHANGES])
    return events.exclude(actor=person.pk).select_related("detail").order_by("-sequence")


def _build_accesses(person: User, events: Sequence[AuditEvent]) -> list[StaffAccess]:
    readers = User.objects.in_bulk({event.actor for event in events if event.actor is not None})
    read = {UUID(event.target) for event in events if event.action in READINGS}
    chats = {str(pk): chat for pk, chat in person.conversations.not_trashed().in_bulk(read).items()}
    hidden = _without_reader(person, events)
    return [
        StaffAccess(
            event.sequence,
            event.at,
            UNNAMED if event.sequence in hidden else _name(event.actor, readers),
            READINGS.get(event.action) or ACCOUNT_CHANGES[event.action],
            event.target,
            event.action in READINGS,
            chats.get(event.target),
            _reason(event),
        )
        for event in events
    ]


def _reason(event: AuditEvent) -> str:
    detail = getattr(event, "detail", None)
    return str(detail.values.get("reason", "")) if detail else ""


def _without_reader(person: User, events: Sequence[AuditEvent]) -> set[int]:
    """Return the readings of chats whose policy does not name the reader.

    For a deleted chat, use the policy at the time of the reading.
    """
    read = [UUID(event.target) for event in events if event.action in READINGS]
    begun = dict(person.conversations.filter(pk__in=read).values_list("pk", "created_at"))
    timeline = ReviewPolicy.timeline()
    return {
        event.sequence
        for event in events
        if event.action in READINGS
        and not find_policy_at(timeline, begun.get(UUID(event.target), event.at)).names_reader
    }


def _name(actor: int | None, people: Mapping[int, User]) -> str:
    if actor is None:
        return "The server's terminal"
    return people[actor].get_username() if actor in people else NOBODY_NOW


@dataclass(frozen=True)
class ListViewings:
    """The count of staff's views of the list of all chats, with their owners and costs."""

    count: int  # at most `MAX_LISTS`
    last: datetime | None

    @property
    def are_more(self) -> bool:
        return self.count == MAX_LISTS


def count_list_viewings(person: User) -> ListViewings:
    events = AuditEvent.objects.filter(action="conversations.listed", at__gte=person.date_joined)
    events = events.filter(~Q(actor=person.pk))
    newest = events.order_by("-sequence").values_list("at", flat=True)[:MAX_LISTS]
    times = list(newest)
    return ListViewings(len(times), times[0] if times else None)


def load_policies(person: User) -> list[ReviewPolicy]:
    """Return the current policy, and the earlier ones that apply to chats the person still has."""
    present, *former = ReviewPolicy.timeline()
    first = person.conversations.not_trashed().aggregate(first=Min("created_at"))["first"]
    policies, until = [present], present.begins_at
    for policy in former:
        if first and first < until:
            policies.append(policy)
        until = policy.begins_at
    return policies


def reviewers() -> int:
    return User.objects.filter(reviews=True, is_active=True).count()
