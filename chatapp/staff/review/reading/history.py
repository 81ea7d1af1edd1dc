"""The history of a conversation's review, read from the audit log."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from chatapp.models import AuditEvent, Conversation, Review, User
from chatapp.staff.review.names import Names

MAX_STEPS = 100  # shown in a history
MAX_ACTS = 5  # named when a decision is refused because the page was out of date
READINGS = ("conversation.opened", "name.revealed")
ACT_WORDS = {
    "conversation.opened": "opened it",
    "name.revealed": "revealed the owner's name",
    "review.claimed": "claimed it",
    "review.released": "released it",
    "review.decided": "set the verdict",
    "review.labelled": "changed its labels",
    "review.noted": "added a note",
}


@dataclass(frozen=True)
class Step:
    at: datetime
    who: str
    words: str
    reason: str  # of an opening
    changes: Sequence[str]


def load_history(conversation: Conversation, names: Names) -> list[Step]:
    """Return the newest steps first, `MAX_STEPS` plus one more if there are more."""
    events = list(_find_events(conversation).select_related("detail")[: MAX_STEPS + 1])
    actors = User.objects.in_bulk({event.actor for event in events if event.actor is not None})
    return [_build_step(event, names.reader(actors.get(event.actor))) for event in events]


def describe_last_acts(conversation: Conversation, names: Names, count: int) -> str:
    """Return in words who did what and when: the last `count` changes, newest first."""
    acts = _find_events(conversation).exclude(action__in=READINGS)
    events = list(acts[: min(count, MAX_ACTS)])
    actors = User.objects.in_bulk({event.actor for event in events if event.actor is not None})
    return ", ".join(
        f"{names.reader(actors.get(event.actor or 0))} {ACT_WORDS[event.action]}"
        f" at {event.at:%H:%M} UTC"
        for event in events
    )


def _find_events(conversation: Conversation) -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(
        target_type="conversation", target=str(conversation.pk), action__in=ACT_WORDS
    ).order_by("-sequence")


def _build_step(event: AuditEvent, who: str) -> Step:
    detail = getattr(event, "detail", None)
    values = detail.values if detail else {}
    changes = [
        f"{_format_values(before)} → {_format_values(values.get('after', {}).get(field))}"
        for field, before in values.get("before", {}).items()
    ]
    words = ACT_WORDS[event.action] + (" without opening it" if values.get("unopened") else "")
    return Step(event.at, who, words, str(values.get("reason", "")), changes)


def _format_values(value: str | list[str]) -> str:
    """Return a verdict, or labels, in words."""
    words = value if isinstance(value, list) else [dict(Review.Verdict.choices).get(value, "")]
    return ", ".join(filter(None, words)) or "none"
