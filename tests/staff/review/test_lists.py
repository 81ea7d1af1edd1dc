"""The review list: who sees it, what a row shows, and what each filter finds."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatapp.erasure.people import erase
from chatapp.models import (
    AuditDetail,
    AuditEvent,
    Conversation,
    Feedback,
    Message,
    Opening,
    Review,
    ReviewLabel,
    ReviewPolicy,
    ToolServer,
    Upstream,
    Usage,
    User,
)
from chatapp.models.accounts.pseudonyms import IN_REVIEWS, pseudonym
from chatapp.upstream.wire.reply import Ending
from tests.conftest import signed_in
from tests.staff.review.conftest import ANSWER, PROMPT, TITLE, Begin, get_or_create_review
from tests.support.page import Element, parse
from tests.support.reviewer import list_keys, open_for_review, rows_in
from tests.support.stored import build_reply, end

pytestmark = pytest.mark.django_db

LIST = "/review/"


def rows(client: Client, **filters: Any) -> list[Element]:
    """Return the rows of all chats, or of those that match."""
    return rows_in(client.get(LIST, filters or {"show": "all"}).text)


def find_keys(client: Client, **filters: Any) -> list[str]:
    """Return the keys of all chats, or of those that match."""
    return list_keys(client.get(LIST, filters or {"show": "all"}).text)


def words(row: Element) -> list[str]:
    """Return the text of a row: the person, why it needs a look, figures, labels and state."""
    parts = [*row.find("div").elements, *row.elements[2:]]
    texts = [[entry.text for entry in part.find_all("li")] or [part.text] for part in parts]
    return [" ".join(", ".join(some).split()) for some in texts]


def reply_in(conversation: Conversation) -> Message:
    return conversation.messages.filter(role="assistant")[0]


def build_moderated_fields(*categories: str) -> dict[str, Any]:
    """Return the fields of a message whose prompt was moderated; moderating the reply failed."""
    result = {"flagged": bool(categories), "categories": categories, "scores": {}}
    verdict = {"input": {"model": "m", "results": [result]}, "output": {"code": "x"}}
    return {"moderation": verdict, "is_flagged": bool(categories)}


def test_a_moderation_category_finds_the_chats_it_flagged(ritas: Client, begin: Begin) -> None:
    begin(**build_moderated_fields())
    begin(is_flagged=True)
    violent = str(begin(**build_moderated_fields("harassment", "violence/graphic")).pk)
    hateful = str(begin(**build_moderated_fields("harassment"), model="two").pk)
    assert find_keys(ritas, category="violence/graphic") == [violent]
    assert find_keys(ritas, category="harassment") == [hateful, violent]
    assert find_keys(ritas, category="harassment", model="two") == [hateful]
    assert find_keys(ritas, category="violence") == []
    gone = Conversation.objects.get(pk=violent).messages.filter(is_flagged=True)
    gone.update(deleted_at=timezone.now())
    assert find_keys(ritas, category="violence/graphic") == []


def test_a_row_shows_outcomes_and_no_text(ritas: Client, begin: Begin, alice: User) -> None:
    conversation = begin(
        model="<b>big</b>", ending=Ending.CUT_OFF, cost=20_000_000, is_flagged=True
    )
    Feedback.give(reply_in(conversation), Feedback.Rating.DOWN, "qnoteq")
    review = get_or_create_review(conversation)
    rita = User.objects.get(username="rita")
    review.decide("serious", rita)
    review.claim(rita)
    review.label([ReviewLabel.objects.create(name="<b>bold</b>")])
    page = ritas.get(LIST, {"show": "all"}).text
    [row] = rows(ritas)
    assert words(row) == [
        "alice",
        "Flagged by moderation, Thumbs down, Cut off",
        "1 reply · <b>big</b> · 1,000 tokens · $0.02",
        "<b>bold</b>",
        "just nowSerious issue, not openedclaimed by rita",
    ]
    assert "<b>" not in page
    assert not [word for word in (TITLE, PROMPT, ANSWER, "qnoteq") if word in page]


def test_a_row_shows_the_title_while_the_chat_is_open(
    ritas: Client, begin: Begin, olive: User
) -> None:
    conversation = begin()
    open_for_review(ritas, conversation.pk)
    [row] = rows(ritas)
    assert words(row)[1] == TITLE
    User.objects.filter(pk=olive.pk).update(reviews=True)
    assert TITLE not in signed_in(olive).get(LIST, {"show": "all"}).text
    Opening.objects.update(ends_at=timezone.now())
    [row] = rows(ritas)
    assert TITLE not in row.text


def test_deleted_replies_are_not_counted(ritas: Client, begin: Begin) -> None:
    begin(cost=10**9, is_flagged=True, deleted_at=timezone.now())
    [row] = rows(ritas)
    assert words(row) == ["alice", "0 replies", "just now"]
    assert find_keys(ritas, flagged="any") == find_keys(ritas, model="one") == []
    assert find_keys(ritas, cost="0.000000001") == find_keys(ritas, replies="1") == []
    assert find_keys(ritas, characters=len(PROMPT)) != []
    assert find_keys(ritas, characters=len(PROMPT) + 1) == []


def test_the_costs_of_title_and_summaries_count_in_row_and_filter(
    ritas: Client, begin: Begin, alice: User, saved_upstream: Upstream
) -> None:
    conversation = begin(cost=10**7)
    title = Usage.empty().charge_title(conversation.pk, alice.pk, saved_upstream, "small")
    summary = Usage.empty()
    summary.charge_summary(uuid4(), conversation.pk, alice.pk, saved_upstream, "small")
    title.cost = summary.cost = 10**7
    Usage.book([title, summary])
    assert "$0.03" in words(rows(ritas)[0])[1]
    assert find_keys(ritas, cost="0.03") == [str(conversation.pk)]
    assert find_keys(ritas, cost="0.030000001") == []
    page = ritas.get(f"/review/{conversation.pk}/").text
    assert "include 1 summary of the chat" in " ".join(page.split())


def test_trashed_temporary_and_closed_chats_are_not_listed(ritas: Client, begin: Begin) -> None:
    listed_chat, trashed, temporary = begin(), begin(), begin()
    Conversation.objects.filter(pk=trashed.pk).update(trashed_at=timezone.now())
    Conversation.objects.filter(pk=temporary.pk).update(is_temporary=True)
    ReviewPolicy.objects.create(scope=ReviewPolicy.Scope.FLAGGED)
    begin()
    flagged = begin(is_flagged=True)
    assert find_keys(ritas) == [str(flagged.pk), str(listed_chat.pk)]


def test_a_chat_is_closed_again_when_its_last_flag_is_gone(ritas: Client, begin: Begin) -> None:
    ReviewPolicy.objects.create(scope=ReviewPolicy.Scope.FLAGGED)
    moderated_once, rated = begin(is_flagged=True), begin()
    Feedback.give(reply_in(rated), Feedback.Rating.DOWN, None)
    both = [str(rated.pk), str(moderated_once.pk)]
    assert (
        find_keys(ritas) == find_keys(ritas, flagged="any") == find_keys(ritas, model="one") == both
    )
    moderated_once.messages.update(is_flagged=False)
    assert find_keys(ritas) == find_keys(ritas, flagged="any") == both[:1]
    assert find_keys(ritas, flagged="moderation") == []
    Feedback.give(reply_in(rated), Feedback.Rating.UP, None)
    assert (
        find_keys(ritas)
        == find_keys(ritas, flagged="person")
        == find_keys(ritas, model="one")
        == []
    )


def test_each_filter_finds_only_what_matches(ritas: Client, begin: Begin, bob: User) -> None:
    """Each filter matches exactly one of two chats."""
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
    mine, theirs = get_or_create_review(this), get_or_create_review(other)
    mine.decide("minor", rita)
    mine.label([label])
    mine.claim(rita)
    theirs.claim(bob)
    old = timezone.now() - timedelta(days=9)
    Conversation.objects.filter(pk=other.pk).update(updated_at=old)
    cases: list[tuple[dict[str, Any], Conversation]] = [
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
    for fields, expected in cases:
        assert find_keys(ritas, **fields) == [str(expected.pk)], fields
    both = [str(this.pk), str(other.pk)]
    assert find_keys(ritas, feedback="either") == both
    for nothing in (
        {"tool": "searc"},
        {"claim": "nobody"},
        {"feedback": "none"},
        {"model": "one", "person": "bob"},
    ):
        assert find_keys(ritas, **nothing) == [], nothing
    Feedback.objects.all().delete()
    Review.objects.update(claimed_until=timezone.now())
    assert find_keys(ritas, feedback="none") == find_keys(ritas, claim="nobody") == both


def test_tools_are_listed_as_people_read_them(ritas: Client, begin: Begin) -> None:
    """Only those of present servers: a model may have made up other names of what a chat says."""
    ToolServer.objects.create(name="wiki", url="https://wiki.test/mcp")
    names = ["wiki__search_pages", "current_date_and_time", "gone__search", "alices_secret", ""]
    begin(earlier_rounds=[{"tool_runs": [{"name": "wiki__search_pages"}]}])
    begin(tool_runs=[{"name": name} for name in names])
    page = parse(ritas.get(LIST, {"tool": "wiki__search_pages"}).text)
    options = page.find("datalist", id="tools").find_all("option")
    assert {option.attributes["value"]: option.text for option in options} == {
        "current_date_and_time": "Current date and time",
        "wiki__search_pages": "Search pages (Wiki)",
    }
    [chip] = page.find("ul", class_="chips").find_all("bdi")
    assert chip.text == "Search pages (Wiki)"


def test_a_tool_called_in_the_last_round_is_found(ritas: Client, begin: Begin) -> None:
    conversation = begin(tool_runs=[{"name": "it's %s ?"}])
    assert find_keys(ritas, tool="it's %s ?") == [str(conversation.pk)]


def test_one_reply_has_to_match_all_filters_on_replies(
    ritas: Client, begin: Begin, saved_upstream: Upstream
) -> None:
    conversation = begin(model="one", ending=Ending.FAILED)
    _, reply = conversation.ask(uuid4(), PROMPT, None, saved_upstream, "two", uuid4())
    end(reply, build_reply(ANSWER))
    assert (
        find_keys(ritas, model="two") == find_keys(ritas, ending="failed") == [str(conversation.pk)]
    )
    assert find_keys(ritas, model="two", ending="failed") == []


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
def test_an_invalid_filter_shows_an_error_and_no_rows(
    ritas: Client, begin: Begin, name: str, value: str
) -> None:
    begin()
    page = ritas.get(LIST, {name: value})
    assert page.status_code == 200
    assert 'role="alert"' in page.text
    assert "Nothing is shown" in page.text
    assert not rows_in(page.text)
    assert ritas.get("/review/export/", {"format": "csv", name: value}).status_code == 302


def test_filter_values_and_names_are_escaped(ritas: Client, begin: Begin) -> None:
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
        assert row.name in [
            option.text for option in page.find("select", name=name).find_all("option")
        ]


def test_an_end_before_the_start_is_an_error(ritas: Client) -> None:
    page = ritas.get(LIST, {"since": "2026-02-01", "until": "2026-01-01"})
    assert "This is before" in page.text


@pytest.mark.parametrize(
    "query",
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
def test_pages_list_each_chat_once_without_gaps(
    ritas: Client, begin: Begin, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr("chatapp.staff.review.lists.pages.PAGE", 2)
    # So that it takes many batches.
    for name in ("matches.FIRST_BATCH", "matches.PER_MATCH", "spreads.MAX_COUNTED"):
        monkeypatch.setattr(f"chatapp.staff.review.finding.{name}", 1)
    made = [begin(ending=Ending.FAILED) for _ in range(9)]
    same = timezone.now()
    for days in range(3):
        some = [chat.pk for chat in made[3 * days + 1 : 3 * days + 4]]
        used = same - timedelta(days=days)
        Conversation.objects.filter(pk__in=some).update(updated_at=used)
    expected = [str(pk) for pk in Conversation.objects.values_list("pk", flat=True)]
    seen: list[str] = []
    path = f"{LIST}?{query}"
    while True:
        text = ritas.get(path).text
        page = parse(text)
        seen += list_keys(text)
        older = [link for link in page.find_all("a") if link.attributes.get("rel") == "next"]
        if not older:
            break
        path = older[0].attributes["href"]
        assert query in path
    assert seen == expected


def test_viewing_the_list_is_recorded_with_the_filter(ritas: Client, alice: User) -> None:
    ritas.get(LIST, {"person": "alice", "model": ""})
    event = AuditEvent.objects.get(action="conversations.listed")
    assert event.detail.values["asked"] == {"person": alice.pk}


def listings() -> list[object]:
    events = AuditEvent.objects.filter(action="conversations.listed").order_by("sequence")
    return [event.detail.values["asked"] for event in events]


def test_reloading_a_list_or_turning_its_pages_is_not_recorded_again(
    ritas: Client, alice: User, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.staff.review.lists.pages.PAGE", 1)
    begin(), begin()
    for filters in ({}, {}, {"show": "queue"}, {"person": "alice"}, {"person": "ALICE"}):
        ritas.get(LIST, filters)
    next_page = parse(ritas.get(LIST, {"person": "alice"}).text).find("a", rel="next")
    ritas.get(next_page.attributes["href"])
    recorded = [{"show": "queue"}, {"person": alice.pk}]
    assert listings() == recorded
    signed_in(User.objects.get(username="rita")).get(LIST)
    assert listings() == [*recorded, {"show": "queue"}]


def test_a_list_is_recorded_again_after_a_day(
    ritas: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ritas.get(LIST)
    monkeypatch.setattr("chatapp.staff.review.finding.listings.SECONDS", 0)
    ritas.get(LIST)
    assert listings() == [{"show": "queue"}] * 2


def test_the_audit_log_names_a_filtered_person_only_while_they_have_an_account(
    ritas: Client, alice: User, olives: Client, begin: Begin
) -> None:
    begin()
    User.objects.filter(pk=alice.pk).update(email="swallow@x.test")
    rita = User.objects.get(username="rita")
    for typed in ("ALICE", " alice", "Swallow@x.test"):
        assert len(find_keys(signed_in(rita), person=typed)) == 1
    ritas.get("/review/export/", {"format": "csv", "person": "alice"})
    search = {"words": "canary", "reason": "A matter", "person": "alice"}
    ritas.post("/review/search/", search)
    ritas.post("/review/search/", search | {"person": "Swallow"})
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


def test_a_filter_by_pseudonym_is_recorded_as_typed(
    ritas: Client, alice: User, begin: Begin
) -> None:
    ReviewPolicy.objects.create(hides_names=True)
    begin()
    name = pseudonym(alice, IN_REVIEWS)
    assert len(find_keys(ritas, person=name)) == 1
    assert AuditEvent.objects.latest("sequence").detail.values["asked"] == {"person": name}


@pytest.mark.parametrize("show", ["all", "queue"])
def test_the_number_of_queries_does_not_grow_with_the_rows(
    ritas: Client, begin: Begin, show: str
) -> None:
    get_or_create_review(begin(is_flagged=True)).label([ReviewLabel.objects.create(name="odd")])
    ritas.get(LIST, {"show": show})
    with CaptureQueriesContext(connection) as of_one:
        ritas.get(LIST, {"show": show})
    for _ in range(8):
        get_or_create_review(begin(replies=2, is_flagged=True))
    with CaptureQueriesContext(connection) as of_many:
        ritas.get(LIST, {"show": show})
    assert len(of_many) == len(of_one)


def test_the_list_is_for_reviewers_and_links_to_no_administrator_page(
    ritas: Client, alices: Client, olives: Client
) -> None:
    assert alices.get(LIST).status_code == 403
    links = [link.attributes["href"] for link in parse(ritas.get(LIST).text).find_all("a")]
    assert LIST in links
    assert not {"/people/", "/audit/", "/review/labels/"}.intersection(links)
    assert LIST in olives.get("/people/").text
    adam = signed_in(User.objects.create_superuser("adam", reviews=False))
    assert adam.get(LIST).status_code == 403
    assert f'"{LIST}"' not in adam.get("/people/").text
    assert signed_in(User.objects.create_user("carl")).get(LIST).status_code == 403


def test_an_empty_list_says_what_to_do(ritas: Client, olives: Client, begin: Begin) -> None:
    for show, sentence in (
        ("queue", "Nothing needs a look"),
        ("mine", "You haven't claimed a chat"),
        ("decided", "No verdicts yet"),
        ("all", "Nothing to review yet"),
    ):
        assert sentence in ritas.get(LIST, {"show": show}).text
    assert "See the policy" in olives.get(LIST, {"show": "all"}).text
    begin()
    assert "Nothing needs a look" in ritas.get(LIST).text
    assert "No chats match" in ritas.get(LIST, {"flagged": "any"}).text


def test_each_filter_is_a_chip_whose_link_removes_it(ritas: Client, begin: Begin) -> None:
    begin()
    label = ReviewLabel.objects.create(name="<b>odd</b>")
    filters: dict[str, Any] = {
        "person": "ALICE",
        "flagged": "any",
        "label": label.pk,
        "since": "2026-01-02",
    }
    page = parse(ritas.get(LIST, filters | {"show": "queue"}).text)
    chips = page.find("ul", class_="chips").find_all("a")
    assert [" ".join(chip.text.split()).removeprefix("Remove the filter") for chip in chips] == [
        "Person: ALICE",
        "Last used from: 2026-01-02",
        "Flagged: By anything",
        "Label: <b>odd</b>",
    ]
    remaining_page = parse(ritas.get(chips[0].attributes["href"]).text)
    assert len(remaining_page.find("ul", class_="chips").find_all("a")) == 3
    [current] = remaining_page.find_all("a", aria_current="page")[1:]
    assert current.text == "Needs a look"


def names(client: Client, typed: str) -> list[str]:
    return list(client.get("/review/people/", {"q": typed}).json()["people"])


def test_names_are_completed_of_people_whose_chats_show_them(
    ritas: Client, begin: Begin, alice: User, bob: User
) -> None:
    begin(alice)
    assert names(ritas, "LIC") == ["alice"]
    assert names(ritas, "bob") == names(ritas, "") == names(ritas, "\0") == []
    ReviewPolicy.objects.create(hides_names=True)
    begin(bob)
    assert names(ritas, "bob") == []
    assert names(ritas, "ali") == ["alice"]
    Conversation.objects.update(is_temporary=True)
    assert names(ritas, "ali") == []
