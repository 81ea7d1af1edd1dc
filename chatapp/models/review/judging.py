"""Applies the rules of the review to messages, and tries a rule before it is saved.

A message is judged once it is complete, right after it was indexed for search and in the same
thread (`search_entries`), so no turn waits for it. Until then it is queued in `UnjudgedMessage`,
which survives a crash.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import models, transaction

from chatapp.models.billing.usage import Usage
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.messages.messages import Message, get_texts
from chatapp.models.review.readable import may_be_flagged
from chatapp.models.review.rules import ReviewRule, RuleFinding, RuleInput, UnjudgedMessage

JUDGED_AT_ONCE = 20
MAX_TRIAL_CONVERSATIONS = 100  # conversations
TRIAL_SECONDS = 5.0


def await_judging(messages: Sequence[Message]) -> None:
    """Queue messages for judging if there are rules. Call it in the transaction that learns that
    they are complete."""
    if rules := _active_rules():
        first = min(rule.begins_at for rule in rules)
        waiting = [
            UnjudgedMessage(message=message) for message in messages if message.created_at >= first
        ]
        UnjudgedMessage.objects.bulk_create(waiting, ignore_conflicts=True)


def judge_some() -> int:
    """Judge some of the queued messages; return how many there were.

    Messages that no reviewer may ever read under their policy are not examined.

    The rules run outside the transaction, so writers do not wait for them. Raises `IntegrityError`
    if a rule or a message was deleted meanwhile; the next call judges without it.
    """
    waiting = list(UnjudgedMessage.objects.order_by()[:JUDGED_AT_ONCE])
    if not waiting:
        return 0
    keys = [queued_message.pk for queued_message in waiting]
    rules = _active_rules()
    judged = Message.objects.filter(may_be_flagged("conversation"), pk__in=keys)
    messages = judged.defer("logprobs", "extras_record")
    findings = list(_findings(rules, messages))
    with transaction.atomic():
        # Replace the findings of messages that were saved again.
        RuleFinding.objects.filter(rule__in=rules, message__in=keys).delete()
        RuleFinding.objects.bulk_create(findings, ignore_conflicts=True)
        UnjudgedMessage.objects.filter(pk__in=keys).delete()
    return len(keys)


def _findings(rules: Sequence[ReviewRule], messages: Iterable[Message]) -> Iterator[RuleFinding]:
    """Apply to each message the rules that are older than it."""
    for message, rule_input in _build_inputs(messages, rules):
        for rule in rules:
            if rule.begins_at <= message.created_at and rule.finds(rule_input):
                yield RuleFinding(
                    rule=rule, message=message, conversation_id=message.conversation_id
                )


@dataclass
class Trial:
    """The conversations that a rule would have flagged among the newest."""

    conversations: int = 0  # number that it was tried on
    flagged: list[UUID] = field(default_factory=list)
    is_cut: bool = False  # ended by the time limit


def try_rule(rule: ReviewRule, conversations: "models.QuerySet[Conversation]") -> Trial:
    """Try a rule on the newest conversations, for a few seconds at most. Stores nothing."""
    trial = Trial()
    ends_at = time.monotonic() + TRIAL_SECONDS
    for pk in conversations.values_list("pk", flat=True)[:MAX_TRIAL_CONVERSATIONS]:
        messages = Message.objects.filter(conversation=pk, deleted_at=None)
        complete = messages.exclude(ending=Message.STREAMING).defer("logprobs", "extras_record")
        for message in complete.order_by().iterator(JUDGED_AT_ONCE):
            if time.monotonic() > ends_at:
                trial.is_cut = True
                return trial
            if any(rule.finds(rule_input) for _, rule_input in _build_inputs([message], [rule])):
                trial.flagged.append(pk)
                break
        trial.conversations += 1
    return trial


def _build_inputs(
    messages: Iterable[Message], rules: Sequence[ReviewRule]
) -> Iterator[tuple[Message, RuleInput]]:
    message_list = list(messages)
    asks_for_cost = any(rule.kind == ReviewRule.Kind.COST for rule in rules)
    replies = (
        [message.pk for message in message_list if not message.is_prompt] if asks_for_cost else []
    )
    costs = dict(Usage.objects.filter(pk__in=replies).values_list("pk", "cost"))
    for message in message_list:
        yield (
            message,
            RuleInput(message.role, "\n\n".join(get_texts(message)), costs.get(message.pk)),
        )


# Run after every turn.
def _active_rules() -> list[ReviewRule]:
    return list(ReviewRule.objects.filter(is_on=True))
