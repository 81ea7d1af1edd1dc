"""What flags a conversation: the moderation of an upstream, its person by a thumb down, and rules.

What was deleted flags nothing any more.
"""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.db import models

from chatapp.models.among import IsAmong, Keys
from chatapp.models.feedback import Feedback
from chatapp.models.messages import Message
from chatapp.models.moderated import HasCategory
from chatapp.models.review_rules import RuleFinding
from chatapp.models.statements import Values

MODERATION, PERSON, RULE, ANY, NONE = "moderation", "person", "rule", "any", "none"
ONE_RULE = "rule-"  # with its number


def flagged_by(
    source: str, conversation: str = "pk", among: models.Expression | None = None
) -> models.Q:
    """Of what names a conversation by this path: whether it is flagged by this source, by any of
    them, or by none. Where it is asked `among` some keys, no more than their flags are read."""
    if source == ANY:
        return _any(conversation, among)
    if source == NONE:
        return ~_any(conversation, among)
    of = models.OuterRef(conversation)
    if source == MODERATION:
        flagged = Message.objects.filter(is_flagged=True, deleted_at=None)
        if among is not None:
            flagged = flagged.filter(IsAmong(among, "conversation_id"))
        return models.Q(models.Exists(flagged.filter(conversation=of)))
    if source == PERSON:
        down = Feedback.objects.filter(rating=Feedback.Rating.DOWN, message__deleted_at=None)
        if among is not None:
            down = down.filter(IsAmong(among, "message__conversation_id"))
        return models.Q(models.Exists(down.filter(message__conversation=of)))
    found = RuleFinding.objects.filter(message__deleted_at=None, conversation=of)
    if source.startswith(ONE_RULE):
        found = found.filter(rule=int(source.removeprefix(ONE_RULE)))
    if among is not None:
        found = found.filter(IsAmong(among, "conversation_id"))
    return models.Q(models.Exists(found))


def moderated_as(category: str) -> models.Q:
    """Of a conversation: whether moderation flagged this category in one of its messages."""
    flagged = Message.objects.filter(HasCategory(category), is_flagged=True, deleted_at=None)
    return models.Q(models.Exists(flagged.filter(conversation=models.OuterRef("pk"))))


def _any(conversation: str, among: models.Expression | None) -> models.Q:
    return (
        flagged_by(MODERATION, conversation, among)
        | flagged_by(PERSON, conversation, among)
        | flagged_by(RULE, conversation, among)
    )


def rules_by_message(conversation: UUID) -> Mapping[UUID, list[str]]:
    """Of a conversation's messages, the names of the rules that have found something in each."""
    found = RuleFinding.objects.filter(conversation=conversation).order_by("rule__name")
    named: dict[UUID, list[str]] = {}
    for pk, name in found.values_list("message", "rule__name"):
        named.setdefault(pk, []).append(name)
    return named


def rules_of(conversations: Iterable[UUID]) -> Mapping[UUID, list[str]]:
    """The names of those that have found something there."""
    named: dict[UUID, list[str]] = {}
    for pk, name in _RULES.all(conversations):
        named.setdefault(pk, []).append(name)
    return named


_RULES = Values(
    lambda conversations: (
        RuleFinding.objects.filter(
            IsAmong(conversations, "conversation_id"), message__deleted_at=None
        )
        .order_by("rule__name")
        .values_list("conversation", "rule__name")
        .distinct()
    ),
    Keys(),
)
