"""The sums that the database maintains always equal the ledger's, whatever happens to it."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from io import StringIO
from uuid import UUID, uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from chatapp.models import DailyUsage, Message, MonthlyUsage, Upstream, Usage, User
from chatapp.models.billing import rollup
from chatapp.models.billing.daily_usage import SUMS
from chatapp.models.platform.calendar import get_day
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Ending
from tests.models.conversations.test_ledger import BOOKED_BY_AN_OLD_PROCESS
from tests.models.conversations.test_ledger import (
    build_insert_statements as stored_by_an_old_process,
)
from tests.support.live import Site, execute, run
from tests.support.profile import choose_size
from tests.support.stored import MODEL, begin_turn, build_reply, end, new_conversation

pytestmark = pytest.mark.django_db

PEOPLE = ("alice", "bob", "carol")


def sum_in_python(
    rows: Iterable[Usage], is_monthly: bool = False
) -> dict[tuple[object, ...], Counter[str]]:
    """Add the ledger's rows up in Python, independently of the database's triggers."""
    sums_by_key: dict[tuple[object, ...], Counter[str]] = {}
    for row in rows:
        if row.day is None:
            continue
        day = row.day.replace(day=1) if is_monthly else row.day
        sums = sums_by_key.setdefault(
            (day, row.user_id or 0, row.upstream_name, row.model), Counter()
        )
        prompt, completion = row.prompt_tokens or 0, row.completion_tokens or 0
        is_estimated = row.provenance == "estimated"
        has_speed = None not in (row.first_token_ms, row.duration_ms, row.completion_tokens)
        if has_speed and (took := (row.duration_ms or 0) - (row.first_token_ms or 0)) >= 250:
            sums.update(written_tokens=completion, written_ms=took)
        sums.update(
            booked=1,
            replies=row.kind == "reply",
            requests=row.kind == "api",
            prompt_tokens=prompt,
            cached_tokens=row.cached_tokens or 0,
            completion_tokens=completion,
            reasoning_tokens=row.reasoning_tokens or 0,
            estimated_tokens=(prompt + completion) * is_estimated,
            unknown=row.provenance == "unknown",
            cost=row.cost or 0,
            estimated_cost=(row.cost or 0) * is_estimated,
            unpriced=row.cost is None,
            with_fees=row.cost is not None and (row.extra_fees or 0) > 0,
            complete=row.ending == "complete",
            stopped=row.ending in ("stopped", "abandoned"),
            limited=row.ending
            in ("length", "content_filter", "refused", "no_answer", "over_budget"),
            failed=row.ending in ("failed", "cut_off", "timed_out", "interrupted"),
            timed=row.first_token_ms is not None,
            first_token_ms=row.first_token_ms or 0,
        )
    return sums_by_key


def expect_sums_match() -> None:
    for table, is_monthly in ((DailyUsage, False), (MonthlyUsage, True)):
        stored_sums = {
            (row.day, row.person, row.upstream_name, row.model): Counter(
                {name: getattr(row, name) for name in SUMS}
            )
            for row in table.objects.all()
        }
        assert stored_sums == sum_in_python(Usage.objects.all(), is_monthly)
    assert rollup.differences() == []


@dataclass(frozen=True)
class Booking:
    """A ledger row. There are few messages, so that most are booked more than once."""

    message: int
    person: str
    gateway: str
    model: str
    day: int
    kind: str
    provenance: str
    ending: str
    counts: Sequence[int | None]

    def row(self, message: UUID, people: dict[str, int], gateways: dict[str, int]) -> Usage:
        names = "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"
        names += "cost", "first_token_ms", "duration_ms", "extra_fees"  # type: ignore[assignment]
        moment = datetime(2026, 1, self.day, 12, tzinfo=UTC)
        return Usage(
            message_id=message,
            user_id=people[self.person],
            upstream_id=gateways[self.gateway],
            upstream_name=self.gateway,
            model=self.model,
            booked_at=moment,
            day=get_day(moment),
            kind=self.kind,
            provenance=self.provenance,
            ending=self.ending if self.kind != "title" else "",
            **dict(zip(names, self.counts, strict=True)),
        )


Step = str | list[Booking]
count = st.none() | st.integers(0, 10**12)
bookings = st.builds(
    Booking,
    message=st.integers(1, 5),
    person=st.sampled_from(PEOPLE),
    gateway=st.sampled_from(["East", "West"]),
    model=st.sampled_from(["m", "Ω"]),
    day=st.sampled_from([1, 2, 31]),
    kind=st.sampled_from(["reply", "api", "title"]),
    provenance=st.sampled_from(list(Usage.Provenance)),
    ending=st.sampled_from(list(Ending)),
    counts=st.tuples(*[count] * 8),
)
steps = st.one_of(
    st.lists(bookings, min_size=1, max_size=4),
    st.sampled_from(["erase alice", "erase bob", "lose East", "delete 1", "delete 2"]),
)


@dataclass(frozen=True)
class Walk:
    """The steps of a thread, one transaction each.

    A message that is booked again belongs to this thread, as the lock of a message's row ensures.
    Messages that are booked together are new.
    """

    thread: int
    people: dict[str, int]
    gateways: dict[str, int]

    def run_steps(self, steps: Sequence[Step]) -> None:
        try:
            for step in steps:
                with transaction.atomic():
                    self.book(step) if isinstance(step, list) else self.lose(*step.split())
        finally:
            connection.close()

    def book(self, bookings: list[Booking]) -> None:
        messages = [uuid4() for _ in bookings]
        if len(bookings) == 1:
            messages = [self.own(bookings[0].message)]
        pairs = zip(bookings, messages, strict=True)
        Usage.book(booking.row(message, self.people, self.gateways) for booking, message in pairs)

    def lose(self, what: str, name: str) -> None:
        if what == "erase":
            User.objects.filter(username=name).delete()
        elif what == "lose":
            Upstream.objects.filter(name=name).delete()
        else:
            Usage.objects.filter(pk=self.own(int(name))).delete()

    def own(self, message: int) -> UUID:
        return UUID(int=10 * self.thread + message)


@pytest.mark.django_db(transaction=True)
@given(st.lists(st.lists(steps, max_size=6), min_size=1, max_size=3))
@settings(
    max_examples=choose_size(8, 50),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_the_sums_match_while_threads_book_delete_and_erase(
    db: None, threads: list[list[Step]]
) -> None:
    for table in (Usage, DailyUsage, MonthlyUsage, User, Upstream):
        table._default_manager.all().delete()
    people = {name: User.objects.create_user(name).pk for name in PEOPLE}
    gateways = {
        name: Upstream.objects.create(name=name, base_url="http://gw/v1").pk
        for name in ("East", "West")
    }

    with ThreadPoolExecutor(3) as pool:
        walks = [Walk(number, people, gateways) for number in range(len(threads))]
        list(pool.map(Walk.run_steps, walks, threads))
    expect_sums_match()


# Booked by the app


@pytest.fixture
def reply(alice: User, gateway: Upstream) -> Message:
    _, reply = begin_turn(new_conversation(alice), gateway, "Why?")
    reply.time_to_first_token, reply.duration = 0.25, 2.25
    end(
        reply,
        build_reply("So."),
        usage=Usage.from_tokens(Usage.Provenance.REPORTED, TokenUsage(12, 18, 30)),
    )
    return reply


@pytest.fixture
def gateway(db: None) -> Upstream:
    return Upstream.objects.create(name="Gateway", base_url="http://gw/v1")


def test_a_reply_counts_with_its_ending_waiting_time_and_speed(reply: Message, alice: User) -> None:
    row = DailyUsage.objects.get()
    assert (row.person, row.upstream_name, row.model) == (alice.pk, "Gateway", MODEL)
    assert (row.booked, row.replies, row.complete, row.unpriced) == (1, 1, 1, 1)
    assert (row.prompt_tokens, row.completion_tokens, row.estimated_tokens) == (12, 18, 0)
    assert (row.timed, row.first_token_ms, row.written_tokens, row.written_ms) == (1, 250, 18, 2000)
    expect_sums_match()


def test_a_reply_in_one_piece_has_no_speed(alice: User, gateway: Upstream) -> None:
    _, reply = begin_turn(new_conversation(alice), gateway, "Why?")
    reply.time_to_first_token, reply.duration = 2.0, 2.04
    counted = Usage.from_tokens(Usage.Provenance.REPORTED, TokenUsage(12, 5000, 5012))
    end(reply, build_reply("So."), usage=counted)
    row = DailyUsage.objects.get()
    assert (row.timed, row.first_token_ms, row.written_tokens, row.written_ms) == (1, 2000, 0, 0)
    expect_sums_match()


def test_a_reply_orphaned_by_its_process_counts_as_failed(alice: User, gateway: Upstream) -> None:
    begin_turn(new_conversation(alice), gateway, "Why?")
    assert Message.objects.interrupt_orphans() == 1
    row = DailyUsage.objects.get()
    assert (row.failed, row.replies, row.estimated_tokens > 0) == (1, 1, True)
    expect_sums_match()


def test_the_usage_of_an_erased_person_is_kept_without_them(reply: Message, alice: User) -> None:
    alice.delete()
    assert [(row.person, row.replies) for row in DailyUsage.objects.all()] == [(0, 1)]
    expect_sums_match()


def test_days_are_in_the_installations_time_zone(settings: Settings) -> None:
    settings.CHATAPP_TIME_ZONE = "Pacific/Auckland"
    assert get_day(datetime(2026, 1, 31, 23, tzinfo=UTC)) == date(2026, 2, 1)


# The commands


def usage_command(*words: str) -> str:
    out = StringIO()
    call_command("usage", *words, stdout=out)
    return out.getvalue()


def test_verify_says_that_the_sums_match(reply: Message) -> None:
    assert "The sums are correct: 1 row of the ledger" in usage_command("verify")


@pytest.mark.parametrize("changed", ["deleted", "changed", "invented"])
def test_verify_finds_wrong_sums_and_rebuild_corrects_them(reply: Message, changed: str) -> None:
    row = DailyUsage.objects.get()
    if changed == "deleted":
        row.delete()
    else:
        row.pk, row.prompt_tokens = row.pk if changed == "changed" else None, 13
        row.person += changed == "invented"
        row.save()
    with pytest.raises(CommandError, match=r"dailyusage: .*Gateway"):
        usage_command("verify")
    usage_command("rebuild")
    assert "The sums are correct" in usage_command("verify")
    expect_sums_match()


def test_verify_asks_for_a_rebuild_after_a_change_of_time_zone(
    reply: Message, settings: Settings
) -> None:
    moment = datetime(2026, 1, 31, 23, tzinfo=UTC)
    Usage.objects.update(booked_at=moment, day=get_day(moment))
    settings.CHATAPP_TIME_ZONE = "Europe/Berlin"
    with pytest.raises(CommandError, match=r"1 row of the ledger .*another time zone"):
        usage_command("verify")
    usage_command("rebuild")
    assert DailyUsage.objects.get().day == date(2026, 2, 1)
    assert MonthlyUsage.objects.get().day == date(2026, 2, 1)


# Upgrades

SUMMED = """
import django, json; django.setup()
from chatapp.models import DailyUsage, ledger
from chatapp.models.billing import rollup
while ledger.complete():
    pass
rows = DailyUsage.objects.values_list("person", "upstream_name", "replies", "complete")
print(json.dumps([rollup.differences(), rollup.count_misdated(), [list(one) for one in rows]]))
"""


def test_migrating_rebuilds_sums_that_an_older_version_computed_differently(reply: Message) -> None:
    of = " ON chatapp_usage" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER chatapp_usage_update{of}")
    DailyUsage.objects.update(written_tokens=10**6)
    call_command("migrate", verbosity=0)
    expect_sums_match()
    Usage.objects.update(completion_tokens=20)
    assert DailyUsage.objects.get().written_tokens == 20
    expect_sums_match()


@pytest.mark.thorough
def test_earlier_bookings_and_those_of_old_processes_enter_the_sums(site: Site) -> None:
    environment = site.missing_installation()
    run(environment, "manage.py", "migrate", "--verbosity", "0", "chatapp", "0021")
    execute(environment, *stored_by_an_old_process(1, 1, 2), BOOKED_BY_AN_OLD_PROCESS.format(1, 10))
    run(environment, "manage.py", "migrate", "--verbosity", "0")
    assert json.loads(run(environment, "-c", SUMMED).stdout)[2] == [[1, "Gateway 1", 1, 1]]
    execute(environment, *(BOOKED_BY_AN_OLD_PROCESS.format(number, 20) for number in (1, 2)))
    assert json.loads(run(environment, "-c", SUMMED).stdout) == [[], 0, [[1, "Gateway 1", 2, 2]]]
    run(environment, "manage.py", "migrate", "--verbosity", "0", "chatapp", "0021")
    execute(environment, BOOKED_BY_AN_OLD_PROCESS.format(2, 30))
