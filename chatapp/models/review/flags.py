"""Query conditions for flagged conversations.

An upstream's moderation flags a conversation, its owner does by a thumb down, and review rules do.
Deleted messages flag nothing.
"""

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from django.db import models

from chatapp.db.key_in import KeyIn
from chatapp.models.conversations.chats.feedback import Feedback
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.messages.moderated import HasCategory
from chatapp.models.review.rules import RuleFinding

MODERATION, PERSON, RULE, ANY, NONE = "moderation", "person", "rule", "any", "none"
ONE_RULE = "rule-"  # followed by the rule's primary key


def flagged_by(
    source: str, conversation: str = "pk", among: Collection[UUID] | None = None
) -> models.Q:
    """Return a condition: whether a conversation is flagged by `source`, by any, or by none.

    `conversation` is the path from the filtered model to the conversation's key. With `among`,
    only the flags of the conversations with these keys are read.
    """
    if source == ANY:
        return _any(conversation, among)
    if source == NONE:
        return ~_any(conversation, among)
    of = models.OuterRef(conversation)
    if source == MODERATION:
        flagged = Message.objects.filter(is_flagged=True, deleted_at=None)
        if among is not None:
            flagged = flagged.filter(KeyIn(among, "conversation_id"))
        return models.Q(models.Exists(flagged.filter(conversation=of)))
    if source == PERSON:
        down = Feedback.objects.filter(rating=Feedback.Rating.DOWN, message__deleted_at=None)
        if among is not None:
            down = down.filter(KeyIn(among, "message__conversation_id"))
        return models.Q(models.Exists(down.filter(message__conversation=of)))
    findings = RuleFinding.objects.filter(message__deleted_at=None, conversation=of)
    if source.startswith(ONE_RULE):
        findings = findings.filter(rule=int(source.removeprefix(ONE_RULE)))
    if among is not None:
        findings = findings.filter(KeyIn(among, "conversation_id"))
    return models.Q(models.Exists(findings))


def moderated_as(category: str) -> models.Q:
    """Return a condition: whether moderation flagged this category in one of its messages."""
    flagged = Message.objects.filter(HasCategory(category), is_flagged=True, deleted_at=None)
    return models.Q(models.Exists(flagged.filter(conversation=models.OuterRef("pk"))))


def _any(conversation: str, among: Collection[UUID] | None) -> models.Q:
    return (
        flagged_by(MODERATION, conversation, among)
        | flagged_by(PERSON, conversation, among)
        | flagged_by(RULE, conversation, among)
    )


def load_rules_by_message(conversation: UUID) -> Mapping[UUID, list[str]]:
    """Return the names of the rules that matched, by message, for one conversation."""
    findings = RuleFinding.objects.filter(conversation=conversation).order_by("rule__name")
    names: dict[UUID, list[str]] = {}
    for pk, name in findings.values_list("message", "rule__name"):
        names.setdefault(pk, []).append(name)
    return names


def load_rules_by_conversation(conversations: Iterable[UUID]) -> Mapping[UUID, list[str]]:
    """Return the names of the rules that matched, by conversation; deleted messages don't count."""
    names: dict[UUID, list[str]] = {}
    flagged = (
        RuleFinding.objects.filter(
            KeyIn(conversations, "conversation_id"), message__deleted_at=None
        )
        .order_by("rule__name")
        .values_list("conversation", "rule__name")
        .distinct()
    )
    for pk, name in flagged:
        names.setdefault(pk, []).append(name)
    return names
