"""The form for review rules."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core import signing
from django.core.exceptions import ValidationError

from chatapp.models import ReviewRule
from chatapp.models.billing.prices import DOLLAR
from chatapp.models.review.reviews import MAX_REASON_LENGTH
from chatapp.models.review.rules import (
    MAX_NAME_LENGTH,
    MAX_PATTERN_LENGTH,
    MAX_WORDS,
    MAX_WORDS_LENGTH,
    compile_pattern,
    split_words,
)
from chatapp.text.decimals import DecimalField
from chatapp.text.multiline import MultilineField
from chatapp.text.visible import VisibleCharField

SALT = "chatapp.review.rule"
SEEN_SECONDS = 3600  # for which a trial's result counts as current
LINES = {"rows": 4, "spellcheck": "false"}
LINE = {"autocomplete": "off", "spellcheck": "false"}
MISSING = {"required": "Enter what the rule looks for."}
NUMBER = {"inputmode": "decimal", "autocomplete": "off"}


class RuleForm(forms.Form):
    use_required_attribute = False  # the fields of other kinds are hidden

    name = VisibleCharField(
        label="Name",
        max_length=MAX_NAME_LENGTH,
        widget=forms.TextInput(attrs=LINE),
        help_text="Reviewers see it on chats that the rule flags.",
    )
    applies_to = forms.ChoiceField(
        label="Applies to", choices=ReviewRule.AppliesTo.choices, initial=ReviewRule.AppliesTo.BOTH
    )
    kind = forms.ChoiceField(label="Looks for", choices=ReviewRule.Kind.choices)
    words = MultilineField(
        label="Words",
        error_messages=MISSING,
        max_length=MAX_WORDS_LENGTH,
        widget=forms.Textarea(attrs=LINES),
        help_text="One word or phrase per line. Matches whole words; case and accents are ignored.",
    )
    pattern = forms.CharField(
        label="Pattern",
        error_messages=MISSING,
        max_length=MAX_PATTERN_LENGTH,
        widget=forms.TextInput(attrs=LINE),
        help_text="A regular expression (RE2), for example <code>\\b\\d{4}-\\d{4}\\b</code>. Case "
        "is ignored.",
    )
    cost = DecimalField(
        label="Minimum cost of a reply",
        error_messages=MISSING,
        min_value=0,
        max_digits=13,
        decimal_places=9,
        widget=forms.TextInput(attrs=NUMBER),
        help_text="In US dollars.",
    )
    length = forms.IntegerField(
        label="Minimum length of a message",
        error_messages=MISSING,
        min_value=1,
        max_value=10**9,
        widget=forms.TextInput(attrs=NUMBER),
        help_text="In characters.",
    )

    reason = VisibleCharField(
        label="Reason for the test",
        max_length=MAX_REASON_LENGTH,
        error_messages={"required": "Enter a reason for the test first."},
        widget=forms.TextInput(attrs=LINE),
        help_text="It is recorded. The owners of chats that the test finds can read it.",
    )

    def __init__(
        self, *arguments: Any, rule: ReviewRule | None = None, is_tried: bool, **named: Any
    ) -> None:
        super().__init__(*arguments, **named)
        if not is_tried:
            del self.fields["reason"]
        self.rule = rule or ReviewRule()
        if rule:
            self.initial = _build_initial(rule)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if ReviewRule.objects.filter(name=name).exclude(pk=self.rule.pk).exists():
            raise ValidationError("A rule with this name already exists. Choose another name.")
        return name

    def clean_words(self) -> str:
        words: str = self.cleaned_data["words"]
        if len(split_words(words)) > MAX_WORDS:
            raise ValidationError(f"Enter at most {MAX_WORDS} lines. Put the rest in another rule.")
        return words

    def clean_pattern(self) -> str:
        pattern: str = self.cleaned_data["pattern"]
        compile_pattern(pattern)
        return pattern

    def clean(self) -> dict[str, Any]:
        """Ignore errors in the fields of other kinds."""
        fields = self.cleaned_data
        kind = fields.get("kind")
        for other in ReviewRule.Kind.values:
            if other != kind:
                self.errors.pop(other, None)
        if (
            kind == ReviewRule.Kind.COST
            and fields.get("applies_to") == ReviewRule.AppliesTo.PROMPTS
        ):
            self.add_error("applies_to", "Only replies have a cost. Choose replies.")
        return fields

    @property
    def rule_fields(self) -> dict[str, Any]:
        """The rule's fields; only if the form is valid."""
        sent = self.cleaned_data
        text, least = "", None
        match sent["kind"]:
            case ReviewRule.Kind.WORDS:
                text = "\n".join(split_words(sent["words"]))
            case ReviewRule.Kind.PATTERN:
                text = sent["pattern"]
            case ReviewRule.Kind.COST:
                least = int(sent["cost"] * DOLLAR)
            case _:
                least = sent["length"]
        names = ("name", "kind", "applies_to")
        return {name: sent[name] for name in names} | {"text": text, "least": least}

    @property
    def seal(self) -> str:
        """A signed copy of the fields, sent back by a page that has shown what they would flag."""
        return signing.dumps(self.rule_fields, salt=SALT)

    @property
    def was_tried(self) -> bool:
        """Whether exactly these fields were tried, less than `SEEN_SECONDS` ago."""
        try:
            tried = signing.loads(self.data.get("seal", ""), salt=SALT, max_age=SEEN_SECONDS)
        except signing.BadSignature:
            return False
        return bool(tried == self.rule_fields)


def _build_initial(rule: ReviewRule) -> dict[str, object]:
    typed: dict[str, object] = {
        "name": rule.name,
        "applies_to": rule.applies_to,
        "kind": rule.kind,
    }
    match rule.kind:
        case ReviewRule.Kind.COST:
            typed["cost"] = f"{Decimal(rule.least or 0) / DOLLAR:f}"
        case ReviewRule.Kind.LENGTH:
            typed["length"] = rule.least
        case kind:
            typed[kind] = rule.text
    return typed
