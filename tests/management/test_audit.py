"""`manage.py audit`: what it prints about the log."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from chatapp.models import AuditEvent, User, audit
from tests.support.tampering import tamper

pytestmark = pytest.mark.django_db


@pytest.fixture
def log(olive: User) -> list[AuditEvent]:
    with transaction.atomic():
        return [audit.record("backup.made", actor=olive) for _ in range(3)]


def output(*arguments: str) -> str:
    out = StringIO()
    call_command("audit", *arguments, stdout=out)
    return out.getvalue()


def test_an_empty_log_is_reported_as_empty() -> None:
    assert output("verify") == "The audit log is empty.\n"


def test_an_intact_log_is_reported_with_its_end(log: list[AuditEvent]) -> None:
    printed = output("verify")
    assert "The audit log is intact: 3 events, from 20" in printed
    assert f"It ends with 3:{log[-1].link}" in printed


def test_a_changed_event_is_named_and_fails(log: list[AuditEvent]) -> None:
    tamper("UPDATE chatapp_auditevent SET actor = 99 WHERE sequence = 2")
    with pytest.raises(CommandError, match="Event 2 was changed"):
        output("verify")


def test_removed_triggers_are_reported_and_created_again(log: list[AuditEvent]) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER chatapp_auditevent_changed")
        else:
            cursor.execute("ALTER TABLE chatapp_auditevent DISABLE TRIGGER chatapp_audit_kept")
    with pytest.raises(CommandError, match="would allow changes"):
        output("verify")
    call_command("migrate", verbosity=0)
    assert "The audit log is intact" in output("verify")


def test_earlier_ends_are_compared(log: list[AuditEvent]) -> None:
    assert "1 compared" in output("verify", f"--head=2:{log[1].link}")
    with pytest.raises(CommandError, match="its end was cut off"):
        output("verify", f"--head=9:{log[1].link}")
    for nonsense in ("", "x", "3", "3:ab", "-1:" + "0" * 64):
        with pytest.raises(CommandError):
            output("verify", f"--head={nonsense}")


@pytest.mark.django_db(transaction=True)
def test_the_end_in_a_backup_is_compared(log: list[AuditEvent], tmp_path: Path) -> None:
    file = tmp_path / "backup.zip"
    call_command("backup", str(file), stdout=StringIO(), stderr=StringIO())
    assert AuditEvent.objects.first().action == "backup.made"  # type: ignore[union-attr]
    assert "1 compared" in output("verify", f"--backup={file}")
    tamper("DELETE FROM chatapp_auditevent WHERE sequence = 4")
    tamper("DELETE FROM chatapp_auditdetail WHERE event_id = 4")
    tamper("DELETE FROM chatapp_audithead")
    with transaction.atomic():
        audit.record("person.signed_out", actor=None)
    with pytest.raises(CommandError, match="Event 4 is not the same"):
        output("verify", f"--backup={file}")


def test_accounts_created_in_the_terminal_are_recorded(
    monkeypatch: pytest.MonkeyPatch, olive: User
) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "correct horse battery")
    options = {"username": "otto", "email": "o@example.org", "interactive": False}
    call_command("createsuperuser", **options, stdout=StringIO())
    added = AuditEvent.objects.get(action="person.added")
    assert (added.actor, added.person) == (None, User.objects.get(username="otto").pk)
    assert added.detail.values["after"] == {"is_staff": True, "is_superuser": True, "reviews": True}
    monkeypatch.setattr("getpass.getpass", lambda prompt: "some new words of olive")
    call_command("changepassword", "olive", stdout=StringIO())
    changed = AuditEvent.objects.get(action="password.changed")
    assert (changed.actor, changed.person) == (None, olive.pk)


def test_the_export_has_a_line_per_event(log: list[AuditEvent]) -> None:
    lines = [json.loads(line) for line in output("export").splitlines()]
    assert [event["action"] for event in lines] == ["backup.made"] * 3 + ["log.exported"]
    assert lines[0]["detail"] is None
    lines = [json.loads(line) for line in output("export", "--after=3").splitlines()]
    assert [event["sequence"] for event in lines] == [4, 5]


def test_pruning_reports_what_it_deleted(log: list[AuditEvent]) -> None:
    assert "no events before" in output("prune", "--before=2020-01-01")
    assert "Deleted 3 events, up to number 3" in output("prune", "--before=2999-01-01")
    assert "1 event, from 20" in output("verify")
    with pytest.raises(CommandError, match="not a day"):
        output("prune", "--before=yesterday")
