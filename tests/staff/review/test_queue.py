"""The queue: chats that need a look and have no verdict, the most urgent first."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from chatapp.models import Conversation, Feedback, ReviewRule, RuleFinding, User
from chatapp.upstream.wire.reply import Ending
from tests.staff.review.conftest import Begin, get_or_create_review
from tests.staff.review.test_lists import find_keys, reply_in, rows, words
from tests.staff.review.test_stepping import find_first_address, find_links_by_key, key_in
from tests.support.page import parse
from tests.support.reviewer import list_keys

pytestmark = pytest.mark.django_db

BeginDisliked = Callable[[], Conversation]


@pytest.fixture
def begin_disliked(begin: Begin) -> BeginDisliked:
    def begin_and_dislike() -> Conversation:
        conversation = begin()
        Feedback.give(reply_in(conversation), Feedback.Rating.DOWN, None)
        return conversation

    return begin_and_dislike


def flag_by_rule(conversation: Conversation) -> Conversation:
    rule, _ = ReviewRule.objects.get_or_create(name="Names", kind="words", text="none")
    RuleFinding.objects.create(rule=rule, conversation=conversation, message=reply_in(conversation))
    return conversation


def queue(client: Client, **filters: str) -> list[str]:
    return find_keys(client, show="queue", **filters)


def keys(*conversations: Conversation) -> list[str]:
    return [str(chat.pk) for chat in conversations]


def test_only_chats_that_need_a_look_are_listed_and_the_most_urgent_come_first(
    ritas: Client, begin: Begin, begin_disliked: BeginDisliked
) -> None:
    moderated = begin(is_flagged=True)
    older, cut_off = begin_disliked(), begin(ending=Ending.CUT_OFF)
    by_a_rule, newer = flag_by_rule(begin()), begin_disliked()
    failed = begin(ending=Ending.FAILED)
    begin(), begin(ending=Ending.STOPPED)
    Feedback.give(reply_in(begin()), Feedback.Rating.UP, None)
    expected = keys(by_a_rule, moderated, newer, older, failed, cut_off)
    assert queue(ritas) == expected
    assert list_keys(ritas.get("/review/").text) == expected


def test_each_row_says_why_it_needs_a_look(ritas: Client, begin: Begin) -> None:
    conversation = flag_by_rule(begin(is_flagged=True, ending=Ending.TIMED_OUT, replies=2))
    Feedback.give(reply_in(conversation), Feedback.Rating.DOWN, None)
    [row] = rows(ritas, show="queue")
    assert words(row)[1] == (
        "Flagged by moderation, Flagged by the rule Names, Thumbs down, Timed out (2)"
    )


def test_a_chat_with_several_reasons_is_listed_once(
    ritas: Client, begin: Begin, begin_disliked: BeginDisliked
) -> None:
    every = flag_by_rule(begin(is_flagged=True, ending=Ending.FAILED))
    Feedback.give(reply_in(every), Feedback.Rating.DOWN, None)
    assert queue(ritas) == keys(every)


def test_a_chat_leaves_with_its_verdict_and_when_its_reason_is_gone(
    ritas: Client, begin: Begin, begin_disliked: BeginDisliked
) -> None:
    flagged_chat, other = begin(is_flagged=True), begin_disliked()
    get_or_create_review(flagged_chat).decide("fine", User.objects.get(username="rita"))
    assert queue(ritas) == keys(other)
    assert find_keys(ritas, show="decided") == keys(flagged_chat)
    Feedback.give(reply_in(other), None, None)
    assert queue(ritas) == []


def test_a_flag_that_is_gone_leaves_the_less_urgent_reason(
    ritas: Client, begin: Begin, begin_disliked: BeginDisliked
) -> None:
    was_flagged = begin(is_flagged=True, ending=Ending.FAILED)
    was_flagged.messages.update(is_flagged=False)
    down = begin_disliked()
    assert queue(ritas) == keys(down, was_flagged)


def test_the_navigation_counts_the_queue(
    ritas: Client, begin: Begin, begin_disliked: BeginDisliked
) -> None:
    def read_count() -> str:
        nav = parse(ritas.get("/review/?show=all").text).find("nav", id="frame-menu")
        return nav.find("a").text

    begin(), flag_by_rule(begin_disliked())
    get_or_create_review(begin(is_flagged=True)).decide("fine", User.objects.get(username="rita"))
    was_flagged = begin(is_flagged=True)
    was_flagged.messages.update(is_flagged=False)
    assert read_count() == "Review 1 to look at"
    begin_disliked(), begin(ending=Ending.FAILED)
    assert read_count() == "Review 3 to look at"
    Feedback.objects.all().delete()
    ReviewRule.objects.all().delete()
    Conversation.objects.filter(messages__ending=Ending.FAILED).delete()
    assert read_count() == "Review"


def test_the_lists_show_what_is_claimed_and_decided(ritas: Client, begin: Begin) -> None:
    mine, theirs, decided = begin(), begin(), begin()
    rita, olive = User.objects.get(username="rita"), User.objects.create_user("o", reviews=True)
    get_or_create_review(mine).claim(rita)
    get_or_create_review(theirs).claim(olive)
    get_or_create_review(decided).decide("unclear", olive)
    assert find_keys(ritas, show="mine") == keys(mine)
    assert find_keys(ritas, show="decided") == keys(decided)
    assert find_keys(ritas, show="all") == keys(decided, theirs, mine)


def test_a_filter_narrows_the_queue(ritas: Client, begin: Begin, bob: User) -> None:
    begin(is_flagged=True)
    his = begin(bob, is_flagged=True, model="two")
    failed = begin(bob, ending=Ending.FAILED)
    assert queue(ritas, person="bob") == keys(his, failed)
    assert queue(ritas, model="two") == queue(ritas, flagged="any", person="bob") == keys(his)
    assert queue(ritas, verdict="fine") == []


@pytest.mark.parametrize("page", [1, 2, 3])
def test_pages_of_the_queue_have_no_gaps(
    ritas: Client,
    begin: Begin,
    begin_disliked: BeginDisliked,
    monkeypatch: pytest.MonkeyPatch,
    page: int,
) -> None:
    monkeypatch.setattr("chatapp.staff.review.lists.pages.PAGE", page)
    for _ in range(2):
        begin(is_flagged=True), flag_by_rule(begin(is_flagged=True)), begin_disliked()
        begin(ending=Ending.FAILED), begin(ending=Ending.CUT_OFF)
    used = timezone.now() - timedelta(days=2)
    Conversation.objects.filter(pk__in=Conversation.objects.all()[3:7]).update(updated_at=used)
    seen: list[str] = []
    path = "/review/"
    while path:
        text = ritas.get(path).text
        seen += list_keys(text)
        path = "".join(link.attributes["href"] for link in parse(text).find_all("a", rel="next"))
    assert len(seen) == len(set(seen)) == 10
    monkeypatch.undo()
    assert seen == queue(ritas)


def test_one_steps_through_the_queue_in_its_order(
    ritas: Client, begin: Begin, begin_disliked: BeginDisliked
) -> None:
    begin(ending=Ending.FAILED), begin_disliked(), begin(), begin(is_flagged=True), begin_disliked()
    expected = queue(ritas)
    walk = [find_first_address(ritas)]
    while after := find_links_by_key(ritas, walk[-1]).get("o"):
        walk.append(after)
    assert [key_in(step_address) for step_address in walk] == expected
    back = [walk[-1]]
    while before := find_links_by_key(ritas, back[-1]).get("p"):
        back.append(before)
    assert [key_in(step_address) for step_address in back] == expected[::-1]


def verdict_on(client: Client, link: str, **fields: str) -> str:
    """Give a verdict on the chat that a link leads to; return where the answer leads."""
    address, _, query = link.partition("?")
    sent = {"version": "0", "verdict": "fine", "unopened": "all"} | fields
    return client.post(f"{address}verdict/?{query}", sent).headers["Location"]


def test_after_a_verdict_the_next_chat_opens_and_after_the_last_one_the_list(
    ritas: Client, begin: Begin
) -> None:
    second, first = (begin(is_flagged=True) for _ in range(2))
    link = find_first_address(ritas)
    assert key_in(link) == str(first.pk)
    following = verdict_on(ritas, link)
    assert key_in(following) == str(second.pk)
    assert "Saved: Fine." in ritas.get(following).text
    assert verdict_on(ritas, following) == "/review/?show=queue"


def test_a_verdict_that_is_removed_or_refused_stays_on_the_chat(
    ritas: Client, begin: Begin
) -> None:
    for _ in range(2):
        begin(is_flagged=True)
    link = find_first_address(ritas)
    verdict_on(ritas, link)
    assert verdict_on(ritas, link, version="0", verdict="minor") == link
    assert verdict_on(ritas, link, version="1") == link
    assert find_keys(ritas, show="decided") == []


def test_in_other_lists_a_verdict_stays_on_the_chat(ritas: Client, begin: Begin) -> None:
    for _ in range(2):
        begin(is_flagged=True)
    link = find_first_address(ritas, flagged="any")
    assert verdict_on(ritas, link) == link


def test_the_reason_to_open_a_chat_of_the_queue_is_suggested_and_names_no_rule(
    ritas: Client, begin: Begin
) -> None:
    conversation = flag_by_rule(begin(ending=Ending.CUT_OFF, replies=3))
    field = parse(ritas.get(find_first_address(ritas)).text).find("input", name="reason")
    assert field.attributes["value"] == "Review queue: flagged by a rule, cut off (3)"
    elsewhere = parse(ritas.get(f"/review/{conversation.pk}/").text).find("input", name="reason")
    assert "value" not in elsewhere.attributes
