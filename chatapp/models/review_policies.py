"""Review policies: what reviewers may read, as an administrator set it, and from when on.

A conversation keeps the policy that it began under, whatever is set later, so that nobody's words
are opened to readers they were not told about.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.utils import timezone

from chatapp.models.conversation_facets import ConversationFacet, of_flag
from chatapp.models.statements import Query

if TYPE_CHECKING:
    from chatapp.models.conversations import Conversation

ALWAYS = datetime(1, 1, 1, tzinfo=UTC)


class ReviewPolicy(models.Model):
    class Scope(models.TextChoices):
        NOTHING = "nothing", "Nobody reviews"
        FLAGGED = "flagged", "Reviewers may read flagged chats"
        ALL = "all", "Reviewers may read every chat"

    scope = models.CharField("what reviewers may read", max_length=7, choices=Scope)
    names_reader = models.BooleanField("who was read learns who it was that read", default=True)
    hides_names = models.BooleanField(
        "reviewers see pseudonyms in place of names", default=False, db_default=False
    )
    begins_at = models.DateTimeField(default=timezone.now)
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        ordering = ["-begins_at", "-pk"]
        verbose_name_plural = "review policies"

    def __str__(self) -> str:
        reader = "the reader is named" if self.names_reader else "the reader is not named"
        people = "; people have pseudonyms" if self.hides_names else ""
        return f"{self.get_scope_display()}; {reader}{people}"

    def is_like(self, other: "ReviewPolicy") -> bool:
        fields = "scope", "names_reader", "hides_names"
        return all(getattr(self, name) == getattr(other, name) for name in fields)

    @classmethod
    def timeline(cls) -> "Sequence[ReviewPolicy]":
        """Return all policies, the newest first; the last is the default before any was set."""
        return [*_ALL.all(), cls(scope=cls.Scope.ALL, names_reader=True, begins_at=ALWAYS)]

    @classmethod
    def now(cls) -> "ReviewPolicy":
        return cls.of(None)

    @classmethod
    def of(cls, conversation: "Conversation | None") -> "ReviewPolicy":
        """Return the policy of a conversation, or of one that begins now."""
        timeline = cls.timeline()
        return held_at(timeline, conversation.created_at) if conversation else timeline[0]


def held_at(timeline: Sequence[ReviewPolicy], moment: datetime) -> ReviewPolicy:
    return next(one for one in timeline if one.begins_at <= moment)


def is_reviewable(
    conversation: str = "", *, likely: bool = False, among: models.Expression | None = None
) -> models.Q:
    """Return a condition for conversations that reviewers may read under their policy.

    `conversation` is the path to the conversation in the query; "" if it queries conversations.
    The trash and temporary chats are never included.

    If `likely`, flags are read from the conversation facts, which is quick but also includes
    conversations that are no longer flagged. `among` restricts the exact test to some keys.
    """
    path = f"{conversation}__" if conversation else ""
    found = models.Q(pk__in=[])
    for policy, held in _held_by(path):
        if policy.scope == policy.Scope.FLAGGED:
            held &= _was_flagged(f"{path}pk") if likely else _is_flagged(f"{path}pk", among)
        if policy.scope != policy.Scope.NOTHING:
            found |= held
    return found & _is_there(path)


def _is_there(path: str) -> models.Q:
    return models.Q((f"{path}trashed_at", None), (f"{path}is_temporary", False))


def may_be_flagged(conversation: str = "") -> models.Q:
    """Return a condition for conversations that reviewers may read, or could if flagged.

    `conversation` is the path to the conversation in the query.
    """
    path = f"{conversation}__" if conversation else ""
    found = models.Q(pk__in=[])
    for policy, held in _held_by(path):
        if policy.scope != policy.Scope.NOTHING:
            found |= held
    return found & _is_there(path)


def asks_for_flags() -> bool:
    """Whether any policy lets reviewers read flagged conversations only."""
    return any(one.scope == one.Scope.FLAGGED for one in ReviewPolicy.timeline())


def hides_names() -> models.Q:
    """Return a condition for conversations whose policy shows reviewers pseudonyms."""
    return _begun_under(lambda policy: policy.hides_names)


def tells_names() -> models.Q:
    """Return the opposite of `hides_names`, in a form that the database can rule out early."""
    return _begun_under(lambda policy: not policy.hides_names)


def _begun_under(matches: Callable[[ReviewPolicy], bool]) -> models.Q:
    found = models.Q(pk__in=[])
    for policy, held in _held_by(""):
        if matches(policy):
            found |= held
    return found


def _held_by(path: str) -> Iterator[tuple[ReviewPolicy, models.Q]]:
    """Yield each policy that a conversation can have, with the condition for having it."""
    until = None
    for policy in ReviewPolicy.timeline():
        held = models.Q((f"{path}created_at__gte", policy.begins_at))
        if until:
            held &= models.Q((f"{path}created_at__lt", until))
        if not until or policy.begins_at < until:
            yield policy, held
        until = policy.begins_at


def _was_flagged(conversation: str) -> models.Q:
    flagged = ConversationFacet.objects.filter(fact=of_flag())
    return models.Q(models.Exists(flagged.filter(conversation=models.OuterRef(conversation))))


def _is_flagged(conversation: str, among: models.Expression | None) -> models.Q:
    from chatapp.models.flags import ANY, flagged_by

    return flagged_by(ANY, conversation, among)


_ALL: "Query[ReviewPolicy]" = Query(lambda: ReviewPolicy.objects.all())
