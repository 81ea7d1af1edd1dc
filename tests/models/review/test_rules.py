"""Rules flag complete messages, and nobody waits for them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from chatapp.accounts.erasing import erase
from chatapp.models import (
    Conversation,
    Message,
    ReviewPolicy,
    ReviewRule,
    RuleFinding,
    UnjudgedMessage,
    Upstream,
    Usage,
    User,
    index_some,
    reindex,
)
from chatapp.models.review import judging, rules
from chatapp.models.review.judging import tried
from chatapp.models.review.rules import RuleInput, compiled
from chatapp.upstream.wire.reply import Ending
from tests.support.counting import less_than_counting
from tests.support.stored import answered, asked, end, growing, reply_of, started_by

pytestmark = pytest.mark.django_db

Set = Callable[..., ReviewRule]


@pytest.fixture
def rule(db: None) -> Set:
    def rule(
        text: str = "", kind: str = "words", applies_to: str = "both", **of: Any
    ) -> ReviewRule:
        name = f"rule {ReviewRule.objects.count()}"
        return ReviewRule.objects.create(
            name=name, kind=kind, applies_to=applies_to, text=text, **of
        )

    return rule


def index_and_judge() -> None:
    while index_some():
        pass


def found() -> list[tuple[str, str]]:
    """Return the names of rules with the roles of the messages they flagged."""
    return sorted(RuleFinding.objects.values_list("rule__name", "message__role"))


def said(text: str, role: str = "user", cost: int | None = None) -> RuleInput:
    return RuleInput(role, text, cost)


@pytest.mark.parametrize(
    ("words", "text", "is_found"),
    [
        ("secret", "A SECRET!", True),
        ("secret", "secretary", False),
        ("secret", "top-secret_", False),  # words joined by an underscore are one word
        ("résumé", "my Resume.", True),
        ("credit card", "a credit\n card", True),
        ("credit card", "a creditcard", False),
        ("a\nb\nc", "see b", True),
        ("don't", "DON'T", True),
        ("서버", "서버에서는", True),
        ("東京", "大東京都", True),
        ("हिन्दी", "मैं हिन्दी बोलता", True),
        ("...", "...", False),
        ("null", "a\0null\0b", True),
    ],
)
def test_words_match_whole_words_ignoring_case_and_accents(
    rule: Set, words: str, text: str, is_found: bool
) -> None:
    assert rule(words).finds(said(text)) is is_found


def test_a_rule_examines_only_the_messages_it_applies_to(rule: Set) -> None:
    assert rule(r"\d{4}-É", "pattern").finds(said("x 1234-é"))
    assert not rule("b", "pattern", "assistant").finds(said("b"))
    assert rule("b", "pattern", "assistant").finds(said("b", "assistant"))
    assert rule(kind="length", least=3).finds(said("abc"))
    assert not rule(kind="length", least=4).finds(said("abc"))
    costly = rule(kind="cost", applies_to="assistant", least=10)
    assert costly.finds(said("", "assistant", 10))
    assert not costly.finds(said("", "assistant", 9))
    assert not costly.finds(said("", "assistant", None))


def test_no_pattern_takes_long(rule: Set) -> None:
    """These patterns take a backtracking engine practically for ever."""
    for pattern in (r"(a+)+b", r"(a|a)*b", r"(?:a|b)*a(?:a|b){400}c"):
        with less_than_counting(to=200_000_000):
            assert not rule(pattern, "pattern").finds(said("a" * 10**7))


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{1001}", r"\pL{100}", "\ud800"])
def test_an_invalid_or_too_large_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError):
        compiled(pattern)


def test_a_message_is_judged_once_it_is_complete(
    rule: Set, alice: User, connected: Upstream
) -> None:
    rule("canary")
    _, reply = asked(started_by(alice), connected, "Of the canary")
    assert found() == []
    index_and_judge()
    assert found() == [("rule 0", "user")]
    Message.objects.checkpoint([growing(reply, reply_of("A canary is"))])
    index_and_judge()
    assert len(found()) == 1
    end(reply, reply_of("A canary is a bird"))
    index_and_judge()
    assert found() == [("rule 0", "assistant"), ("rule 0", "user")]
    assert not UnjudgedMessage.objects.exists()


@pytest.mark.parametrize(("scope", "judged"), [("all", 2), ("flagged", 2), ("nothing", 0)])
def test_messages_that_nobody_may_review_are_not_judged(
    rule: Set, alice: User, connected: Upstream, scope: str, judged: int
) -> None:
    ReviewPolicy.objects.create(scope=scope)
    rule("secret")
    answered(started_by(alice), connected, "A secret")
    index_and_judge()
    assert len(found()) == judged
    assert not UnjudgedMessage.objects.exists()


def test_an_interrupted_reply_is_judged_again_when_its_final_text_is_saved(
    rule: Set, alice: User, connected: Upstream
) -> None:
    rule("canary")
    _, reply = asked(started_by(alice), connected, "A question")
    Message.objects.checkpoint([growing(reply, reply_of("Half a canary"))])
    Message.objects.interrupt_orphans()
    index_and_judge()
    assert len(found()) == 1
    end(Message.objects.get(pk=reply.pk), reply_of("Half a nightingale"), Ending.COMPLETE)
    index_and_judge()
    assert found() == []


def test_the_cost_of_a_reply_is_known_when_it_is_judged(
    rule: Set, alice: User, connected: Upstream
) -> None:
    rule(kind="cost", applies_to="assistant", least=5)
    _, reply = asked(started_by(alice), connected, "A question")
    end(reply, reply_of("So."))
    Usage.objects.filter(pk=reply.pk).update(cost=5)
    index_and_judge()
    assert found() == [("rule 0", "assistant")]


def test_a_rule_ignores_older_messages(rule: Set, alice: User, connected: Upstream) -> None:
    conversation = started_by(alice)
    answered(conversation, connected, "Of the canary")
    one = rule("canary")
    off = rule("canary", is_on=False)
    index_and_judge()
    for _ in reindex():
        pass
    index_and_judge()
    assert found() == []
    answered(conversation, connected, "Of a canary")
    index_and_judge()
    assert {name for name, _ in found()} == {one.name}
    one.change(text="nightingale")
    off.change(is_on=True)
    for _ in reindex():
        pass
    index_and_judge()
    assert {name for name, _ in found()} == {one.name}


def test_a_crash_keeps_the_messages_that_wait(
    rule: Set, alice: User, connected: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule("canary")
    answered(started_by(alice), connected, "Of the canary")

    def fail(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(rules.ReviewRule, "finds", fail)
        with pytest.raises(RuntimeError):
            index_and_judge()
    assert UnjudgedMessage.objects.count() == 2
    index_and_judge()
    assert len(found()) == 2


def test_findings_are_deleted_with_their_rule_or_message(
    rule: Set, alice: User, bob: User, olive: User, connected: Upstream
) -> None:
    one, other = rule("canary"), rule("canary")
    first, second = started_by(alice), started_by(alice)
    third = started_by(bob)
    for conversation in (first, second, third):
        answered(conversation, connected, "Of the canary")
    index_and_judge()
    assert RuleFinding.objects.count() == 12
    other.delete()
    assert RuleFinding.objects.count() == 6
    first.messages.filter(role="assistant").delete()
    assert RuleFinding.objects.count() == 5
    second.erase()
    assert RuleFinding.objects.count() == 3
    [report] = erase([bob])
    assert RuleFinding.objects.count() == 1
    assert "chatapp.RuleFinding.conversation" in report.checked
    assert not report.left
    assert {finding.rule for finding in RuleFinding.objects.all()} == {one}


def test_a_trial_names_the_conversations_it_would_flag_and_stores_nothing(
    rule: Set, alice: User, connected: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary, other = started_by(alice), started_by(alice)
    answered(canary, connected, "Of the canary")
    answered(other, connected, "Of nothing")
    deleted, _ = answered(other, connected, "Of a canary")
    Message.objects.filter(pk=deleted.pk).update(deleted_at=timezone.now())
    Message.objects.filter(parent=deleted).update(deleted_at=timezone.now())
    wanted = ReviewRule(kind="words", applies_to="both", text="canary")
    everything = Conversation.objects.order_by("-updated_at", "-id")
    trial = tried(wanted, everything)
    assert (trial.conversations, trial.flagged, trial.is_cut) == (2, [canary.pk], False)
    assert not RuleFinding.objects.exists()
    monkeypatch.setattr(judging, "TRIED_SECONDS", -1.0)
    assert tried(wanted, everything).is_cut
    monkeypatch.setattr(judging, "TRIED_SECONDS", 60.0)
    monkeypatch.setattr(judging, "TRIED_ON", 1)
    assert tried(wanted, everything).conversations == 1


def test_a_rule_that_begins_tomorrow_flags_nothing_today(
    rule: Set, alice: User, connected: Upstream
) -> None:
    rule("canary", begins_at=timezone.now() + timedelta(days=1))
    answered(started_by(alice), connected, "Of the canary")
    index_and_judge()
    assert found() == []
