"""Charging replies to budget accounts exactly once, and resetting accounts each period."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError
from django.utils import timezone
from pytest_django import Settings

from chatapp.models import (
    BudgetAccount,
    BudgetHold,
    Limit,
    Message,
    ModelChoice,
    Refused,
    Upstream,
    User,
)
from chatapp.models.billing.limits import Period, dollars
from chatapp.models.conversations.threads.releasing import delete_settled_holds, release_lost_holds
from tests.support.allowed import PROMPT, WHOLE, account, ask, build_usage, finish, limit
from tests.support.stored import MODEL

pytestmark = pytest.mark.django_db


@pytest.fixture
def model(gateway: Upstream) -> ModelChoice:
    return ModelChoice(gateway.pk, MODEL)


# Settling


@pytest.mark.parametrize("ending", ["complete", "stopped", "failed", "interrupted"])
def test_a_reply_is_charged_with_what_it_used(carol: User, model: ModelChoice, ending: str) -> None:
    limit(100_000)
    turn = ask(carol, model)
    if ending == "interrupted":
        Message.objects.filter(pk=turn.reply.pk).update(
            usage_so_far=build_usage(10, 20).as_record()
        )
        assert Message.objects.interrupt_orphans() == 1
    else:
        finish(turn)
    assert account() == (30, 0)


def test_saving_a_reply_again_charges_it_only_once(carol: User, model: ModelChoice) -> None:
    limit(100_000)
    turn = ask(carol, model)
    Message.objects.interrupt_orphans()
    finish(turn)
    assert account() == (30, 0)
    finish(turn, 10, 25)
    finish(turn, 10, 25)
    assert account() == (35, 0)


def test_a_deleted_reply_is_still_charged(carol: User, model: ModelChoice) -> None:
    limit(100_000)
    turn = ask(carol, model)
    turn.conversation.delete()
    with pytest.raises(DatabaseError):
        finish(turn)
    assert account() == (30, 0)


def test_exceeding_the_cap_is_recorded_as_overrun(carol: User, model: ModelChoice) -> None:
    limit(WHOLE)
    finish(ask(carol, model), PROMPT, 3_000)
    account = BudgetAccount.objects.get()
    assert (account.spent, account.held, account.overrun) == (PROMPT + 3000, 0, 1000)
    assert BudgetHold.objects.get().overrun == 1000
    with pytest.raises(Refused, match="used up"):
        ask(carol, model)


def test_a_reply_started_before_the_limit_was_set_is_not_charged(
    carol: User, model: ModelChoice
) -> None:
    turn = ask(carol, model)
    limit(100)
    finish(turn)
    assert not BudgetAccount.objects.exists()


def test_the_share_of_a_deleted_reply_of_a_dead_process_is_released(
    carol: User, model: ModelChoice
) -> None:
    limit(100_000)
    turn = ask(carol, model)
    assert release_lost_holds() == 0  # it is streaming
    turn.conversation.delete()
    assert release_lost_holds() == 1
    assert (account(), release_lost_holds()) == ((0, 0), 0)


def test_old_settled_shares_are_deleted(carol: User, model: ModelChoice) -> None:
    limit(100_000)
    finish(ask(carol, model))
    ask(carol, model)
    assert delete_settled_holds(timezone.now() - timedelta(days=1)) == 0
    assert delete_settled_holds(timezone.now() + timedelta(days=1)) == 1
    assert account() == (30, WHOLE)


# Periods


def test_a_reply_that_runs_past_midnight_is_charged_to_the_new_day(
    carol: User, model: ModelChoice, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CHATAPP_TIME_ZONE = "Europe/Berlin"
    limit(100_000, period=Period.DAY)
    now = datetime(2026, 3, 28, 22, 59, tzinfo=UTC)  # before a day of 23 hours
    monkeypatch.setattr(timezone, "now", lambda: now)
    finish(ask(carol, model))
    late = ask(carol, model)
    now += timedelta(minutes=2)
    finish(late, 1, 1)
    assert account() == (2, 0)
    finish(late, 1, 2)
    assert account() == (3, 0)
    assert Limit.objects.get().resets_at(now) == datetime(2026, 3, 29, 22, tzinfo=UTC)


def test_a_clock_that_is_slightly_behind_does_not_reopen_the_previous_day(
    carol: User, model: ModelChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(100_000, period=Period.DAY)
    now = midnight = datetime(2026, 3, 28, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: now)
    finish(ask(carol, model))
    now = midnight - timedelta(seconds=2)
    finish(ask(carol, model))
    assert account() == (60, 0)
    now = midnight - timedelta(days=40)  # the clock was wrong before
    finish(ask(carol, model))
    assert account() == (30, 0)


def test_small_amounts_of_money_keep_two_significant_digits() -> None:
    text = [dollars(nano) for nano in (0, 1, 37, 4_600_000, 10**7, 1_234_500_000_000)]
    assert text == ["$0.00", "$0.000000001", "$0.000000037", "$0.0046", "$0.01", "$1,234.50"]
    text = [dollars(nano) for nano in (1_062_000, 12_300_000, 250_000_000, 999_999_999, 9_999_999)]
    assert text == ["$0.0011", "$0.0123", "$0.25", "$1.00", "$0.01"]
