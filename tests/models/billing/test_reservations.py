"""Budget reservations: what a prompt holds before it is sent, and more while its reply streams."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError
from django.utils import timezone
from pytest_django import Settings

from chatapp.models import (
    BudgetAccount,
    BudgetHold,
    Continuation,
    Conversation,
    Edit,
    Limit,
    Message,
    ModelChoice,
    Prompt,
    Refused,
    Retry,
    Upstream,
    Usage,
    User,
)
from chatapp.models.billing import reservations
from chatapp.models.billing.budget_accounts import UPDATE_HELD
from chatapp.models.billing.limits import Measure, Period
from chatapp.models.billing.reservations import MIN_OUTPUT, OUTPUT, Reservation, admit_again
from chatapp.models.platform import calendar
from chatapp.models.refusals import OverLimit
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.requests.estimates import UPPER
from tests.support.allowed import (
    PROCESS_ID,
    PROMPT,
    TEXT,
    WHOLE,
    account,
    ask,
    build_usage,
    finish,
    get_reservation,
    limit,
    store_price,
)
from tests.support.stored import MODEL, build_reply, end

pytestmark = pytest.mark.django_db


@pytest.fixture
def model(gateway: Upstream) -> ModelChoice:
    return ModelChoice(gateway.pk, MODEL)


# Admitting


def test_a_prompt_without_limits_has_no_purse(carol: User, model: ModelChoice) -> None:
    turn = ask(carol, model)
    assert (turn.reservation, turn.reply.is_limited) == (None, False)


def test_a_prompt_holds_its_upper_bound_and_2000_tokens(carol: User, model: ModelChoice) -> None:
    limit(100_000)
    turn = ask(carol, model)
    assert account() == (0, WHOLE)
    assert (get_reservation(turn).output, get_reservation(turn).affordable) == (
        OUTPUT,
        100_000 - PROMPT,
    )


def test_a_maximum_output_bounds_what_is_held(
    carol: User, gateway: Upstream, model: ModelChoice
) -> None:
    limit(PROMPT + 60)
    with pytest.raises(Refused):
        ask(carol, model)
    Upstream.objects.update(parameters={"max_tokens": 30, "n": 2})
    turn = ask(carol, model)
    assert account() == (0, PROMPT + 60)
    assert get_reservation(turn).output == 60
    finish(turn)
    Limit.objects.update(cap=10**6)
    Upstream.objects.update(parameters={"max_tokens": 10_000})
    assert get_reservation(ask(carol, model)).output == OUTPUT


def test_a_chats_maximum_output_bounds_what_is_held(carol: User, model: ModelChoice) -> None:
    limit(2 * (PROMPT + 100))
    other = ModelChoice(model.upstream, "other")
    parameters = {"max_output_tokens": 100}
    prompt = Prompt(TEXT, model, id=uuid4(), others=[other], parameters=parameters)
    turn = prompt.store(carol, PROCESS_ID)
    assert [get_reservation(asked_turn).output for asked_turn in (turn, *turn.others)] == [100, 100]
    assert account() == (0, 2 * (PROMPT + 100))
    reservation = get_reservation(turn)
    assert not admit_again(reservation, PROMPT, build_usage(10, 1))
    finish(turn.others[0])
    assert admit_again(reservation, PROMPT, build_usage(10, 1))
    assert reservation.output == 100


def test_a_prompt_of_hangul_holds_a_token_for_each_byte() -> None:
    assert len(TEXT.encode()) + UPPER.request + UPPER.message + len("user") == PROMPT


def test_a_prompt_holds_what_is_left_if_that_is_less(carol: User, model: ModelChoice) -> None:
    limit(PROMPT + MIN_OUTPUT)
    turn = ask(carol, model)
    assert account() == (0, PROMPT + MIN_OUTPUT)
    assert get_reservation(turn).affordable == MIN_OUTPUT


def test_a_refused_prompt_is_not_stored(carol: User, model: ModelChoice) -> None:
    limit(PROMPT + MIN_OUTPUT - 1)
    with pytest.raises(
        Refused,
        match=r"left of the \d+ tokens in total for everybody. This prompt may need up to",
    ):
        ask(carol, model)
    assert not Message.objects.exists()
    assert not Conversation.objects.exists()
    assert not BudgetHold.objects.exists()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "The limit of 0 tokens in total for everybody is used up. Ask an administrator"),
        ({"whom_to_ask": "Olive"}, "is used up. Ask Olive for more."),
        ({"is_each": True}, "Your limit of 0 tokens in total is used up."),
        ({"period": Period.DAY}, "a day for everybody is used up. Ask"),
        ({"period": Period.MONTH}, "a month for everybody is used up. Ask"),
        ({"measure": Measure.A_MINUTE}, "The limit of 0 replies a minute for everybody is used up"),
        ({"measure": Measure.AT_ONCE}, "Wait for a reply to finish, or stop one."),
        ({"model": MODEL}, f"in total for everybody with {MODEL} is used up."),
    ],
)
def test_a_refusal_names_the_limit(
    carol: User,
    gateway: Upstream,
    model: ModelChoice,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    fields: dict[str, object],
    sentence: str,
) -> None:
    settings.CHATAPP_TIME_ZONE = "Asia/Seoul"
    in_leap_years = datetime(2024, 2, 29, 10, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: in_leap_years)
    if "model" in fields:
        fields = {**fields, "upstream": gateway}
    limit(0, **fields)  # type: ignore[arg-type]
    with pytest.raises(Refused) as refused:
        ask(carol, model)
    assert sentence in str(refused.value)


def test_a_refusal_says_when_the_limit_resets(
    carol: User, model: ModelChoice, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CHATAPP_TIME_ZONE = "Asia/Seoul"
    now = datetime(2024, 2, 29, 10, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: now)
    for period, words in ((Period.DAY, "tomorrow"), (Period.MONTH, "tomorrow"), (Period.EVER, "")):
        daily_limit = limit(0, period=period)
        with pytest.raises(OverLimit) as refused:
            ask(carol, model)
        resets_at = refused.value.resets_at
        sentence = calendar.in_words(resets_at, now) if resets_at else ""
        assert sentence == (f"{words} at 00:00 (KST)" if words else "")
        daily_limit.delete()
    assert calendar.in_words(now, now) == "today at 19:00 (KST)"
    later = now + timedelta(days=3)
    assert calendar.in_words(later, now) == "on 3 March at 19:00 (KST)"


def test_a_refusal_does_not_ask_for_a_shorter_prompt_if_none_would_fit(
    carol: User, model: ModelChoice
) -> None:
    limit(MIN_OUTPUT - 1)
    with pytest.raises(OverLimit, match=r"for everybody. That is too little for an answer. Ask an"):
        ask(carol, model)


def test_no_figure_of_a_refusal_counts_bytes_or_what_running_replies_hold(
    carol: User, model: ModelChoice
) -> None:
    limit(PROMPT + WHOLE)
    finish(ask(carol, model))
    ask(carol, model)
    with pytest.raises(OverLimit) as refused:
        ask(carol, model)
    remaining = PROMPT + WHOLE - 30
    assert str(refused.value) == (
        f"{remaining:,} left of the {PROMPT + WHOLE:,} tokens in total for everybody. "
        "Running replies may need that: wait for one to finish, or stop one."
    )


def test_several_models_are_admitted_together_or_not_at_all(
    carol: User, gateway: Upstream, model: ModelChoice
) -> None:
    other = ModelChoice(gateway.pk, "other")
    limit(2 * WHOLE)
    turn = ask(carol, model, other)
    assert account() == (0, 2 * WHOLE)
    assert turn.reservation is not turn.others[0].reservation
    finish(turn)
    finish(turn.others[0])
    Limit.objects.update(cap=60 + 2 * (PROMPT + MIN_OUTPUT) - 1)
    with pytest.raises(Refused):
        ask(carol, model, other)
    assert account() == (60, 0)


def test_several_models_share_what_is_left(
    carol: User, gateway: Upstream, model: ModelChoice
) -> None:
    limit(3 * (PROMPT + 500))
    turn = ask(carol, model, ModelChoice(gateway.pk, "other"), ModelChoice(gateway.pk, "third"))
    purses = [get_reservation(asked_turn) for asked_turn in (turn, *turn.others)]
    assert [(purse.output, purse.affordable) for purse in purses] == [(500, 500)] * 3
    assert account() == (0, 3 * (PROMPT + 500))
    for asked_turn in (turn, *turn.others):
        finish(asked_turn)
    limit(PROMPT + 400, upstream=gateway, model="other")
    Limit.objects.filter(model="").update(cap=100_000)
    turn = ask(carol, model, ModelChoice(gateway.pk, "other"))
    purses = [get_reservation(asked_turn) for asked_turn in (turn, *turn.others)]
    assert [purse.output for purse in purses] == [OUTPUT, 400]


def test_a_limit_applies_only_to_the_people_and_models_it_names(
    carol: User, gateway: Upstream, model: ModelChoice
) -> None:
    team, others = Group.objects.create(name="team"), Group.objects.create(name="others")
    carol.groups.add(team)
    dave = User.objects.create_user("dave")
    elsewhere = Upstream.objects.create(name="Elsewhere", base_url="http://else/v1")
    free = [
        limit(0, user=dave),
        limit(0, group=others),
        limit(0, upstream=elsewhere),
        limit(0, upstream=gateway, model="dear"),
    ]
    finish(ask(carol, model))
    assert not BudgetAccount.objects.exists()
    for unrelated_limit in free:
        unrelated_limit.delete()
    for concerning in ({"user": carol}, {"group": team}, {"upstream": gateway}):
        mine = limit(0, **concerning)
        with pytest.raises(Refused):
            ask(carol, model)
        mine.delete()


def test_each_person_has_an_allowance_of_their_own(carol: User, model: ModelChoice) -> None:
    limit(WHOLE, is_each=True)
    ask(carol, model)
    ask(User.objects.create_user("dave"), model)
    with pytest.raises(Refused):
        ask(carol, model)
    assert BudgetAccount.objects.count() == 2


def test_an_each_person_limit_for_one_person_has_a_single_allowance(
    carol: User, model: ModelChoice
) -> None:
    limit(WHOLE, user=carol, is_each=True)
    ask(carol, model)
    assert BudgetAccount.objects.get().user is None


def test_the_tightest_of_several_limits_counts(carol: User, model: ModelChoice) -> None:
    limit(100_000, is_each=True)
    limit(PROMPT + 300, period=Period.DAY)
    turn = ask(carol, model)
    assert get_reservation(turn).output == 300
    assert {budget_account.held for budget_account in BudgetAccount.objects.all()} == {PROMPT + 300}


def test_money_is_held_at_the_models_price(
    carol: User, gateway: Upstream, model: ModelChoice
) -> None:
    store_price(gateway, 10, 40)
    limit(10 * PROMPT + 40 * 500, Measure.MONEY)
    turn = ask(carol, model)
    assert (get_reservation(turn).output, account()) == (500, (0, 10 * PROMPT + 40 * 500))
    finish(turn, 10, 20)
    assert account() == (10 * 10 + 20 * 40, 0)


def test_money_does_not_limit_a_model_without_a_price(carol: User, model: ModelChoice) -> None:
    limit(0, Measure.MONEY)
    turn = ask(carol, model)
    assert not get_reservation(turn).is_bounded
    finish(turn)
    assert account() == (0, 0)


def test_the_number_of_replies_at_once_is_limited(carol: User, model: ModelChoice) -> None:
    limit(2, Measure.AT_ONCE)
    first = ask(carol, model)
    ask(carol, model)
    with pytest.raises(Refused, match="2 replies at once"):
        ask(carol, model)
    finish(first)
    assert account() == (0, 1)
    ask(carol, model)


def test_the_number_of_replies_per_minute_is_limited(
    carol: User, model: ModelChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(2, Measure.A_MINUTE)
    now = timezone.now().replace(second=0)
    monkeypatch.setattr(timezone, "now", lambda: now)
    finish(ask(carol, model))
    finish(ask(carol, model))
    with pytest.raises(Refused, match="2 replies a minute"):
        ask(carol, model)
    now += timedelta(minutes=1)
    ask(carol, model)
    assert BudgetAccount.objects.get().spent == 1


def test_a_retry_is_admitted_like_a_prompt(carol: User, model: ModelChoice) -> None:
    limit(PROMPT + MIN_OUTPUT)
    turn = ask(carol, model)
    finish(turn)
    Limit.objects.update(cap=40)
    with pytest.raises(Refused):
        Retry(turn.reply.pk, model).store(carol, PROCESS_ID)
    Limit.objects.update(cap=10_000)
    retried = Retry(turn.reply.pk, model).store(carol, PROCESS_ID)
    assert account() == (30, get_reservation(retried).prompt + OUTPUT)


def test_neither_an_edit_nor_a_continuation_is_stored_beyond_a_limit(
    carol: User, model: ModelChoice
) -> None:
    limit(10_000)
    turn = ask(carol, model)
    end(turn.reply, build_reply("So."), Ending.STOPPED, build_usage(10, 20))
    Limit.objects.update(cap=40)
    message_count = Message.objects.count()
    for refused in (
        Edit("And how?", model, turn.conversation.pk, edited=turn.prompt.pk),
        Continuation(turn.reply.pk, model),
    ):
        with pytest.raises(OverLimit):
            refused.store(carol, PROCESS_ID)
    assert (Message.objects.count(), account()) == (message_count, (30, 0))


# Growing


def grow(reservation: Reservation) -> None:
    with reservations.reservation_transaction([reservation]):
        reservations.grow([reservation])


def test_more_is_held_once_over_half_is_used(carol: User, model: ModelChoice) -> None:
    limit(100_000)
    reservation = get_reservation(ask(carol, model))
    reservation.begin_request(None)
    reservation.written = OUTPUT // 2
    assert not reservation.wants_more
    reservation.written += 1
    assert reservation.wants_more
    grow(reservation)
    assert reservation.output == 2 * 1001 + OUTPUT
    assert account() == (0, PROMPT + reservation.output)
    assert not reservation.wants_more


def test_a_reply_that_gets_no_more_runs_until_its_hold_is_used(
    carol: User, model: ModelChoice
) -> None:
    limit(WHOLE + 10)
    reservation = get_reservation(ask(carol, model))
    reservation.begin_request(None)
    reservation.written = 1500
    grow(reservation)
    assert (reservation.output, reservation.was_refused, reservation.is_over) == (
        OUTPUT + 10,
        False,
        False,
    )
    grow(reservation)
    assert (reservation.output, reservation.was_refused, reservation.is_over) == (
        OUTPUT + 10,
        True,
        False,
    )
    reservation.written = OUTPUT + 10
    assert reservation.is_over
    assert account() == (0, WHOLE + 10)


def test_a_reply_continues_once_another_reply_leaves_some_budget(
    carol: User, model: ModelChoice
) -> None:
    limit(2 * WHOLE)
    other, reservation = ask(carol, model), get_reservation(ask(carol, model))
    reservation.begin_request(None)
    reservation.written = 1500
    grow(reservation)
    assert reservation.was_refused
    finish(other)
    grow(reservation)
    assert (reservation.was_refused, reservation.output) == (False, 2 * WHOLE - 30 - PROMPT)


def test_a_reply_that_keeps_to_max_tokens_is_not_ended_early(
    carol: User, model: ModelChoice
) -> None:
    limit(PROMPT + 200)
    reservation = get_reservation(ask(carol, model))
    reservation.begin_request(200)
    reservation.written = 1200  # bytes, for two hundred long words
    assert not reservation.wants_more
    assert not reservation.is_over
    reservation.written = 1601
    assert reservation.is_over


def test_a_removed_limit_no_longer_applies(carol: User, model: ModelChoice) -> None:
    limit(WHOLE)
    turn = ask(carol, model)
    reservation = get_reservation(turn)
    reservation.begin_request(None)
    reservation.written = 1500
    Limit.objects.all().delete()
    grow(reservation)
    assert (reservation.is_bounded, reservation.is_over, reservation.wants_more) == (
        False,
        False,
        False,
    )
    finish(turn)


def test_a_hold_that_could_not_be_saved_is_rolled_back(
    carol: User, model: ModelChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(2 * WHOLE)
    reservation = get_reservation(ask(carol, model))
    reservation.begin_request(None)
    reservation.written = 1500
    before = account()

    def fail(*_: object) -> None:
        raise OperationalError("away")

    with monkeypatch.context() as away:
        away.setattr(UPDATE_HELD, "run", fail)
        with pytest.raises(OperationalError):
            grow(reservation)
        with pytest.raises(OperationalError):
            admit_again(reservation, PROMPT + 100, build_usage(50, 60))
    assert (reservation.prompt, reservation.output, account()) == (PROMPT, OUTPUT, before)
    other = get_reservation(ask(carol, model))  # takes what is left
    grow(reservation)
    assert reservation.was_refused
    assert account() == (0, 2 * WHOLE)
    assert other.output == OUTPUT


@pytest.mark.usefixtures("one_minute")
@pytest.mark.parametrize("measure", [Measure.AT_ONCE, Measure.A_MINUTE])
def test_limits_on_the_number_of_replies_never_end_an_admitted_one(
    carol: User, model: ModelChoice, measure: Measure
) -> None:
    limit(100_000)
    limit(3, measure=measure)
    turns = [ask(carol, model) for _ in range(3)]
    Limit.objects.filter(measure=measure).update(cap=1)
    reservation = get_reservation(turns[0])
    reservation.begin_request(None)
    reservation.written = 1500
    grow(reservation)
    assert (reservation.was_refused, reservation.output) == (False, 2 * 1500 + OUTPUT)
    assert admit_again(reservation, PROMPT + 100, build_usage(50, 60))
    with pytest.raises(Refused):
        ask(carol, model)


def test_each_further_request_is_admitted_again(carol: User, model: ModelChoice) -> None:
    limit(WHOLE + 600)
    reservation = get_reservation(ask(carol, model))
    assert admit_again(reservation, PROMPT, Usage.empty())
    assert admit_again(reservation, PROMPT + 100, Usage.empty())  # with its tools
    assert account() == (0, WHOLE + 100)
    assert admit_again(reservation, PROMPT + 300, build_usage(50, 60))
    assert account() == (0, 110 + PROMPT + 300 + OUTPUT)
    assert not admit_again(reservation, WHOLE, build_usage(200, 360))
    assert account() == (0, 110 + PROMPT + 300 + OUTPUT)
