"""Rules flag complete messages, and nobody waits for them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from chatapp.erasure.people import erase
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
from chatapp.models.review.judging import try_rule
from chatapp.models.review.rules import RuleInput, compile_pattern
from chatapp.upstream.wire.reply import Ending
from tests.support.counting import less_than_counting
from tests.support.stored import (
    apply_reply,
    begin_turn,
    build_reply,
    end,
    new_conversation,
    store_turn,
)

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


def list_findings() -> list[tuple[str, str]]:
    """Return the names of rules with the roles of the messages they flagged."""
    return sorted(RuleFinding.objects.values_list("rule__name", "message__role"))


def make_input(text: str, role: str = "user", cost: int | None = None) -> RuleInput:
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
    assert rule(words).finds(make_input(text)) is is_found


def test_a_rule_examines_only_the_messages_it_applies_to(rule: Set) -> None:
    assert rule(r"\d{4}-É", "pattern").finds(make_input("x 1234-é"))
    assert not rule("b", "pattern", "assistant").finds(make_input("b"))
    assert rule("b", "pattern", "assistant").finds(make_input("b", "assistant"))
    assert rule(kind="length", least=3).finds(make_input("abc"))
    assert not rule(kind="length", least=4).finds(make_input("abc"))
    costly = rule(kind="cost", applies_to="assistant", least=10)
    assert costly.finds(make_input("", "assistant", 10))
    assert not costly.finds(make_input("", "assistant", 9))
    assert not costly.finds(make_input("", "assistant", None))


def test_no_pattern_takes_long(rule: Set) -> None:
    """These patterns take a backtracking engine practically for ever."""
    for pattern in (r"(a+)+b", r"(a|a)*b", r"(?:a|b)*a(?:a|b){400}c"):
        with less_than_counting(to=200_000_000):
            assert not rule(pattern, "pattern").finds(make_input("a" * 10**7))


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{1001}", r"\pL{100}", "\ud800"])
def test_an_invalid_or_too_large_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError):
        compile_pattern(pattern)


def test_a_message_is_judged_once_it_is_complete(
    rule: Set, alice: User, saved_upstream: Upstream
) -> None:
    rule("canary")
    _, reply = begin_turn(new_conversation(alice), saved_upstream, "Of the canary")
    assert list_findings() == []
    index_and_judge()
    assert list_findings() == [("rule 0", "user")]
    Message.objects.checkpoint([apply_reply(reply, build_reply("A canary is"))])
    index_and_judge()
    assert len(list_findings()) == 1
    end(reply, build_reply("A canary is a bird"))
    index_and_judge()
    assert list_findings() == [("rule 0", "assistant"), ("rule 0", "user")]
    assert not UnjudgedMessage.objects.exists()


@pytest.mark.parametrize(("scope", "judged"), [("all", 2), ("flagged", 2), ("nothing", 0)])
def test_messages_that_nobody_may_review_are_not_judged(
    rule: Set, alice: User, saved_upstream: Upstream, scope: str, judged: int
) -> None:
    ReviewPolicy.objects.create(scope=scope)
    rule("secret")
    store_turn(new_conversation(alice), saved_upstream, "A secret")
    index_and_judge()
    assert len(list_findings()) == judged
    assert not UnjudgedMessage.objects.exists()


def test_an_interrupted_reply_is_judged_again_when_its_final_text_is_saved(
    rule: Set, alice: User, saved_upstream: Upstream
) -> None:
    rule("canary")
    _, reply = begin_turn(new_conversation(alice), saved_upstream, "A question")
    Message.objects.checkpoint([apply_reply(reply, build_reply("Half a canary"))])
    Message.objects.interrupt_orphans()
    index_and_judge()
    assert len(list_findings()) == 1
    end(Message.objects.get(pk=reply.pk), build_reply("Half a nightingale"), Ending.COMPLETE)
    index_and_judge()
    assert list_findings() == []


def test_the_cost_of_a_reply_is_known_when_it_is_judged(
    rule: Set, alice: User, saved_upstream: Upstream
) -> None:
    rule(kind="cost", applies_to="assistant", least=5)
    _, reply = begin_turn(new_conversation(alice), saved_upstream, "A question")
    end(reply, build_reply("So."))
    Usage.objects.filter(pk=reply.pk).update(cost=5)
    index_and_judge()
    assert list_findings() == [("rule 0", "assistant")]


def test_a_rule_ignores_older_messages(rule: Set, alice: User, saved_upstream: Upstream) -> None:
    conversation = new_conversation(alice)
    store_turn(conversation, saved_upstream, "Of the canary")
    active_rule = rule("canary")
    off = rule("canary", is_on=False)
    index_and_judge()
    for _ in reindex():
        pass
    index_and_judge()
    assert list_findings() == []
    store_turn(conversation, saved_upstream, "Of a canary")
    index_and_judge()
    assert {name for name, _ in list_findings()} == {active_rule.name}
    active_rule.change(text="nightingale")
    off.change(is_on=True)
    for _ in reindex():
        pass
    index_and_judge()
    assert {name for name, _ in list_findings()} == {active_rule.name}


def test_a_crash_keeps_the_messages_that_wait(
    rule: Set, alice: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule("canary")
    store_turn(new_conversation(alice), saved_upstream, "Of the canary")

    def fail(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(rules.ReviewRule, "finds", fail)
        with pytest.raises(RuntimeError):
            index_and_judge()
    assert UnjudgedMessage.objects.count() == 2
    index_and_judge()
    assert len(list_findings()) == 2


def test_findings_are_deleted_with_their_rule_or_message(
    rule: Set, alice: User, bob: User, olive: User, saved_upstream: Upstream
) -> None:
    remaining_rule, other = rule("canary"), rule("canary")
    first, second = new_conversation(alice), new_conversation(alice)
    third = new_conversation(bob)
    for conversation in (first, second, third):
        store_turn(conversation, saved_upstream, "Of the canary")
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
    assert {finding.rule for finding in RuleFinding.objects.all()} == {remaining_rule}


def test_a_trial_names_the_conversations_it_would_flag_and_stores_nothing(
    rule: Set, alice: User, saved_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary, other = new_conversation(alice), new_conversation(alice)
    store_turn(canary, saved_upstream, "Of the canary")
    store_turn(other, saved_upstream, "Of nothing")
    deleted, _ = store_turn(other, saved_upstream, "Of a canary")
    Message.objects.filter(pk=deleted.pk).update(deleted_at=timezone.now())
    Message.objects.filter(parent=deleted).update(deleted_at=timezone.now())
    tried_rule = ReviewRule(kind="words", applies_to="both", text="canary")
    everything = Conversation.objects.order_by("-updated_at", "-id")
    trial = try_rule(tried_rule, everything)
    assert (trial.conversations, trial.flagged, trial.is_cut) == (2, [canary.pk], False)
    assert not RuleFinding.objects.exists()
    monkeypatch.setattr(judging, "TRIAL_SECONDS", -1.0)
    assert try_rule(tried_rule, everything).is_cut
    monkeypatch.setattr(judging, "TRIAL_SECONDS", 60.0)
    monkeypatch.setattr(judging, "MAX_TRIAL_CONVERSATIONS", 1)
    assert try_rule(tried_rule, everything).conversations == 1


def test_a_rule_that_begins_tomorrow_flags_nothing_today(
    rule: Set, alice: User, saved_upstream: Upstream
) -> None:
    rule("canary", begins_at=timezone.now() + timedelta(days=1))
    store_turn(new_conversation(alice), saved_upstream, "Of the canary")
    index_and_judge()
    assert list_findings() == []
