"""What replies are charged with, once, and when their accounts begin anew."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError
from django.utils import timezone
from pytest_django import Settings

from chatapp.models import (
    Allowance,
    Limit,
    Message,
    ModelChoice,
    Refused,
    Share,
    Upstream,
    User,
)
from chatapp.models.limits import Period, dollars
from chatapp.models.releasing import forget_settled, release_lost
from tests.support.allowed import PROMPT, WHOLE, account, ask, finish, limit, used
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
        Message.objects.filter(pk=turn.reply.pk).update(usage_so_far=used(10, 20).as_record())
        assert Message.objects.interrupt_orphans() == 1
    else:
        finish(turn)
    assert account() == (30, 0)


def test_a_reply_that_is_saved_again_is_charged_once(carol: User, model: ModelChoice) -> None:
    limit(100_000)
    turn = ask(carol, model)
    Message.objects.interrupt_orphans()
    finish(turn)
    assert account() == (30, 0)
    finish(turn, 10, 25)
    finish(turn, 10, 25)
    assert account() == (35, 0)


def test_a_reply_that_was_deleted_is_charged(carol: User, model: ModelChoice) -> None:
    limit(100_000)
    turn = ask(carol, model)
    turn.conversation.delete()
    with pytest.raises(DatabaseError):
        finish(turn)
    assert account() == (30, 0)


def test_what_goes_beyond_is_recorded(carol: User, model: ModelChoice) -> None:
    limit(WHOLE)
    finish(ask(carol, model), PROMPT, 3_000)
    allowance = Allowance.objects.get()
    assert (allowance.spent, allowance.held, allowance.overrun) == (PROMPT + 3000, 0, 1000)
    assert Share.objects.get().overrun == 1000
    with pytest.raises(Refused, match="used up"):
        ask(carol, model)


def test_no_reply_is_charged_with_what_was_begun_before_its_limit(
    carol: User, model: ModelChoice
) -> None:
    turn = ask(carol, model)
    limit(100)
    finish(turn)
    assert not Allowance.objects.exists()


def test_what_a_dead_process_held_for_a_deleted_reply_is_released(
    carol: User, model: ModelChoice
) -> None:
    limit(100_000)
    turn = ask(carol, model)
    assert release_lost() == 0  # it streams
    turn.conversation.delete()
    assert release_lost() == 1
    assert (account(), release_lost()) == ((0, 0), 0)


def test_settled_shares_are_forgotten_in_the_end(carol: User, model: ModelChoice) -> None:
    limit(100_000)
    finish(ask(carol, model))
    ask(carol, model)
    assert forget_settled(timezone.now() - timedelta(days=1)) == 0
    assert forget_settled(timezone.now() + timedelta(days=1)) == 1
    assert account() == (30, WHOLE)


# Periods


def test_a_day_begins_anew_and_what_runs_over_midnight_is_paid_by_the_new_one(
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
    assert Limit.objects.get().begins_anew(now) == datetime(2026, 3, 29, 22, tzinfo=UTC)


def test_a_clock_that_is_behind_by_a_little_brings_nothing_back(
    carol: User, model: ModelChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(100_000, period=Period.DAY)
    now = midnight = datetime(2026, 3, 28, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: now)
    finish(ask(carol, model))
    now = midnight - timedelta(seconds=2)
    finish(ask(carol, model))
    assert account() == (60, 0)
    now = midnight - timedelta(days=40)  # it had been wrong
    finish(ask(carol, model))
    assert account() == (30, 0)


def test_money_is_said_as_people_do() -> None:
    said = [dollars(nano) for nano in (0, 1, 37, 4_600_000, 10**7, 1_234_500_000_000)]
    assert said == ["$0.00", "$0.000000001", "$0.000000037", "$0.0046", "$0.01", "$1,234.50"]
    said = [dollars(nano) for nano in (1_062_000, 12_300_000, 250_000_000, 999_999_999, 9_999_999)]
    assert said == ["$0.0011", "$0.0123", "$0.25", "$1.00", "$0.01"]
