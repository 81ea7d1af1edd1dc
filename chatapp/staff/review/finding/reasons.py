"""Why a chat needs a look: it is flagged, its person gave a thumbs down, or a reply broke off.

A facet finds the candidates of a reason, and a condition proves it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Case, Exists, OuterRef, Q, Value, When

from chatapp.db.key_in import KeyIn
from chatapp.models import Conversation, Feedback, Message
from chatapp.models.review import flags
from chatapp.models.review.conversation_facets import (
    format_ending_facet,
    format_feedback_facet,
    format_flag_facet,
)
from chatapp.upstream.wire.reply import Ending

BROKEN_ENDINGS = (
    Ending.FAILED,
    Ending.CUT_OFF,
    Ending.TIMED_OUT,
    Ending.NO_ANSWER,
    Ending.CONTENT_FILTER,
)
"""Endings that a reviewer should look at."""


@dataclass(frozen=True)
class Reason:
    facet: str
    flag: str = ""  # a source of flags
    ending: str = ""

    def condition(self, among: Collection[UUID] | None = None) -> Q:
        """Return the condition; with `among`, only messages of these conversations are read."""
        if self.flag:
            return flags.flagged_by(self.flag, among=among)
        replies = Message.objects.filter(
            role=Message.Role.ASSISTANT, deleted_at=None, ending=self.ending
        )
        if among is not None:
            replies = replies.filter(KeyIn(among, "conversation_id"))
        return Q(Exists(replies.filter(conversation=OuterRef("pk"))))


URGENCIES: tuple[tuple[Reason, ...], ...] = (
    (
        Reason(format_flag_facet(flags.MODERATION), flag=flags.MODERATION),
        Reason(format_flag_facet(flags.RULE), flag=flags.RULE),
    ),
    (Reason(format_feedback_facet(Feedback.Rating.DOWN), flag=flags.PERSON),),
    tuple(Reason(format_ending_facet(ending), ending=ending) for ending in BROKEN_ENDINGS),
)
"""The most urgent reasons first."""


def has_any(reasons: Iterable[Reason], among: Collection[UUID] | None = None) -> Q:
    """Return the condition that one of the reasons is true of a conversation."""
    condition = Q(pk__in=[])
    for reason in reasons:
        condition |= reason.condition(among)
    return condition


def find_urgency(conversation: Conversation) -> int:
    """Return the position in `URGENCIES`; the last one if no reason is true any more."""
    cases = [
        When(reason.condition(), then=Value(urgency))
        for urgency, reasons in enumerate(URGENCIES)
        for reason in reasons
    ]
    urgencies = Conversation.objects.filter(pk=conversation.pk).values_list(
        Case(*cases, default=Value(len(URGENCIES) - 1)), flat=True
    )
    return urgencies.first() or 0
