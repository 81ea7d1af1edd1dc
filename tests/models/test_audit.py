"""The audit log: its hash chain, detecting tampering, erasing details and pruning events."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.utils import timezone
from pytest_django import Settings

from chatapp.models import AuditDetail, AuditEvent, AuditHead, Conversation, Upstream, User, audit
from chatapp.models.audit import keys, verifying
from tests.support.clock import HOUR, Step
from tests.support.tampering import tamper

LATER = timedelta(days=1)


@pytest.fixture
def dora(db: None) -> User:
    """An administrator."""
    return User.objects.create_user("dora", is_staff=True, is_superuser=True)


@pytest.fixture
def five(dora: User, carol: User) -> list[AuditEvent]:
    """A log of five events."""
    with transaction.atomic():
        return [
            audit.record("person.signed_in", actor=dora, about=dora, detail={"ip": "10.0.0.1"}),
            audit.record("person.changed", actor=dora, about=carol, detail={"before": {"a": 1}}),
            audit.record("backup.made", actor=None),
            audit.record("role.changed", actor=dora, about=carol, detail={"after": {"a": 2}}),
            audit.record("person.signed_out", actor=dora, about=dora),
        ]


def expect_broken() -> str:
    """Verify the log, which must fail, and return the reason."""
    with pytest.raises(audit.Broken) as caught:
        audit.verify()
    return str(caught.value)


# What is recorded


def test_an_event_stores_ids_and_its_detail_names_nobody(
    five: list[AuditEvent], dora: User, carol: User
) -> None:
    event = AuditEvent.objects.get(sequence=2)
    assert (event.action, event.actor, event.target_type, event.target, event.person) == (
        "person.changed",
        dora.pk,
        "user",
        str(carol.pk),
        carol.pk,
    )
    assert event.detail.values == {"before": {"a": 1}}
    assert AuditEvent.objects.get(sequence=1).detail.values == {"ip": "10.0.0.1"}


def test_an_event_about_a_conversation_contains_none_of_its_text(
    dora: User, conversation: Conversation
) -> None:
    with transaction.atomic():
        event = audit.record("conversation.opened", actor=dora, about=conversation)
    assert (event.target, event.person) == (str(conversation.pk), conversation.user_id)
    assert not AuditDetail.objects.filter(event=event).exists()


def test_recording_an_unknown_action_raises_an_error(dora: User) -> None:
    with pytest.raises(ValueError, match="not an action"):
        audit.record("person.teleported", actor=dora)


@pytest.mark.django_db(transaction=True)
def test_recording_outside_a_transaction_raises_an_error() -> None:
    with pytest.raises(TransactionManagementError):
        audit.record("backup.made", actor=None)
    assert not AuditEvent.objects.exists()


def test_an_event_is_rolled_back_with_its_transaction(five: list[AuditEvent], dora: User) -> None:
    with transaction.atomic():
        audit.record("person.changed", actor=dora)
        transaction.set_rollback(True)
    assert audit.verify().events == 5


@pytest.mark.parametrize(
    "text", ["\0", "\ud800 alone", "x" * 10_000_000, "<script>alert(1)</script>", "\u202e" * 5000]
)
def test_hostile_text_in_a_detail_is_truncated_and_stored_safely(dora: User, text: str) -> None:
    detail: dict[str, object] = {"login": text, text[:9]: [text] * 3, "deep": {"er": {text: text}}}
    with transaction.atomic():
        audit.record("person.sign_in_failed", actor=None, detail=detail)
    audit_detail = AuditDetail.objects.get()
    assert len(audit_detail.content) < 150_000
    assert "\0" not in json.dumps(audit_detail.values, ensure_ascii=False).encode().decode()
    assert audit.verify().events == 1


def test_a_deeply_nested_or_very_long_detail_is_truncated(dora: User) -> None:
    deep: object = "end"
    for _ in range(50):
        deep = {"in": deep}
    with transaction.atomic():
        audit.record("person.changed", actor=dora, detail={"deep": deep, "wide": range(10**5)})
    assert len(AuditDetail.objects.get().content) < 10_000


# The chain


def test_an_untouched_log_verifies(five: list[AuditEvent]) -> None:
    verdict = audit.verify()
    assert (verdict.events, verdict.erased, verdict.old_keys) == (5, 0, 0)
    assert (verdict.first, verdict.last) == (five[0], five[-1])
    assert verdict.head == audit.read_head() == (5, five[-1].link)


def test_an_empty_log_verifies(db: None) -> None:
    assert audit.verify().events == 0
    assert audit.read_head().sequence == 0


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE chatapp_auditevent SET actor = 99 WHERE sequence = 2", "Event 2 was changed"),
        ("UPDATE chatapp_auditevent SET at = '2020-01-01' WHERE sequence = 1", "Event 1 was"),
        ("UPDATE chatapp_auditevent SET action = 'x' WHERE sequence = 5", "Event 5 was changed"),
        ("UPDATE chatapp_auditevent SET target = '9' WHERE sequence = 4", "Event 4 was changed"),
        ("UPDATE chatapp_auditevent SET person = NULL WHERE sequence = 4", "Event 4 was changed"),
        ("UPDATE chatapp_auditevent SET detail_hash = '' WHERE sequence = 1", "Event 1 was"),
        ("UPDATE chatapp_auditevent SET key = 'other' WHERE sequence = 2", "Event 3 does not"),
        ("UPDATE chatapp_auditevent SET key = 'other' WHERE sequence = 5", "The log's head says"),
        ("DELETE FROM chatapp_auditevent WHERE sequence = 3", "After event 2"),
        ("DELETE FROM chatapp_auditevent WHERE sequence = 1", "begins with event 2"),
        ("DELETE FROM chatapp_auditevent WHERE sequence = 5", "event 5 is the last one"),
        ("DELETE FROM chatapp_auditevent", "event 5 is the last one"),
        ("DELETE FROM chatapp_audithead", "head is missing"),
        ("UPDATE chatapp_audithead SET sequence = 4", "head was changed"),
        ("UPDATE chatapp_audithead SET pruned_to = 2", "head was changed"),
        ("UPDATE chatapp_auditdetail SET content = '{}' WHERE event_id = 2", "detail of event 2"),
        ("UPDATE chatapp_auditdetail SET salt = 'ab' WHERE event_id = 4", "detail of event 4"),
        (
            "UPDATE chatapp_auditdetail SET content = '', salt = '' WHERE event_id = 4",
            "nobody was erased",
        ),
        ("DELETE FROM chatapp_auditdetail WHERE event_id = 2", "detail of event 2 is missing"),
        (
            "UPDATE chatapp_auditdetail SET event_id = 7 - event_id WHERE event_id IN (3, 4)",
            "detail of event 3 was changed",
        ),
    ],
)
def test_tampering_is_detected(five: list[AuditEvent], statement: str, reason: str) -> None:
    tamper(statement)
    assert reason in expect_broken()


def test_swapping_events_is_detected(five: list[AuditEvent]) -> None:
    for old, now in ((2, 99), (4, 2), (99, 4)):
        tamper("UPDATE chatapp_auditevent SET sequence = %s WHERE sequence = %s", now, old)
        tamper("UPDATE chatapp_auditdetail SET event_id = %s WHERE event_id = %s", now, old)
    assert "Event 2" in expect_broken()


def test_changing_an_event_and_the_link_after_it_is_detected(five: list[AuditEvent]) -> None:
    tamper("UPDATE chatapp_auditevent SET actor = 99 WHERE sequence = 2")
    link = AuditEvent.objects.get(sequence=2).link
    tamper("UPDATE chatapp_auditevent SET previous = %s WHERE sequence = 3", link)
    assert "Event 2 was changed" in expect_broken()


def test_cutting_off_the_tail_and_the_head_is_detected_with_a_known_head(
    dora: User, five: list[AuditEvent]
) -> None:
    earlier = AuditHead.objects.get()
    with transaction.atomic():
        audit.record("role.changed", actor=dora)
    head = audit.read_head()
    tamper("DELETE FROM chatapp_auditevent WHERE sequence = 6")
    tamper("DELETE FROM chatapp_auditdetail WHERE event_id = 6")
    earlier.save()
    assert audit.verify().events == 5  # the remaining log shows no trace of it
    with pytest.raises(audit.Broken, match="its end was cut off"):
        audit.verify([head])
    with transaction.atomic():
        audit.record("person.signed_out", actor=dora)
    with pytest.raises(audit.Broken, match="Event 6 is not the same"):
        audit.verify([head])


def test_a_log_verifies_against_earlier_heads(five: list[AuditEvent]) -> None:
    verdict = audit.verify([audit.Head(3, five[2].link), audit.Head(0, "0" * 64)])
    assert verdict.events == 5


def test_recording_after_the_head_was_deleted_leaves_a_resumed_event(
    dora: User, five: list[AuditEvent]
) -> None:
    tamper("DELETE FROM chatapp_audithead")
    with transaction.atomic():
        audit.record("person.signed_out", actor=dora)
    assert audit.verify().events == 7
    resumed = AuditEvent.objects.get(sequence=6)
    assert (resumed.action, resumed.target) == ("log.resumed", "5")


# Keys


def test_the_signing_key_is_derived_from_the_secret_key(settings: Settings) -> None:
    first = keys.load_signing_key()
    settings.SECRET_KEY += "!"
    assert keys.load_signing_key() != first
    assert settings.SECRET_KEY.encode() not in first.secret


def test_after_a_rotation_events_verify_with_and_without_the_old_key(
    five: list[AuditEvent], dora: User, settings: Settings
) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "a new one, which is as long as it should be"
    assert audit.verify().old_keys == 0
    with transaction.atomic():
        audit.record("secrets.rotated", actor=None)
    settings.SECRET_KEY_FALLBACKS = []
    verdict = audit.verify()
    assert (verdict.events, verdict.old_keys) == (6, 5)
    tamper("UPDATE chatapp_auditevent SET actor = 99 WHERE sequence = 2")
    assert "Event 3 does not match" in expect_broken()


def test_a_log_signed_only_by_an_unknown_key_is_not_trusted(
    five: list[AuditEvent], settings: Settings
) -> None:
    settings.SECRET_KEY = "another one, which is as long as it should be"
    assert "unknown key" in expect_broken()


# Erasing


def test_erasing_a_person_empties_details_and_the_chain_still_verifies(
    five: list[AuditEvent], dora: User, carol: User
) -> None:
    with transaction.atomic():
        audit.forget(carol.pk, dora)
    assert audit.verify().erased == 2
    emptied_detail = AuditDetail.objects.get(pk=2)
    assert emptied_detail.is_erased
    assert emptied_detail.values == {}
    assert "carol" not in "".join(AuditDetail.objects.values_list("content", flat=True))
    erased = AuditEvent.objects.get(sequence=6)
    assert (erased.action, erased.actor, erased.person) == ("person.erased", dora.pk, carol.pk)


def test_a_person_who_erases_themselves_is_named_nowhere(
    five: list[AuditEvent], dora: User
) -> None:
    with transaction.atomic():
        audit.forget(dora.pk, dora)
    contents = "".join(AuditDetail.objects.values_list("content", flat=True))
    assert "dora" not in contents
    assert "10.0.0.1" not in contents
    assert audit.verify().events == 6


def test_details_of_an_erased_persons_actions_on_others_are_kept(
    five: list[AuditEvent], dora: User
) -> None:
    with transaction.atomic():
        audit.record("installation.changed", actor=dora, detail={"after": {"title": "x"}})
        audit.forget(dora.pk, dora)
    filled = AuditDetail.objects.exclude(content="").values_list("event", flat=True)
    assert sorted(filled) == [2, 4]
    assert AuditDetail.objects.get(pk=2).values == {"before": {"a": 1}}
    assert audit.verify().erased == 2


def test_erasing_empties_details_of_older_versions_that_name_the_actor(
    five: list[AuditEvent], dora: User, carol: User
) -> None:
    with transaction.atomic():
        detail = {"actor": "dora", "reason": "A matter"}
        audit.record("conversation.opened", actor=dora, about=carol, detail=detail)
        detail = {"reason": 'Of "actor": nobody'}
        audit.record("conversation.opened", actor=dora, about=carol, detail=detail)
        audit.forget(dora.pk, None)
    assert AuditDetail.objects.get(pk=6).is_erased
    assert AuditDetail.objects.get(pk=7).values["reason"] == 'Of "actor": nobody'
    audit.verify()


def test_erasing_empties_details_of_older_versions_that_name_a_limits_former_owner(
    five: list[AuditEvent], dora: User, carol: User
) -> None:
    with transaction.atomic():
        change = {"before": {"user": "carol"}, "after": {"user": "dora"}}
        of_both = audit.record("limit.changed", actor=dora, about=dora, detail=change)
        change = {"before": {"user": "caroline"}, "after": {"user": "dora"}}
        of_other = audit.record("limit.changed", actor=dora, about=dora, detail=change)
        sign_out = audit.record("person.signed_out", actor=None, detail={"actor": "eve"})
        audit.forget(carol.pk, dora, name="carol")
    empty = AuditDetail.objects.filter(content="").values_list("event", flat=True)
    assert {of_both.pk, sign_out.pk} <= set(empty)
    assert of_other.pk not in empty
    emptied = AuditEvent.objects.filter(action="detail.emptied").values_list("target", flat=True)
    assert sorted(emptied) == [str(of_both.pk), str(sign_out.pk)]
    audit.verify()
    tamper("UPDATE chatapp_auditdetail SET content = '', salt = '' WHERE event_id = %s", 7)
    assert f"The detail of event {of_other.pk} is empty" in expect_broken()


@pytest.mark.parametrize("role", ["actor", "person"])
def test_an_event_after_the_erasure_has_no_detail(dora: User, carol: User, role: str) -> None:
    """For example, of a request that was still running when the person was erased."""
    erased_person = User.objects.get(pk=carol.pk)
    with transaction.atomic():
        carol.delete()
        audit.forget(erased_person.pk, dora)
        about = erased_person if role == "person" else None
        actor = erased_person if role == "actor" else dora
        event = audit.record("sessions.ended", actor=actor, about=about, detail={"ip": "10.0.0.1"})
    assert (erased_person.pk in (event.actor, event.person), event.detail_hash) == (True, "")
    assert not AuditDetail.objects.filter(event=event).exists()
    audit.verify()


def test_an_erased_administrator_is_named_nowhere_in_the_erasures_they_made(
    five: list[AuditEvent], dora: User, carol: User
) -> None:
    with transaction.atomic():
        audit.forget(carol.pk, dora, {"rows": {"chatapp.User": 1}})
        audit.forget(dora.pk, None)
    assert AuditDetail.objects.get(pk=6).values == {"rows": {"chatapp.User": 1}}
    assert "dora" not in "".join(AuditDetail.objects.values_list("content", flat=True))
    audit.verify()


def test_an_erasure_during_verification_breaks_nothing(
    five: list[AuditEvent], dora: User, carol: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = verifying.events_between

    def erased_meanwhile(after: int, last: int) -> object:
        with transaction.atomic():
            audit.forget(carol.pk, dora)
        return events(after, last)

    monkeypatch.setattr(verifying, "events_between", erased_meanwhile)
    assert audit.verify().erased == 2


# Pruning


def test_pruning_leaves_an_event_and_the_chain_continues(
    dora: User, five: list[AuditEvent], clock: Step
) -> None:
    tamper("UPDATE chatapp_auditevent SET at = '2020-01-01' WHERE sequence <= 3")
    pruned = audit.prune(timezone.now() - LATER)
    assert (pruned.events, pruned.to) == (3, 3)
    verdict = audit.verify()
    assert (verdict.events, verdict.first and verdict.first.sequence) == (3, 4)
    last = AuditEvent.objects.get(sequence=6)
    assert (last.action, last.target) == ("log.pruned", "3")
    assert not AuditDetail.objects.filter(event_id__lte=3).exists()


def test_the_whole_log_can_be_pruned_repeatedly(dora: User, five: list[AuditEvent]) -> None:
    assert audit.prune(timezone.now() + LATER).to == 5
    assert audit.verify().events == 1
    assert audit.prune(timezone.now() + LATER).to == 6
    assert audit.verify().events == 1
    assert audit.prune(timezone.now() - LATER).events == 0
    tamper("DELETE FROM chatapp_auditevent WHERE sequence = 7")
    expect_broken()


def test_pruning_stops_at_the_first_recent_event_even_if_later_ones_look_old(
    five: list[AuditEvent],
) -> None:
    tamper("UPDATE chatapp_auditevent SET at = '2020-01-01' WHERE sequence IN (1, 3)")
    assert audit.prune(timezone.now() - LATER).to == 1


def test_deleting_the_first_events_without_pruning_is_detected(five: list[AuditEvent]) -> None:
    audit.prune(timezone.now() - LATER)
    tamper("DELETE FROM chatapp_auditevent WHERE sequence = 1")
    assert "begins with event 2" in expect_broken()


def test_an_empty_log_has_nothing_to_prune(db: None) -> None:
    assert audit.prune(timezone.now()).events == 0


# The database refuses


def assert_refused(statement: str) -> None:
    """Assert that the database refuses this statement; the log must have five events."""
    with (
        pytest.raises(DatabaseError, match="only grows"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert audit.verify().events == 5


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE chatapp_auditevent SET actor = 99 WHERE sequence = 2",
        "DELETE FROM chatapp_auditevent WHERE sequence = 2",
        "DELETE FROM chatapp_auditevent",
        "UPDATE chatapp_auditdetail SET content = '{}' WHERE event_id = 2",
        "UPDATE chatapp_auditdetail SET content = '', salt = '', event_id = 9 WHERE event_id = 2",
        "DELETE FROM chatapp_auditdetail WHERE event_id = 2",
    ],
)
def test_the_database_refuses_to_change_the_log(five: list[AuditEvent], statement: str) -> None:
    assert_refused(statement)


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no TRUNCATE")
@pytest.mark.parametrize("table", ["chatapp_auditevent", "chatapp_auditdetail"])
def test_postgresql_refuses_to_empty_the_log(five: list[AuditEvent], table: str) -> None:
    assert_refused(f"TRUNCATE {table} CASCADE")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no REPLACE")
@pytest.mark.parametrize(
    "statement",
    [
        "REPLACE INTO chatapp_auditevent SELECT * FROM chatapp_auditevent",
        "REPLACE INTO chatapp_auditdetail SELECT * FROM chatapp_auditdetail",
    ],
)
def test_sqlite_refuses_to_replace_an_event(five: list[AuditEvent], statement: str) -> None:
    assert_refused(statement)


# Several at once

Work = Callable[[int], None]


@pytest.mark.django_db(transaction=True)
def test_events_recorded_concurrently_form_one_chain(gateway: Upstream) -> None:
    begin = Barrier(4)

    def append_some(number: int) -> None:
        begin.wait()
        try:
            for turn in range(10):
                with transaction.atomic():
                    Upstream.objects.create(name=f"{number} {turn}", base_url="http://gw/v1")
                    audit.record("upstream.added", actor=None, detail={"turn": turn})
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(append_some, range(4)))
    assert audit.verify().events == 40


@pytest.mark.django_db(transaction=True)
def test_a_clock_that_steps_back_breaks_nothing(
    five: list[AuditEvent], dora: User, clock: Step
) -> None:
    clock(-HOUR)
    with transaction.atomic():
        audit.record("person.signed_out", actor=dora)
    assert audit.verify().events == 6
