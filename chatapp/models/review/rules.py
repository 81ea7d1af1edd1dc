"""Rules by which administrators flag messages, and what each rule has flagged.

`judging` applies them. A rule applies to messages from the moment it was set.
"""

from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar

import re2
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from chatapp.models.billing.prices import DOLLAR
from chatapp.models.conversations.messages.messages import Message
from chatapp.text.indexing import Words

MAX_NAME_LENGTH = 60  # characters, as are MAX_WORDS_LENGTH and MAX_PATTERN_LENGTH
MAX_WORDS_LENGTH = 4000
MAX_WORDS = 200  # lines
MAX_PATTERN_LENGTH = 500
MAX_EXAMINED = 100_000  # characters from the beginning of a text
# Bounds of a compiled pattern. Matching time grows with these and with the length of the text, and
# with nothing else: they keep the worst pattern at seconds, in a thread that blocks nobody.
MAX_STEPS = 1500
MAX_BYTES = 1 << 20


class ReviewRule(models.Model):
    class Kind(models.TextChoices):
        WORDS = "words", "Words"
        PATTERN = "pattern", "A pattern"
        COST = "cost", "What a reply cost"
        LENGTH = "length", "The length of a text"

    class AppliesTo(models.TextChoices):
        PROMPTS = "user", "Prompts"
        REPLIES = "assistant", "Replies"
        BOTH = "both", "Prompts and replies"

    name = models.CharField(max_length=MAX_NAME_LENGTH, unique=True)
    kind = models.CharField(max_length=7, choices=Kind)
    applies_to = models.CharField(max_length=9, choices=AppliesTo)
    # Words, one per line; or a pattern.
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
        """Its fields for the audit log."""
        return {
            "name": self.name,
            "kind": self.kind,
            "applies_to": self.applies_to,
            "looks_for": split_words(self.text) if self.kind == self.Kind.WORDS else self.looks_for,
            "is_on": self.is_on,
        }

    @property
    def looks_for(self) -> str:
        """The target of the rule, in words."""
        match self.kind:
            case self.Kind.WORDS:
                return ", ".join(split_words(self.text))
            case self.Kind.PATTERN:
                return self.text
            case self.Kind.COST:
                return f"at least ${Decimal(self.least or 0) / DOLLAR:f}"
        return f"at least {self.least or 0:,} characters"

    def finds(self, rule_input: "RuleInput") -> bool:
        if self.applies_to not in (self.AppliesTo.BOTH, rule_input.role):
            return False
        match self.kind:
            case self.Kind.WORDS:
                return any(words in rule_input.words for words in split_words(self.text))
            case self.Kind.PATTERN:
                return compile_pattern(self.text).search(rule_input.bytes) is not None
            case self.Kind.COST:
                return rule_input.cost is not None and rule_input.cost >= (self.least or 0)
        return len(rule_input.text) >= (self.least or 0)

    def change(self, **fields: object) -> None:
        """Change the rule; it applies to messages from now on."""
        for name, value in fields.items():
            setattr(self, name, value)
        self.begins_at = timezone.now()
        self.save()


class RuleInput:
    """The message as rules examine it. Each form of its text is made once, on first use."""

    def __init__(self, role: str, text: str, cost: int | None) -> None:
        self.role, self.text, self.cost = role, text, cost
        self._words: Words | None = None
        self._bytes: bytes | None = None

    @property
    def words(self) -> Words:
        self._words = self._words or Words(self.text[:MAX_EXAMINED])
        return self._words

    @property
    def bytes(self) -> bytes:
        if self._bytes is None:
            self._bytes = self.text[:MAX_EXAMINED].encode(errors="replace")
        return self._bytes


class RuleFinding(models.Model):
    """A message that a rule has flagged. Deleted with the rule or with the message."""

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
    """A message that is complete and has not been judged yet."""

    message = models.OneToOneField(Message, models.CASCADE, primary_key=True, related_name="+")

    def __str__(self) -> str:
        return f"Message {self.message_id}"


@lru_cache(maxsize=50)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern with RE2, which matches in linear time whatever the pattern is.

    Raises `ValidationError` if it is invalid or too large.
    """
    options = re2.Options()
    options.max_mem = MAX_BYTES
    options.log_errors = options.case_sensitive = False
    options.never_capture = True
    try:
        regex = re2.compile(pattern.encode(), options)
    except (re2.error, UnicodeError) as error:
        why = error.args[0].decode() if isinstance(error.args[0], bytes) else "not valid text"
        raise ValidationError(f"This pattern isn't valid: {why}. Correct it.") from None
    if regex.programsize > MAX_STEPS:
        raise ValidationError(
            "This pattern is too large. Use fewer repetitions, or split it into two rules."
        )
    return regex


@lru_cache(maxsize=50)
def split_words(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
