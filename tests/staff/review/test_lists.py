"""The list of the review: whose it is, what stands in it of a conversation, and what finds one."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatapp.accounts.erasing import erase
from chatapp.models import (
    AuditDetail,
    AuditEvent,
    Conversation,
    Feedback,
    Message,
    Review,
    ReviewLabel,
    ReviewPolicy,
    Upstream,
    Usage,
    User,
)
from chatapp.models.pseudonyms import IN_REVIEWS, pseudonym
from chatapp.staff.review import queries
from chatapp.upstream.wire.reply import Ending
from tests.conftest import signed_in
from tests.staff.review.conftest import ANSWER, PROMPT, TITLE, Begin, review_of
from tests.support.page import Element, parse
from tests.support.stored import end, reply_of

pytestmark = pytest.mark.django_db

LIST = "/review/"
NONE = "\N{EN DASH}"


def rows(client: Client, **asked: Any) -> list[Element]:
    page = parse(client.get(LIST, asked).text)
    return [row for body in page.find_all("tbody") for row in body.find_all("tr")]


def found(client: Client, **asked: Any) -> list[str]:
    """The keys of the conversations that rows lead to."""
    return [row.find("a").attributes["href"].split("/")[-2] for row in rows(client, **asked)]


def cells(row: Element) -> list[str]:
    """Without the box to tick it by."""
    return [" ".join(cell.text.split()) for cell in row.elements[1:]]


def reply_in(conversation: Conversation) -> Message:
    return conversation.messages.filter(role="assistant")[0]


def moderated(*categories: str) -> dict[str, Any]:
    """As a message keeps it, of the prompt; the reply's moderation has failed."""
    result = {"flagged": bool(categories), "categories": categories, "scores": {}}
    verdict = {"input": {"model": "m", "results": [result]}, "output": {"code": "x"}}
    return {"moderation": verdict, "is_flagged": bool(categories)}


def test_a_category_of_moderation_finds_what_it_flagged(ritas: Client, begin: Begin) -> None:
    begin(**moderated())
    begin(is_flagged=True)
    violent = str(begin(**moderated("harassment", "violence/graphic")).pk)
    hateful = str(begin(**moderated("harassment"), model="two").pk)
    assert found(ritas, category="violence/graphic") == [violent]
    assert found(ritas, category="harassment") == [hateful, violent]
    assert found(ritas, category="harassment", model="two") == [hateful]
    assert found(ritas, category="violence") == []
    gone = Conversation.objects.get(pk=violent).messages.filter(is_flagged=True)
    gone.update(deleted_at=timezone.now())
    assert found(ritas, category="violence/graphic") == []


def test_a_row_tells_how_it_went_and_nothing_that_was_written(
    ritas: Client, begin: Begin, alice: User
) -> None:
    conversation = begin(
        model="<b>big</b>", ending=Ending.CUT_OFF, cost=20_000_000, is_flagged=True
    )
    Feedback.give(reply_in(conversation), Feedback.Rating.DOWN, "qnoteq")
    review = review_of(conversation)
    rita = User.objects.get(username="rita")
    review.decide("serious", rita)
    review.claim(rita)
    review.label([ReviewLabel.objects.create(name="<b>bold</b>")])
    page = ritas.get(LIST).text
    [row] = rows(ritas)
    assert cells(row)[1:] == [
        *("alice", "1", "1,000", "$0.02", "<b>big</b>"),
        "Flagged by moderation and the person, 1 cut off, 1 bad",
        "Serious matter<b>bold</b>claimed by rita",
    ]
    assert "<b>" not in page
    assert not [word for word in (TITLE, PROMPT, ANSWER, "qnoteq") if word in page]


def test_what_is_deleted_counts_nowhere(ritas: Client, begin: Begin) -> None:
    begin(cost=10**9, is_flagged=True, deleted_at=timezone.now())
    [row] = rows(ritas)
    assert cells(row)[2:] == ["0", "0", NONE, NONE, NONE, NONE]
    assert found(ritas, flagged="any") == found(ritas, model="one") == []
    assert found(ritas, cost="0.000000001") == found(ritas, replies="1") == []
    assert found(ritas, characters=len(PROMPT)) != []
    assert found(ritas, characters=len(PROMPT) + 1) == []


def test_what_its_title_cost_counts_as_the_row_says_it(
    ritas: Client, begin: Begin, alice: User, connected: Upstream
) -> None:
    conversation = begin(cost=10**7)
    title = Usage.nothing().of_title(conversation.pk, alice.pk, connected, "small")
    title.cost = 10**7
    Usage.book([title])
    assert cells(rows(ritas)[0])[4] == "$0.02"
    assert found(ritas, cost="0.02") == [str(conversation.pk)]
    assert found(ritas, cost="0.020000001") == []


def test_the_trash_temporary_chats_and_what_the_policy_keeps_are_not_in_it(
    ritas: Client, begin: Begin
) -> None:
    shown, trashed, temporary = begin(), begin(), begin()
    Conversation.objects.filter(pk=trashed.pk).update(trashed_at=timezone.now())
    Conversation.objects.filter(pk=temporary.pk).update(is_temporary=True)
    ReviewPolicy.objects.create(scope=ReviewPolicy.Scope.FLAGGED)
    begin()
    flagged = begin(is_flagged=True)
    assert found(ritas) == [str(flagged.pk), str(shown.pk)]


def test_what_nothing_flags_any_more_is_closed_again_by_a_policy_of_flagged_chats(
    ritas: Client, begin: Begin
) -> None:
    ReviewPolicy.objects.create(scope=ReviewPolicy.Scope.FLAGGED)
    moderated_once, rated = begin(is_flagged=True), begin()
    Feedback.give(reply_in(rated), Feedback.Rating.DOWN, None)
    both = [str(rated.pk), str(moderated_once.pk)]
    assert found(ritas) == found(ritas, flagged="any") == found(ritas, model="one") == both
    moderated_once.messages.update(is_flagged=False)
    assert found(ritas) == found(ritas, flagged="any") == both[:1]
    assert found(ritas, flagged="moderation") == []
    Feedback.give(reply_in(rated), Feedback.Rating.UP, None)
    assert found(ritas) == found(ritas, flagged="person") == found(ritas, model="one") == []


def test_each_wish_finds_what_is_like_it_and_nothing_else(
    ritas: Client, begin: Begin, bob: User
) -> None:
    """Of two conversations the first alone is like it."""
    group = Group.objects.create(name="g")
    bob.groups.add(group)
    upstream = Upstream.objects.create(name="Other", base_url="http://127.0.0.1:9/v1")
    label = ReviewLabel.objects.create(name="odd")
    this = begin(
        bob,
        upstream,
        "two",
        Ending.FAILED,
        cost=2 * 10**9,
        replies=2,
        is_flagged=True,
        earlier_rounds=[{"tool_runs": [{"name": "search"}]}],
    )
    other = begin()
    rita = User.objects.get(username="rita")
    Feedback.give(reply_in(this), Feedback.Rating.UP, None)
    Feedback.give(reply_in(other), Feedback.Rating.DOWN, None)
    mine, theirs = review_of(this), review_of(other)
    mine.decide("minor", rita)
    mine.label([label])
    mine.claim(rita)
    theirs.claim(bob)
    old = timezone.now() - timedelta(days=9)
    Conversation.objects.filter(pk=other.pk).update(updated_at=old)
    asked: list[tuple[dict[str, Any], Conversation]] = [
        ({"person": "BOB"}, this),
        ({"group": group.pk}, this),
        ({"since": (old + timedelta(days=1)).date()}, this),
        ({"until": old.date()}, other),
        ({"model": "two"}, this),
        ({"upstream": upstream.pk}, this),
        ({"ending": "failed"}, this),
        ({"ending": "complete"}, other),
        ({"flagged": "moderation"}, this),
        ({"flagged": "person"}, other),
        ({"feedback": "up"}, this),
        ({"feedback": "down"}, other),
        ({"tool": "search"}, this),
        ({"cost": "1.5"}, this),
        ({"replies": "2"}, this),
        ({"characters": 2 * len(PROMPT + ANSWER)}, this),
        ({"label": label.pk}, this),
        ({"verdict": "minor"}, this),
        ({"verdict": "none"}, other),
        ({"claim": "mine"}, this),
        ({"claim": "other"}, other),
        ({"person": "bob", "model": "two", "tool": "search", "feedback": "either"}, this),
    ]
    for wish, expected in asked:
        assert found(ritas, **wish) == [str(expected.pk)], wish
    both = [str(this.pk), str(other.pk)]
    assert found(ritas, feedback="either") == both
    for nothing in (
        {"tool": "searc"},
        {"claim": "nobody"},
        {"feedback": "none"},
        {"model": "one", "person": "bob"},
    ):
        assert found(ritas, **nothing) == [], nothing
    Feedback.objects.all().delete()
    Review.objects.update(claimed_until=timezone.now())
    assert found(ritas, feedback="none") == found(ritas, claim="nobody") == both


def test_a_tool_of_the_last_round_is_found_too(ritas: Client, begin: Begin) -> None:
    conversation = begin(tool_runs=[{"name": "it's %s ?"}])
    assert found(ritas, tool="it's %s ?") == [str(conversation.pk)]


def test_what_is_asked_of_a_reply_is_asked_of_one(
    ritas: Client, begin: Begin, connected: Upstream
) -> None:
    conversation = begin(model="one", ending=Ending.FAILED)
    _, reply = conversation.ask(uuid4(), PROMPT, None, connected, "two", uuid4())
    end(reply, reply_of(ANSWER))
    assert found(ritas, model="two") == found(ritas, ending="failed") == [str(conversation.pk)]
    assert found(ritas, model="two", ending="failed") == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("person", "nobody at all"),
        ("person", "a\0b"),
        ("since", "yesterday"),
        ("model", "none that is"),
        ("upstream", "99999999999999999999"),
        ("ending", "happily"),
        ("label", "x"),
        ("cost", "much"),
        ("cost", "1e99"),
        ("replies", "-1"),
        ("characters", "many"),
        ("after", "2026-01-01/x"),
        ("after", f"0001-01-01T00:00+14:00/{UUID(int=1)}"),
    ],
)
def test_what_is_not_understood_is_said_and_shows_nothing(
    ritas: Client, begin: Begin, name: str, value: str
) -> None:
    begin()
    page = ritas.get(LIST, {name: value})
    assert page.status_code == 200
    assert 'role="alert"' in page.text
    assert "Nothing is shown" in page.text
    assert not parse(page.text).find_all("tbody")
    assert ritas.get("/review/export/", {"format": "csv", name: value}).status_code == 302


def test_what_is_typed_and_what_is_called_so_stays_text(ritas: Client, begin: Begin) -> None:
    begin()
    attack = '"><img src=x onerror=alert(1)>{{ 7 * 7 }}'
    label = ReviewLabel.objects.create(name=attack[:40])
    group = Group.objects.create(name=attack)
    fields = ("person", "category", "tool", "cost", "replies", "since", "model", "label", "group")
    page = parse(ritas.get(LIST, dict.fromkeys(fields, attack)).text)
    assert page.find_all("img") == []
    typed = {name: page.find_all("input", name=name)[0].attributes["value"] for name in fields[:5]}
    assert typed == dict.fromkeys(fields[:5], attack)
    for name, row in (("label", label), ("group", group)):
        assert row.name in [one.text for one in page.find("select", name=name).find_all("option")]


def test_an_end_before_the_beginning_is_said(ritas: Client) -> None:
    page = ritas.get(LIST, {"since": "2026-02-01", "until": "2026-01-01"})
    assert "This is before the day from which" in page.text


@pytest.mark.parametrize(
    "asked",
    [
        "person=alice",
        "model=one",
        "replies=1",
        "characters=1",
        "feedback=none",
        "model=one&ending=failed&cost=0",
        "person=alice&model=one&replies=1",
    ],
)
def test_pages_follow_each_other_without_a_gap(
    ritas: Client, begin: Begin, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr(queries, "PAGE", 2)
    for name in ("LOOKED_AT", "FEWER", "MOST_COUNTED"):  # so that it takes many looks
        monkeypatch.setattr(queries, name, 1)
    made = [begin(ending=Ending.FAILED) for _ in range(9)]
    same = timezone.now()
    for days in range(3):
        some = [one.pk for one in made[3 * days + 1 : 3 * days + 4]]
        used = same - timedelta(days=days)
        Conversation.objects.filter(pk__in=some).update(updated_at=used)
    expected = [str(pk) for pk in Conversation.objects.values_list("pk", flat=True)]
    seen: list[str] = []
    path = f"{LIST}?{asked}"
    while True:
        page = parse(ritas.get(path).text)
        seen += [
            row.find("a").attributes["href"].split("/")[-2]
            for row in page.find("tbody").find_all("tr")
        ]
        older = [link for link in page.find_all("a") if link.attributes.get("rel") == "next"]
        if not older:
            break
        path = older[0].attributes["href"]
        assert asked in path
    assert seen == expected


def test_that_somebody_looked_is_recorded_with_what_they_asked(ritas: Client, alice: User) -> None:
    ritas.get(LIST, {"person": "alice", "model": ""})
    event = AuditEvent.objects.get(action="conversations.listed")
    assert event.detail.said["asked"] == {"person": alice.pk}


def test_the_log_names_who_was_looked_for_while_they_have_an_account(
    ritas: Client, alice: User, olives: Client, begin: Begin
) -> None:
    begin()
    User.objects.filter(pk=alice.pk).update(email="swallow@x.test")
    for typed in ("ALICE", " alice", "Swallow@x.test"):
        assert len(found(ritas, person=typed)) == 1
    ritas.get("/review/export/", {"format": "csv", "person": "alice"})
    sought = {"words": "canary", "reason": "A matter", "person": "alice"}
    ritas.post("/review/search/", sought)
    ritas.post("/review/search/", sought | {"person": "Swallow"})
    ritas.post("/review/views/save/", {"name": "One", "person": "alice"})
    ritas.post("/review/samples/draw/", {"name": "One", "share": "100", "person": "alice"})
    page = olives.get("/audit/", {"actor": "rita"}).text
    assert page.count("{&#34;person&#34;: &#34;alice&#34;}") == 7
    pk = alice.pk
    erase([alice])
    page = olives.get("/audit/", {"actor": "rita"}).text
    assert page.count(f"{{&#34;person&#34;: &#34;person {pk}, erased&#34;}}") == 7
    left = "".join(AuditDetail.objects.values_list("content", flat=True)).lower()
    assert "alice" not in left
    assert "swallow" not in left


def test_a_pseudonym_stands_in_the_log_as_it_is(ritas: Client, alice: User, begin: Begin) -> None:
    ReviewPolicy.objects.create(hides_names=True)
    begin()
    name = pseudonym(alice, IN_REVIEWS)
    assert len(found(ritas, person=name)) == 1
    assert AuditEvent.objects.latest("sequence").detail.said["asked"] == {"person": name}


def test_a_page_takes_as_many_queries_whatever_is_on_it(ritas: Client, begin: Begin) -> None:
    review_of(begin()).label([ReviewLabel.objects.create(name="odd")])
    ritas.get(LIST)
    with CaptureQueriesContext(connection) as of_one:
        ritas.get(LIST)
    for _ in range(8):
        review_of(begin(replies=2))
    with CaptureQueriesContext(connection) as of_many:
        ritas.get(LIST)
    assert len(of_many) == len(of_one)


def test_it_is_for_reviewers_and_leads_them_to_no_room_of_administrators(
    ritas: Client, alices: Client, olives: Client
) -> None:
    assert alices.get(LIST).status_code == 403
    links = [link.attributes["href"] for link in parse(ritas.get(LIST).text).find_all("a")]
    assert LIST in links
    assert not [
        one for one in links if one in ("/people/", "/audit/", "/admin/", "/review/labels/")
    ]
    assert LIST in olives.get("/people/").text
    adam = signed_in(User.objects.create_superuser("adam", reviews=False))
    assert adam.get(LIST).status_code == 403
    assert f'"{LIST}"' not in adam.get("/people/").text
    assert signed_in(User.objects.create_user("carl")).get(LIST).status_code == 403


def test_an_empty_list_says_what_to_do(ritas: Client, olives: Client, begin: Begin) -> None:
    assert "There is nothing to review yet" in ritas.get(LIST).text
    assert "/policy/" in olives.get(LIST).text
    begin()
    assert "No conversation is like that" in ritas.get(LIST, {"flagged": "any"}).text
