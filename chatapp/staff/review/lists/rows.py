"""Rows of the review list: owner, usage, cost and outcome of a conversation, none of its text.

A title is text, too, so only reviewers who have the conversation open see it. A page of rows takes
a fixed number of queries.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import starmap
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Sum

from chatapp.db.key_in import KeyIn
from chatapp.models import (
    Conversation,
    Opening,
    Review,
    ReviewLabel,
    ReviewPolicy,
    Usage,
    User,
)
from chatapp.models.review.flags import load_rules_by_conversation
from chatapp.staff.review.finding.criteria import get_replies
from chatapp.staff.review.finding.reasons import BROKEN_ENDINGS
from chatapp.staff.review.names import Names

_BOOKED = ("conversation", "total_tokens", "cost")
UNREMARKABLE_ENDINGS = ("", "complete", "streaming")
"""Endings that a row does not mention."""
FLAGGED_BY_RULE = "Flagged by the rule"


class AttentionReason(NamedTuple):
    """A reason why a conversation needs a look."""

    words: str
    icon: str


class _ReplyGroup(NamedTuple):
    """A group of a conversation's replies with equal fields; `tokens` and `cost` are its sums."""

    conversation: UUID
    model: str
    ending: str
    is_flagged: bool
    rating: str | None
    number: int
    tokens: int | None
    cost: int | None


@dataclass
class Row:
    """A row of the list. `cost` is in nano-dollars; deleted replies are not counted."""

    pk: UUID
    names: Names
    begun: datetime
    used: datetime
    review: Review | None
    characters: int | None  # of prompts and answers; None if not counted yet
    replies: int = 0
    tokens: int = 0
    cost: int = 0
    models: set[str] = field(default_factory=set)
    endings: Counter[str] = field(default_factory=Counter)
    feedback: Counter[str] = field(default_factory=Counter)
    is_flagged: bool = False  # by moderation
    rules: Sequence[str] = ()  # names of the rules that flagged it
    labels: list[ReviewLabel] = field(default_factory=list)
    title: str = ""  # while the reviewer has it open

    @property
    def verdict(self) -> str:
        if not (self.review and self.review.verdict):
            return ""
        verdict_words: str = self.review.get_verdict_display()
        return f"{verdict_words}, not opened" if self.review.decided_unopened else verdict_words

    @property
    def claimant(self) -> str:
        who = self.review.claimant if self.review else None
        return self.names.reader(who) if who else ""

    @property
    def flagged_by(self) -> list[str]:
        return [
            *(["moderation"] if self.is_flagged else []),
            *(["the person"] if self.feedback["down"] else []),
            *(f"the rule {name}" for name in self.rules),
        ]

    @property
    def why(self) -> "list[AttentionReason]":
        """Why it needs a look, most urgent first."""
        downs = self.feedback["down"]
        return [
            *([AttentionReason("Flagged by moderation", "flag")] if self.is_flagged else []),
            *(AttentionReason(f"{FLAGGED_BY_RULE} {name}", "flag") for name in self.rules),
            *(
                [AttentionReason(_format_count("thumbs down", downs), "thumbs-down")]
                if downs
                else []
            ),
            *(
                AttentionReason(_format_count(ending, self.endings[ending]), "alert")
                for ending in BROKEN_ENDINGS
                if ending in self.endings
            ),
        ]

    @property
    def reason(self) -> str:
        """A reason for opening it from the queue. The owner reads it, so it names no rule."""
        kinds = dict.fromkeys(
            "flagged by a rule" if cause.words.startswith(FLAGGED_BY_RULE) else cause.words.lower()
            for cause in self.why
        )
        return f"Review queue: {', '.join(kinds)}" if kinds else ""

    @property
    def also(self) -> list[str]:
        """Other endings and feedback, in words."""
        others = sorted(self.endings.keys() - BROKEN_ENDINGS)
        return [
            *(_format_count(ending, self.endings[ending]) for ending in others),
            *([_format_count("thumbs up", self.feedback["up"])] if self.feedback["up"] else []),
        ]

    def add(self, replies: _ReplyGroup) -> None:
        self.replies += replies.number
        self.tokens += replies.tokens or 0
        self.cost += replies.cost or 0
        self.is_flagged |= replies.is_flagged
        if replies.model:
            self.models.add(replies.model)
        if replies.ending not in UNREMARKABLE_ENDINGS:
            self.endings[replies.ending] += replies.number
        if replies.rating:
            self.feedback[replies.rating] += replies.number


def _format_count(what: str, count: int) -> str:
    words = what.replace("_", " ").capitalize()
    return words if count == 1 else f"{words} ({count:,})"


def load_rows(keys: Sequence[UUID], reviewer: User) -> list[Row]:
    """Return this reviewer's rows in the order of the keys, without deleted conversations."""
    if not keys:
        return []
    rows = {row.pk: row for row in _build_rows(keys, reviewer)}
    for replies in starmap(_ReplyGroup, _reply_groups(rows)):
        rows[replies.conversation].add(replies)
    for pk, names in load_rules_by_conversation(rows).items():
        rows[pk].rules = names
    labels = Review.labels.through.objects.filter(KeyIn(rows, "review_id"))
    for pk, label, name in labels.order_by("reviewlabel__name").values_list(
        "review", "reviewlabel", "reviewlabel__name"
    ):
        rows[pk].labels.append(ReviewLabel(label, name))
    opened = Opening.objects.living().filter(KeyIn(rows, "conversation_id"), reviewer=reviewer)
    for pk, title in opened.values_list("conversation", "conversation__title"):
        rows[pk].title = title
    titles = Usage.objects.filter(KeyIn(rows), kind=Usage.Kind.TITLE)
    summaries = Usage.objects.filter(KeyIn(rows, "conversation"))
    for booked in (*titles.only(*_BOOKED), *summaries.only(*_BOOKED)):
        row = rows[booked.conversation or booked.pk]
        row.tokens += booked.total_tokens or 0
        row.cost += booked.cost or 0
    return [rows[key] for key in keys if key in rows]


def _build_rows(keys: Sequence[UUID], reviewer: User) -> Iterable[Row]:
    reviews = Review.objects.select_related("claimed_by").in_bulk(keys)
    timeline = ReviewPolicy.timeline()
    conversations = (
        Conversation.objects.filter(KeyIn(keys))
        .select_related("user", "sums")
        .only("created_at", "updated_at", "user__username", "sums__characters")
        .order_by()
    )
    for conversation in conversations:
        names = Names.at(timeline, conversation.created_at, conversation.user, reviewer)
        characters = conversation.sums.characters if hasattr(conversation, "sums") else None
        review = reviews.get(conversation.pk)
        yield Row(
            conversation.pk,
            names,
            conversation.created_at,
            conversation.updated_at,
            review,
            characters,
        )


def _reply_groups(keys: Collection[UUID]) -> Iterable[tuple[Any, ...]]:
    """Return replies of these conversations, grouped by what a row counts."""
    return (
        get_replies(keys)
        .order_by()
        .values_list("conversation", "model", "ending", "is_flagged", "feedback__rating")
        .annotate(number=Count("*"), tokens=Sum("usage__total_tokens"), cost=Sum("usage__cost"))
    )
