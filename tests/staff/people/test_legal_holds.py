"""Legal holds on the pages, and what an erasure reports."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError
from django.test import Client

from chatapp.chat.bulk_actions import KEPT_BY_HOLD
from chatapp.erasure import register
from chatapp.erasure.people import erase
from chatapp.models import AuditEvent, Conversation, LegalHold, Upstream, User, audit
from chatapp.models.policies.legal_holds import UNDER_HOLD
from tests.conftest import confirm_password, signed_in
from tests.erasure.test_people import write
from tests.support.page import parse

pytestmark = pytest.mark.django_db

MARKUP = "<img src=x onerror=alert(1)>"


def post_change(client: Client, person: User, what: str, **fields: Any) -> str:
    answer = client.post(f"/people/{person.pk}/{what}/", fields, follow=True)
    assert answer.status_code == 200, answer.status_code
    return answer.text


def change(client: Client, action: str, *chosen: Conversation) -> Any:
    ids = [str(chat.pk) for chat in chosen]
    headers = {"HX-Request": "true"}
    return client.post("/conversations/change/", {"action": action, "ids": ids}, headers=headers)


def test_a_hold_is_set_and_ended_and_both_are_recorded(olives: Client, alice: User) -> None:
    conversation = alice.conversations.create(title="Alice's own words")
    post_change(
        olives, alice, "hold", reason=f"Matter 7 {MARKUP}", conversation=str(conversation.pk)
    )
    page = post_change(olives, alice, "hold", reason="Matter 8")
    assert MARKUP not in page
    assert "Matter 7 &lt;img" in page
    assert "Alice's own words" not in page
    assert f"Chat {conversation.pk}" in page
    chat_hold, everything = LegalHold.objects.order_by("pk")
    for hold in (chat_hold, everything):
        post_change(olives, alice, "end-hold", hold=hold.pk)
        hold.refresh_from_db()
        assert hold.ended_by == hold.set_by
    assert "has already ended" in post_change(olives, alice, "end-hold", hold=chat_hold.pk)
    events = AuditEvent.objects.filter(action__startswith="hold.").order_by("sequence")
    assert [(event.action, event.target, event.person) for event in events] == [
        ("hold.set", str(conversation.pk), alice.pk),
        ("hold.set", str(alice.pk), alice.pk),
        ("hold.ended", str(conversation.pk), alice.pk),
        ("hold.ended", str(alice.pk), alice.pk),
    ]
    audit.verify()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"reason": ""}, "This field is required"),
        ({"reason": "x" * 501}, "at most 500 characters"),
        ({"reason": "x", "conversation": "no id"}, "valid UUID"),
        ({"reason": "x", "conversation": str(uuid4())}, "no chat with this ID"),
    ],
)
def test_an_invalid_hold_is_refused(
    olives: Client, alice: User, fields: dict[str, str], problem: str
) -> None:
    assert problem in post_change(olives, alice, "hold", **fields)
    assert not LegalHold.objects.exists()


@pytest.mark.parametrize("hold", ["", "x", "9" * 40, "0"])
def test_only_an_active_hold_can_be_ended(olives: Client, alice: User, hold: str) -> None:
    assert "has already ended" in post_change(olives, alice, "end-hold", hold=hold)


def test_a_hold_cannot_be_ended_from_another_persons_page(
    olives: Client, alice: User, bob: User, olive: User
) -> None:
    hold = LegalHold.begin(alice, None, "a matter", olive)
    post_change(olives, bob, "end-hold", hold=hold.pk)
    assert LegalHold.objects.living().exists()


def test_a_hold_that_cannot_be_recorded_is_not_set(
    olives: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DatabaseError

    monkeypatch.setattr(audit, "record", fail)
    with pytest.raises(DatabaseError):
        post_change(olives, alice, "hold", reason="a matter")
    assert not LegalHold.objects.exists()


def test_a_held_person_cannot_be_erased(olives: Client, alice: User, olive: User) -> None:
    conversation = alice.conversations.create(title="Kept")
    LegalHold.begin(alice, conversation.pk, "a matter", olive)
    assert "Delete permanently" not in olives.get(f"/people/{alice.pk}/delete/").text
    assert "This is under a legal hold" in post_change(olives, alice, "delete")
    alice.refresh_from_db()
    assert alice.is_active
    assert alice.conversations.exists()


def test_the_owner_sees_the_hold_and_can_use_the_trash(
    alices: Client, alice: User, olive: User
) -> None:
    held_chat, other = (alice.conversations.create(title=title) for title in ("Kept", "Other"))
    assert "legal hold" not in alices.get("/privacy/").text
    LegalHold.begin(alice, held_chat.pk, "secret matter", olive)
    page = alices.get("/privacy/").text
    assert "has put a legal hold on" in page
    assert "secret matter" not in page
    assert change(alices, "trash", held_chat, other).status_code == 200
    answer = change(alices, "discard", held_chat)
    assert (answer.status_code, answer.text) == (422, UNDER_HOLD)
    answer = change(alices, "empty")
    assert answer.text == f"Deleted permanently. {KEPT_BY_HOLD.format(1)}"
    assert list(alice.conversations.trashed()) == [held_chat]
    assert change(alices, "restore", held_chat).status_code == 200


def test_an_erasure_report_is_shown_and_logged(
    olives: Client, alice: User, saved_upstream: Upstream
) -> None:
    write(alice, saved_upstream, "sparrow")
    signed_in(alice)
    page = post_change(olives, alice, "delete")
    facts = {
        term.text: value.text
        for term, value in zip(
            parse(page).find_all(".facts dt"), parse(page).find_all(".facts dd"), strict=True
        )
    }
    assert facts["Messages"] == "5"
    assert facts["Conversations"] == "1"
    assert facts["Reply images"] == "1"
    assert facts["Sessions"] == "1"
    assert "Nothing is left in any of the columns" in page
    assert "chatapp.Message.conversation" in page
    event = AuditEvent.objects.select_related("detail").get(action="person.erased")
    values = event.detail.values
    assert values["rows"]["chatapp.Message"] == 5
    assert values["left"] == {}
    assert values["columns_checked"] > 15
    assert not {"alice", "sparrow"} & set(json.dumps(values).replace('"', " ").split())
    audit.verify()


def test_the_erasures_file_has_the_persons_number_but_no_name(alice: User, olive: User) -> None:
    count_before = len(register.read(register.file()))
    joined = alice.date_joined
    pk = alice.pk
    erase([alice], olive)
    [line] = register.read(register.file())[count_before:]
    assert (line.person, line.joined) == (pk, joined)
    assert "alice" not in register.file().read_text()


def test_a_torn_line_does_not_affect_others(alice: User, bob: User) -> None:
    count_before = len(register.read(register.file()))
    register.write(alice)
    with register.file().open("ab") as file:
        file.write(b'{"at": "20')
    register.write(bob)
    people = [line.person for line in register.read(register.file())[count_before:]]
    assert people == [alice.pk, bob.pk]
    restored_people = register.find_restored_people(register.read(register.file()))
    assert {person.username for person in restored_people} == {"alice", "bob"}


def test_nobody_is_erased_if_the_erasures_file_cannot_be_written(
    alice: User, olive: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(register, "write", fail)
    with pytest.raises(PermissionError):
        erase([alice], olive)
    assert User.objects.filter(pk=alice.pk).exists()


def test_setting_a_hold_requires_the_password(alice: User, olive: User) -> None:
    client = signed_in(olive)
    answer = client.post(f"/people/{alice.pk}/hold/", {"reason": "x"})
    assert answer.status_code == 302
    assert not LegalHold.objects.exists()
    post_change(confirm_password(client), alice, "hold", reason="x")
    assert LegalHold.objects.exists()
