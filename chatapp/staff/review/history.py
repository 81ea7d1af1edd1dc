"""What was done about a conversation in reviews, as the audit log has it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from chatapp.models import AuditEvent, Conversation, Review, User
from chatapp.staff.review.names import Names

MOST_STEPS = 100  # of a history that are shown
MOST_ACTS = 5  # of those that are told to who was late
READINGS = ("conversation.opened", "name.revealed")
DONE = {
    "conversation.opened": "opened it",
    "name.revealed": "learned whose it is",
    "review.claimed": "took it on",
    "review.released": "let it go",
    "review.decided": "decided",
    "review.labelled": "labelled it",
    "review.noted": "wrote a note",
}


@dataclass(frozen=True)
class Step:
    at: datetime
    who: str
    words: str
    reason: str  # of an opening
    changes: Sequence[str]


def history_of(conversation: Conversation, names: Names) -> list[Step]:
    """The newest first, and one more than are shown where there are more."""
    events = list(_events_of(conversation).select_related("detail")[: MOST_STEPS + 1])
    actors = User.objects.in_bulk({one.actor for one in events if one.actor is not None})
    return [_step(one, names.reader(actors.get(one.actor))) for one in events]


def last_acts_of(conversation: Conversation, names: Names, count: int) -> str:
    """So many of them, the newest first, in words: who did what, and when."""
    acts = _events_of(conversation).exclude(action__in=READINGS)
    events = list(acts[: min(count, MOST_ACTS)])
    actors = User.objects.in_bulk({one.actor for one in events if one.actor is not None})
    return ", ".join(
        f"{names.reader(actors.get(one.actor or 0))} {DONE[one.action]} at {one.at:%H:%M} UTC"
        for one in events
    )


def _events_of(conversation: Conversation) -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(
        target_type="conversation", target=str(conversation.pk), action__in=DONE
    ).order_by("-sequence")


def _step(event: AuditEvent, who: str) -> Step:
    detail = getattr(event, "detail", None)
    said = detail.said if detail else {}
    changes = [
        f"{_listed(before)} → {_listed(said.get('after', {}).get(field))}"
        for field, before in said.get("before", {}).items()
    ]
    return Step(event.at, who, DONE[event.action], str(said.get("reason", "")), changes)


def _listed(value: str | list[str]) -> str:
    """A verdict, or labels, as a reviewer reads them."""
    words = value if isinstance(value, list) else [dict(Review.Verdict.choices).get(value, "")]
    return ", ".join(filter(None, words)) or "none"
