"""Two simultaneous requests: the second gets a form error, as if the first had been long before."""

from collections.abc import Callable
from typing import Any

import pytest
from django import forms
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection
from django.test import Client

from chatapp.db.retry import retry_on_integrity_error
from chatapp.models import AuditEvent, ReviewLabel, ReviewRule, ToolServer, User
from chatapp.staff.people.forms import GroupForm, InvitationForm
from chatapp.staff.people.log import record
from chatapp.staff.review.rules.labels import LabelForm
from chatapp.staff.review.rules.rule_forms import RuleForm
from chatapp.staff.tool_servers.forms import ServerForm
from tests.staff.review.test_rules import WORDS, read_seal

pytestmark = pytest.mark.django_db

Meanwhile = Callable[[type[forms.BaseForm], Callable[[], object]], None]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Return a function that makes something happen right after a form of a class was checked."""

    def meanwhile(kind: type[forms.BaseForm], happens: Callable[[], object]) -> None:
        check, pending = kind.is_valid, [happens]

        def check_and_interfere(form: forms.BaseForm) -> bool:
            is_valid = check(form)
            if is_valid and pending:
                pending.pop()()
            return is_valid

        monkeypatch.setattr(kind, "is_valid", check_and_interfere)

    return meanwhile


def test_a_group_name_that_was_just_taken_is_refused(olives: Client, meanwhile: Meanwhile) -> None:
    existing = Group.objects.create(name="Writers")
    meanwhile(GroupForm, lambda: Group.objects.create(name="Readers"))
    assert "There is already a group with this name." in post(olives, "/people/groups/", "Readers")
    meanwhile(GroupForm, lambda: Group.objects.create(name="Editors"))
    page = post(olives, f"/people/groups/{existing.pk}/", "Editors")
    assert "There is already a group with this name." in page
    assert Group.objects.filter(name="Writers").exists()
    assert not AuditEvent.objects.filter(action__startswith="group.").exists()


def test_a_label_name_that_was_just_taken_is_refused(olives: Client, meanwhile: Meanwhile) -> None:
    meanwhile(LabelForm, lambda: ReviewLabel.objects.create(name="Odd"))
    assert "This label already exists." in post(olives, "/review/labels/", "Odd")
    assert not AuditEvent.objects.filter(action="reviewlabel.added").exists()


def test_a_rule_name_that_was_just_taken_is_refused(olives: Client, meanwhile: Meanwhile) -> None:
    seal = read_seal(olives.post("/review/rules/add/", WORDS).text)
    taken = {"name": WORDS["name"], "kind": "words", "text": "x"}
    meanwhile(RuleForm, lambda: ReviewRule.objects.create(**taken))
    page = olives.post("/review/rules/add/", WORDS | {"seal": seal}).text
    assert "A rule with this name already exists." in page
    other = ReviewRule.objects.create(name="other", kind="words", text="x")
    address = f"/review/rules/{other.pk}/"
    fields = WORDS | {"name": "third"}
    seal = read_seal(olives.post(address, fields).text)
    meanwhile(RuleForm, lambda: ReviewRule.objects.create(**taken | {"name": "third"}))
    page = olives.post(address, fields | {"seal": seal}).text
    assert "A rule with this name already exists." in page
    assert not AuditEvent.objects.filter(action="reviewrule.changed").exists()


@pytest.mark.django_db(transaction=True)
def test_a_chosen_group_that_was_just_deleted_is_refused(
    olives: Client, meanwhile: Meanwhile
) -> None:
    group = Group.objects.create(name="Gone")
    meanwhile(InvitationForm, Group.objects.filter(pk=group.pk).delete)
    fields = {"days": "7", "uses": "1", "group": str(group.pk)}
    assert "Select a valid choice" in olives.post("/people/invitations/", fields).text


@pytest.mark.django_db(transaction=True)
def test_saving_a_persons_groups_is_retried_if_one_was_just_deleted(
    olives: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = Group.objects.create(name="Readers")
    pending = ["DELETE FROM auth_group WHERE id = %s"]

    def record_and_delete(*recorded: Any, **detail: Any) -> None:
        record(*recorded, **detail)
        if pending:
            with connection.cursor() as cursor:
                cursor.execute(pending.pop(), [group.pk])

    monkeypatch.setattr("chatapp.staff.people.changes.record", record_and_delete)
    olives.post(f"/people/{alice.pk}/groups/", {"groups": group.pk})
    assert alice.groups.get() == group
    assert AuditEvent.objects.filter(action="person.changed").count() == 1


def test_a_tool_servers_name_that_was_just_taken_is_refused(
    olives: Client, meanwhile: Meanwhile
) -> None:
    taken = {"name": "wiki", "url": "https://wiki.test/mcp"}
    meanwhile(ServerForm, lambda: ToolServer.objects.create(**taken))
    numbers = {"timeout_seconds": "30", "result_limit_kb": "100"}
    page = olives.post("/settings/tools/new/", taken | numbers | {"transport": "http"}).text
    assert "Tool server with this Name already exists." in page
    assert ToolServer.objects.count() == 1
    assert not AuditEvent.objects.filter(action="toolserver.added").exists()


def test_a_view_that_fails_twice_raises() -> None:
    tried = []

    def view() -> None:
        tried.append(1)
        raise IntegrityError

    with pytest.raises(IntegrityError):
        retry_on_integrity_error(view)()
    assert len(tried) == 2


def post(client: Client, address: str, name: str) -> str:
    return client.post(address, {"name": name}).content.decode()
