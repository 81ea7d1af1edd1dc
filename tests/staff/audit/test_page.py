"""The audit log's page: events in words, filters, verification and export."""

import json
from datetime import date, timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import transaction
from django.test import AsyncClient, Client
from django.utils import timezone

from chatapp.models import (
    AuditDetail,
    AuditEvent,
    Installation,
    Invitation,
    Upstream,
    User,
    audit,
)
from chatapp.models.audit.recording import append
from chatapp.staff.audit import views
from tests.conftest import PASSWORD
from tests.support.page import parse
from tests.support.tampering import tamper, without_triggers

pytestmark = pytest.mark.django_db

LOG = "/audit/"
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def log(olive: User, alice: User) -> list[AuditEvent]:
    with transaction.atomic():
        return [
            audit.record("person.signed_in", actor=alice, about=alice, detail={"ip": "10.0.0.1"}),
            audit.record(
                "role.changed",
                actor=olive,
                about=alice,
                detail={"before": {"is_staff": False}, "after": {"is_staff": True}},
            ),
            audit.record("person.sign_in_failed", actor=None, detail={"login": SCRIPT}),
            audit.record("backup.made", actor=None),
        ]


def sentences(page: str) -> list[str]:
    """Return each event's sentence."""
    events = parse(page).find_all("ol.events li.event")
    return [" ".join(event.find("p").text.split()) for event in events]


def test_events_are_sentences_newest_first(olives: Client, log: list[AuditEvent]) -> None:
    page = olives.get(LOG).text
    page_sentences = sentences(page)
    assert "olive changed the role of alice" in page_sentences
    assert "alice signed in" in page_sentences
    assert f"Someone failed to sign in as {SCRIPT}" in page_sentences
    assert "The server's terminal made a backup" in page_sentences
    assert page_sentences.index("The server's terminal made a backup") < page_sentences.index(
        "alice signed in"
    )
    assert SCRIPT not in page


def test_sentences_are_complete_if_people_act_on_themselves(olives: Client, olive: User) -> None:
    with transaction.atomic():
        audit.record("role.changed", actor=olive, about=olive)
        audit.record("person.joined", actor=olive, about=olive)
        audit.record("conversations.exported", actor=olive, about=olive)
        invitation = Invitation.objects.create(made_by=olive, expires_at=timezone.now())
        audit.record("person.invited", actor=olive, about=invitation)
        named = Invitation.objects.create(
            made_by=olive, expires_at=timezone.now(), address="eve@example.org", token_hash="x"
        )
        audit.record("person.invited", actor=olive, about=named)
    page_sentences = sentences(olives.get(LOG).text)
    assert page_sentences[:5] == [
        "olive invited eve@example.org",
        "olive invited someone",
        "olive exported their own chats",
        "olive joined",
        "olive changed the role of olive",
    ]


def test_sentences_say_what_was_done_to_what(
    olives: Client, olive: User, alice: User, saved_upstream: Upstream
) -> None:
    group = Group.objects.create(name="Writers")
    chat = alice.conversations.create(title="secretcanary")
    with transaction.atomic():
        audit.record("group.changed", actor=olive, about=group, detail={"added": alice.pk})
        audit.record("group.changed", actor=olive, about=group, detail={"removed": alice.pk})
        audit.record("group.changed", actor=olive, about=group, detail={"before": SCRIPT})
        audit.record("name.revealed", actor=olive, about=chat)
        audit.record("hold.set", actor=olive, about=chat)
        audit.record("chat.share_opened", actor=None, about=chat)
        append(
            "import.started", actor=olive.pk, target_type="import", target=str(chat.pk), detail={}
        )
        audit.record("access.changed", actor=olive, about=saved_upstream, detail={"model": "m"})
        audit.record("installation.changed", actor=olive, about=Installation.load())
    page = olives.get(LOG).text
    short = str(chat.pk)[:8]
    assert sentences(page)[:9] == [
        "olive changed the settings",
        f"olive changed access to m of {saved_upstream.name}",
        f"olive began to import chats ({short})",
        f"Someone opened the public link of a chat ({short})",
        f"olive put a legal hold on a chat ({short})",
        f"olive revealed the name of the owner of a chat ({short})",
        "olive changed the group Writers",
        "olive removed alice from the group Writers",
        "olive added alice to the group Writers",
    ]
    assert "secretcanary" not in page
    assert SCRIPT not in page
    assert str(chat.pk) in parse(page).find_all("li.event dl")[5].text


def test_events_are_below_the_day_they_happened_on(olives: Client, log: list[AuditEvent]) -> None:
    yesterday = timezone.now() - timedelta(days=1)
    with without_triggers():
        AuditEvent.objects.filter(sequence__lte=log[1].sequence).update(at=yesterday)
    page = parse(olives.get(LOG).text)
    days = [day.text for day in page.find_all("h3")]
    assert days == [f"{day:%A}, {day.day} {day:%b %Y}" for day in (timezone.now(), yesterday)]
    lists = page.find_all("ol.events")
    assert "made a backup" in lists[0].text
    assert "changed the role of" in lists[1].text


def test_a_change_shows_before_and_after(olives: Client, log: list[AuditEvent]) -> None:
    page = parse(olives.get(LOG, {"action": "role.changed"}).text)
    [row] = page.find("tbody").find_all("tr")
    assert [cell.text.strip() for cell in row.elements] == ["is staff", "no", "yes"]


def test_a_change_without_field_names_is_shown_as_value(
    olives: Client, olive: User, alice: User
) -> None:
    detail: dict[str, object] = {"before": ["Member"], "after": ["Administrator", "Reviewer"]}
    with transaction.atomic():
        audit.record("role.changed", actor=olive, about=alice, detail=detail)
    page = parse(olives.get(LOG, {"action": "role.changed"}).text)
    [row] = page.find("tbody").find_all("tr")
    assert [cell.text.strip() for cell in row.elements] == [
        "value",
        "Member",
        "Administrator, Reviewer",
    ]


def test_filters_find_matching_events_and_ignore_nonsense(
    olives: Client, log: list[AuditEvent], olive: User, alice: User
) -> None:
    def find_sentences(**filters: str) -> list[str]:
        return sentences(olives.get(LOG, filters).text)

    assert find_sentences(action="backup.made") == ["The server's terminal made a backup"]
    assert find_sentences(actor="ALICE") == ["alice signed in"]
    assert find_sentences(actor="LIC") == find_sentences(actor=str(alice.pk)) == ["alice signed in"]
    assert find_sentences(about="alice") == ["olive changed the role of alice", "alice signed in"]
    assert find_sentences(action="Made a backup") == find_sentences(action="backup.made")
    assert find_sentences(action="ROLE of") == ["olive changed the role of alice"]
    assert len(find_sentences(action="sign", when="today")) >= 2
    today = date.today()
    day = timedelta(days=2)
    assert len(find_sentences(since=str(today - day), until=str(today + day))) >= 4
    for nobody in ({"since": str(today + day)}, {"until": str(today - day)}):
        assert "No events match" in olives.get(LOG, nobody).text
    every: list[dict[str, str | int]] = [
        {"action": "no.such"},
        {"when": "some day"},
        {"since": "tomorrow"},
        {"before": "x"},
        {"before": 10**30},
        {"until": "9999-12-31"},
        {"since": "0001-01-01"},
        {"actor": SCRIPT},
        {"about": "\0"},
        {"actor": "9" * 150},
    ]
    for nonsense in every:
        assert olives.get(LOG, nonsense).status_code == 200, nonsense


def test_the_time_is_a_choice_or_two_days(olives: Client, log: list[AuditEvent]) -> None:
    last_week = timezone.now() - timedelta(days=6)
    with without_triggers():
        AuditEvent.objects.filter(sequence=log[0].sequence).update(at=last_week)

    def finds_sign_in(**filters: str) -> bool:
        return "alice signed in" in sentences(olives.get(LOG, filters).text)

    assert finds_sign_in()
    assert finds_sign_in(when="week")
    assert finds_sign_in(when="month")
    assert not finds_sign_in(when="today")
    day = str(last_week.date())
    assert finds_sign_in(since=day, until=day)  # an address of an earlier version
    assert finds_sign_in(when="days", since=day, until=day)
    assert not finds_sign_in(when="days", until=str(last_week.date() - timedelta(days=1)))
    assert finds_sign_in(
        when="", until=str(last_week.date() - timedelta(days=1))
    )  # its days are hidden
    page = parse(olives.get(LOG, {"since": day}).text)
    assert page.find("select option[selected]").attributes["value"] == "days"


def test_actions_are_suggested_by_their_words(olives: Client, alices: Client) -> None:
    def suggest_actions(typed: str) -> list[str]:
        page = parse(olives.get(f"{LOG}actions/", {"q": typed}).text)
        return [entry.attributes["data-value"] for entry in page.find_all("li")]

    assert suggest_actions("name reveal") == ["Revealed the name of the owner of a chat"]
    assert suggest_actions("signed out") == ["Signed out"]
    assert len(suggest_actions("")) == 8
    assert suggest_actions("xyzzy") == []
    action_field = parse(olives.get(LOG, {"action": "name.revealed"}).text).find(
        "input[name=action]"
    )
    assert [action_field.attributes["value"]] == suggest_actions("name reveal")
    assert alices.get(f"{LOG}actions/").status_code == 403


def test_older_events_are_on_the_next_page(
    olives: Client, olive: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with transaction.atomic():
        for _ in range(60):
            audit.record("backup.made", actor=olive)
    first = olives.get(LOG, {"action": "backup.made"}).text
    assert len(sentences(first)) == 50
    links = [
        anchor for anchor in parse(first).find_all("a") if anchor.text.strip() == "Older events"
    ]
    assert "action=backup.made" in links[0].attributes["href"]
    second = olives.get(links[0].attributes["href"]).text
    assert len(sentences(second)) == 10
    assert "Older events</a>" not in second
    assert "Newest events</a>" in second


def test_an_erased_person_has_a_number_and_no_name(
    olives: Client, olive: User, alice: User, log: list[AuditEvent]
) -> None:
    pk = alice.pk
    with transaction.atomic():
        alice.delete()
        audit.forget(pk, olive)
    page = olives.get(LOG, {"about": str(pk)}).text
    assert "alice" not in page.replace("alice@", "")
    assert f"olive changed the role of person {pk}, erased (names erased)" in sentences(page)


def test_tampering_is_reported(olives: Client, log: list[AuditEvent]) -> None:
    assert "tampered" not in olives.get(LOG).text
    tamper("UPDATE chatapp_auditevent SET action = 'backup.made' WHERE action = 'role.changed'")
    page = olives.get(LOG).text
    assert "This log has been tampered with" in page
    answer = olives.post("/audit/check/", follow=True).text
    assert "The log failed verification" in answer


def test_the_whole_log_is_verified_on_demand(
    olives: Client, log: list[AuditEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "The log is intact" in olives.post("/audit/check/", follow=True).text
    monkeypatch.setattr(views, "MAX_CHECKED", 1)
    assert "manage.py audit verify" in olives.post("/audit/check/", follow=True).text


def test_a_detail_that_is_not_json_does_not_break_the_page(
    olives: Client, log: list[AuditEvent]
) -> None:
    tamper("UPDATE chatapp_auditdetail SET content = '[1, {]'")
    assert olives.get(LOG).status_code == 200


def test_unusual_details_are_escaped(olives: Client, olive: User) -> None:
    strange: dict[str, object] = {
        "before": "no mapping",
        "after": {"x": [1, {"y": SCRIPT}], SCRIPT: None},
        SCRIPT: {"deep": True},
        "about": SCRIPT,
    }
    with transaction.atomic():
        audit.record("person.changed", actor=olive, about=olive, detail=strange)
    page = olives.get(LOG)
    assert page.status_code == 200
    assert SCRIPT not in page.text


async def test_the_export_has_every_event_including_itself(
    log: list[AuditEvent], olive: User, generations_end: None
) -> None:
    browser = AsyncClient(headers={"host": "localhost"})
    await sync_to_async(browser.force_login)(olive)
    assert (await browser.post("/audit/export/")).status_code == 302  # to confirm it is her
    await browser.post("/accounts/reauthenticate/", {"password": PASSWORD})
    answer = await browser.post("/audit/export/")
    lines = [part.decode() async for part in answer.streaming_content]  # type: ignore[attr-defined]
    events = [json.loads(line) for line in lines]
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["action"] == "log.exported"
    assert events[1]["detail"]["before"] == {"is_staff": False}
    assert await AuditDetail.objects.acount() <= len(events)
