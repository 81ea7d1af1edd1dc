"""The review's filter: what a reviewer asked for, and the query conditions that follow from it.

Each condition is a subquery of its own, so that the database chooses where to start: with the
rarest condition, or with the newest conversations.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from functools import cached_property
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, TextChoices
from django.utils import timezone

from chatapp.db.key_in import KeyIn
from chatapp.models import Feedback, Message, Review, ReviewSearch, User
from chatapp.models.conversations.messages.tool_names import HasCalled
from chatapp.models.review import flags
from chatapp.models.review.conversation_facets import (
    format_category_facet,
    format_ending_facet,
    format_feedback_facet,
    format_flag_facet,
    format_model_facet,
    format_tool_facet,
    format_upstream_facet,
    get_utc_day,
)
from chatapp.models.review.readable import hides_names, is_reviewable, tells_names
from chatapp.upstream.wire.reply import Ending

NONE = "none"


class Show(TextChoices):
    """The lists of the review."""

    QUEUE = "queue", "Needs a look"
    MINE = "mine", "Claimed by you"
    DECIDED = "decided", "Decided"
    ALL = "all", "All chats"


@dataclass(frozen=True)
class ReviewFilter:
    """A filter; "" and None mean any. One reply has to match all conditions on replies."""

    reviewer: User
    person: User | None = None
    by_pseudonym: bool = False  # whether `person` was given by pseudonym
    group: int | None = None
    since: date | None = None
    until: date | None = None  # inclusive
    model: str = ""
    upstream: int | None = None
    ending: str = ""
    flagged: str = ""  # a source, any or none: see `flags`
    category: str = ""  # of moderation
    search: ReviewSearch | None = None
    feedback: str = ""  # up, down, either or none
    tool: str = ""
    cost: int | None = None  # at least, in nano-dollars
    replies: int | None = None  # at least
    characters: int | None = None  # at least
    label: int | None = None
    verdict: str = ""  # or none
    claim: str = ""  # mine, other or nobody
    sample: int | None = None
    show: str = Show.ALL
    extra_facet: str = ""  # one more, without a condition that proves it

    @property
    def days(self) -> tuple[date, date]:
        """The first and last day on which a match can have been used."""
        since = get_utc_day(_midnight(self.since)) if self.since else date.min
        return since, get_utc_day(self._end) if self._end else date.max

    @property
    def facets(self) -> list[str]:
        """The facets that every conversation with a matching reply or flag has."""
        facets = []
        if self.flagged == flags.PERSON:
            facets.append(format_feedback_facet(Feedback.Rating.DOWN))
        elif self.flagged not in ("", flags.NONE):
            facets.append(format_flag_facet("" if self.flagged == flags.ANY else self.flagged))
        if self.category:
            facets.append(format_category_facet(self.category))
        if self.feedback in Feedback.Rating.values or self.feedback == "either":
            facets.append(format_feedback_facet("" if self.feedback == "either" else self.feedback))
        if self.ending not in ("", Ending.COMPLETE):
            facets.append(format_ending_facet(self.ending))
        if self.tool:
            facets.append(format_tool_facet(self.tool))
        if self.model:
            facets.append(format_model_facet(self.model))
        if self.upstream is not None:
            facets.append(format_upstream_facet(self.upstream))
        if self.extra_facet and self.extra_facet not in facets:
            facets.append(self.extra_facet)
        return facets

    @cached_property
    def search_results(self) -> list[UUID]:
        """The conversations found by the text search, which takes longest and so runs once.

        A conversation that was last used before a day was written before it, so `until` holds for
        its texts, too.
        """
        assert self.search
        return self.search.find_conversations(self.person.pk if self.person else None, self._end)

    @property
    def _end(self) -> datetime | None:
        return _midnight(self.until + timedelta(days=1)) if self.until else None

    @property
    def uses_sums(self) -> bool:
        return any(minimum is not None for minimum in (self.replies, self.cost, self.characters))

    def conversation_conditions(self) -> Iterator[Q]:
        if self.person:
            yield Q(user=self.person)
            yield hides_names() if self.by_pseudonym else self._shows_names
        if self.group is not None:  # a group of one would give the name away
            yield self._shows_names
            members = User.groups.through.objects.filter(group=self.group)
            yield Q(user__in=members.values("user"))
        if self.since:
            yield Q(used__gte=_midnight(self.since))
        if self._end:
            yield Q(used__lt=self._end)

    @cached_property
    def is_likely_reviewable(self) -> Q:
        return is_reviewable(likely=True)

    @cached_property
    def _shows_names(self) -> Q:
        return tells_names() | Q(user=self.reviewer)

    def flag_conditions(self, among: Collection[UUID] | None = None) -> Iterator[Q]:
        if self.flagged:
            yield flags.flagged_by(self.flagged, among=among)
        if self.category:
            yield flags.moderated_as(self.category)

    def sum_conditions(self) -> Iterator[Q]:
        if self.feedback == NONE:
            yield ~Q(Exists(get_replies(OuterRef("pk")).filter(feedback__isnull=False)))
        if self.replies is not None:
            yield Q(sums__replies__gte=self.replies)
        if self.cost is not None:
            yield Q(sums__cost__gte=self.cost)
        if self.characters is not None:
            yield Q(sums__characters__gte=self.characters)

    def reply_conditions(self) -> Iterator[Q | HasCalled]:
        if self.model:
            yield Q(model=self.model)
        if self.upstream is not None:
            yield Q(upstream=self.upstream)
        if self.ending:
            yield Q(ending=self.ending)
        if self.feedback in Feedback.Rating.values:
            yield Q(feedback__rating=self.feedback)
        if self.feedback == "either":
            yield Q(feedback__isnull=False)
        if self.tool:
            yield HasCalled(self.tool)

    def review_conditions(self) -> Iterator[Q]:
        reviews = Review.objects.filter(pk=OuterRef("pk"))
        if self.label is not None:
            yield Q(Exists(reviews.filter(labels=self.label)))
        decided = Q(Exists(reviews.exclude(verdict="")))
        if self.verdict == NONE or self.show == Show.QUEUE:
            yield ~decided
        if self.show == Show.DECIDED:
            yield decided
        if self.verdict not in ("", NONE):
            yield Q(Exists(reviews.filter(verdict=self.verdict)))
        claimed = reviews.filter(claimed_by__isnull=False, claimed_until__gt=timezone.now())
        if self.claim == "mine" or self.show == Show.MINE:
            yield Q(Exists(claimed.filter(claimed_by=self.reviewer)))
        if self.claim == "other":
            yield Q(Exists(claimed.exclude(claimed_by=self.reviewer)))
        if self.claim == "nobody":
            yield ~Q(Exists(claimed))


def get_replies(conversations: OuterRef | Collection[UUID]) -> QuerySet[Message]:
    """Return the replies, except deleted ones, of the conversations with these keys."""
    of = (
        Q(conversation=conversations)
        if isinstance(conversations, OuterRef)
        else KeyIn(conversations, "conversation_id")
    )
    return Message.objects.filter(of, role=Message.Role.ASSISTANT, deleted_at=None)


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, clock_time.min))
