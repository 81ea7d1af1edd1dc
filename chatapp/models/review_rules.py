"""Rules by which administrators flag messages, and what each has found.

A message is judged once it is complete, soon after it became found by searches and in the same
thread (`search_entries`), so that no turn waits for it: until then it waits in `UnjudgedMessage`,
which outlives a crash. A rule is applied to messages from the moment on at which it was set.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

import re2
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone

from chatapp.indexing import Words
from chatapp.models.messages import Message, texts_of
from chatapp.models.prices import DOLLAR
from chatapp.models.review_policies import is_reviewable, may_be_flagged
from chatapp.models.statements import Query
from chatapp.models.usage import Usage

if TYPE_CHECKING:
    from chatapp.models.conversations import Conversation

LONGEST_NAME = 60  # characters, as the next three
LONGEST_WORDS = 4000
MOST_WORDS = 200  # lines
LONGEST_PATTERN = 500
LOOKED_AT = 100_000  # of a text, from its beginning
# Of a compiled pattern. The time for a text grows with both, and with nothing else: these two keep
# the worst of patterns at seconds, in a thread that holds up nobody.
MOST_STEPS = 1500
MOST_BYTES = 1 << 20
JUDGED_AT_ONCE = 20
TRIED_ON = 100  # conversations
TRIED_SECONDS = 5.0


class ReviewRule(models.Model):
    class Kind(models.TextChoices):
        WORDS = "words", "Words"
        PATTERN = "pattern", "A pattern"
        COST = "cost", "What a reply cost"
        LENGTH = "length", "The length of a text"

    class Of(models.TextChoices):
        PROMPTS = "user", "Prompts"
        REPLIES = "assistant", "Replies"
        BOTH = "both", "Prompts and replies"

    name = models.CharField(max_length=LONGEST_NAME, unique=True)
    kind = models.CharField(max_length=7, choices=Kind)
    applies_to = models.CharField(max_length=9, choices=Of)
    # Of words, one a line; or a pattern.
    text = models.TextField(blank=True)
    # Nano-dollars, or characters.
    least = models.PositiveBigIntegerField(null=True)
    is_on = models.BooleanField(default=True)
    begins_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def record(self) -> dict[str, object]:
        """What it is, for the audit log."""
        return {
            "name": self.name,
            "kind": self.kind,
            "applies_to": self.applies_to,
            "looks_for": words_of(self.text) if self.kind == self.Kind.WORDS else self.looks_for,
            "is_on": self.is_on,
        }

    @property
    def looks_for(self) -> str:
        """In words."""
        match self.kind:
            case self.Kind.WORDS:
                return ", ".join(words_of(self.text))
            case self.Kind.PATTERN:
                return self.text
            case self.Kind.COST:
                return f"at least ${Decimal(self.least or 0) / DOLLAR:f}"
        return f"at least {self.least or 0:,} characters"

    @staticmethod
    def readable_findings() -> dict[int, int]:
        """How many messages each rule has flagged in conversations that reviewers may read."""
        there = RuleFinding.objects.filter(is_reviewable("conversation"))
        counted = there.order_by().values("rule").annotate(count=models.Count("pk"))
        return dict(counted.values_list("rule", "count"))

    def finds(self, said: "Said") -> bool:
        if self.applies_to not in (self.Of.BOTH, said.role):
            return False
        match self.kind:
            case self.Kind.WORDS:
                return any(words in said.words for words in words_of(self.text))
            case self.Kind.PATTERN:
                return compiled(self.text).search(said.bytes) is not None
            case self.Kind.COST:
                return said.cost is not None and said.cost >= (self.least or 0)
        return len(said.text) >= (self.least or 0)

    def change(self, **fields: object) -> None:
        """From now on it is this."""
        for name, value in fields.items():
            setattr(self, name, value)
        self.begins_at = timezone.now()
        self.save()


class Said:
    """What rules look at of a message; each form of its text is made once, where it is needed."""

    def __init__(self, role: str, text: str, cost: int | None) -> None:
        self.role, self.text, self.cost = role, text, cost
        self._words: Words | None = None
        self._bytes: bytes | None = None

    @property
    def words(self) -> Words:
        self._words = self._words or Words(self.text[:LOOKED_AT])
        return self._words

    @property
    def bytes(self) -> bytes:
        if self._bytes is None:
            self._bytes = self.text[:LOOKED_AT].encode(errors="replace")
        return self._bytes


class RuleFinding(models.Model):
    """A rule has flagged a message; it goes with either."""

    rule = models.ForeignKey(ReviewRule, models.CASCADE, related_name="findings")
    conversation = models.ForeignKey("chatapp.Conversation", models.CASCADE, related_name="+")
    message = models.ForeignKey(Message, models.CASCADE, related_name="findings")
    found_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[Any] = models.Manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rule", "message"], name="one_finding_of_a_rule")
        ]

    def __str__(self) -> str:
        return f"Finding {self.pk}"


class UnjudgedMessage(models.Model):
    """One that is complete, and at which no rule has looked yet."""

    message = models.OneToOneField(Message, models.CASCADE, primary_key=True, related_name="+")

    def __str__(self) -> str:
        return f"Message {self.message_id}"


@lru_cache(maxsize=50)
def compiled(pattern: str) -> Any:
    """Matched in a time that grows with the text alone, whatever the pattern is. Raises
    `ValidationError`, which says what to do."""
    options = re2.Options()
    options.max_mem = MOST_BYTES
    options.log_errors = options.case_sensitive = False
    options.never_capture = True
    try:
        found = re2.compile(pattern.encode(), options)
    except (re2.error, UnicodeError) as error:
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else "it is no text"
        raise ValidationError(f"This is no pattern that can be used: {said}. Mend it.") from None
    if found.programsize > MOST_STEPS:
        raise ValidationError("This pattern is too large. Repeat less in it, or write two rules.")
    return found


@lru_cache(maxsize=50)
def words_of(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def await_judging(messages: Sequence[Message]) -> None:
    """They are judged soon, if there are rules; in the transaction of who knows that they are
    complete."""
    if rules := _RULES.all():
        first = min(rule.begins_at for rule in rules)
        waiting = [UnjudgedMessage(message=one) for one in messages if one.created_at >= first]
        UnjudgedMessage.objects.bulk_create(waiting, ignore_conflicts=True)


def judge_some() -> int:
    """Judge a few of those that wait; return how many there were.

    What no reviewer may ever read, by the policy of its conversation, is not looked into.

    Nobody has to wait with writing while rules look. Where a rule or a message is deleted
    meanwhile it raises `IntegrityError`, and the next time they are judged without that one.
    """
    waiting = _WAITING.all()
    if not waiting:
        return 0
    keys = [one.pk for one in waiting]
    rules = _RULES.all()
    judged = Message.objects.filter(may_be_flagged("conversation"), pk__in=keys)
    messages = judged.defer("logprobs", "extras_record")
    found = list(_findings(rules, messages))
    with transaction.atomic():
        # Of one that was saved again, as it stands now.
        RuleFinding.objects.filter(rule__in=rules, message__in=keys).delete()
        RuleFinding.objects.bulk_create(found, ignore_conflicts=True)
        UnjudgedMessage.objects.filter(pk__in=keys).delete()
    return len(keys)


def _findings(rules: Sequence[ReviewRule], messages: Iterable[Message]) -> Iterator[RuleFinding]:
    """Of each message by those rules that were there before it."""
    for message, said in _said_of(messages, rules):
        for rule in rules:
            if rule.begins_at <= message.created_at and rule.finds(said):
                yield RuleFinding(
                    rule=rule, message=message, conversation_id=message.conversation_id
                )


@dataclass
class Trial:
    """What a rule would have flagged of the newest conversations of some."""

    conversations: int = 0  # that it was tried on
    flagged: list[UUID] = field(default_factory=list)
    is_cut: bool = False  # by the time that it took


def tried(rule: ReviewRule, conversations: "models.QuerySet[Conversation]") -> Trial:
    """On the newest of them, for a few seconds at most; nothing is stored."""
    trial = Trial()
    ends_at = time.monotonic() + TRIED_SECONDS
    for pk in conversations.values_list("pk", flat=True)[:TRIED_ON]:
        there = Message.objects.filter(conversation=pk, deleted_at=None)
        whole = there.exclude(ending=Message.STREAMING).defer("logprobs", "extras_record")
        for message in whole.order_by().iterator(JUDGED_AT_ONCE):
            if time.monotonic() > ends_at:
                trial.is_cut = True
                return trial
            if any(rule.finds(said) for _, said in _said_of([message], [rule])):
                trial.flagged.append(pk)
                break
        trial.conversations += 1
    return trial


def _said_of(
    messages: Iterable[Message], rules: Sequence[ReviewRule]
) -> Iterator[tuple[Message, Said]]:
    some = list(messages)
    asks_for_cost = any(rule.kind == ReviewRule.Kind.COST for rule in rules)
    replies = [one.pk for one in some if not one.is_prompt] if asks_for_cost else []
    costs = dict(Usage.objects.filter(pk__in=replies).values_list("pk", "cost"))
    for one in some:
        yield one, Said(one.role, "\n\n".join(texts_of(one)), costs.get(one.pk))


# Those are asked for after each turn.
_RULES = Query(lambda: ReviewRule.objects.filter(is_on=True))
_WAITING = Query(lambda: UnjudgedMessage.objects.order_by()[:JUDGED_AT_ONCE])
