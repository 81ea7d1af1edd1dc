"""Review rules: administrators test, save, switch and delete them, and each step is recorded.

Also what rules, moderation and a thumbs-down flag, in the list and under the policy.
"""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from chatapp.models import (
    AuditEvent,
    Conversation,
    Feedback,
    Message,
    ReviewPolicy,
    ReviewRule,
    RuleFinding,
    User,
)
from tests.conftest import PASSWORD, signed_in
from tests.staff.review.conftest import ANSWER, PROMPT, TITLE, Begin
from tests.support.page import parse
from tests.support.reviewer import list_keys, open_for_review

pytestmark = pytest.mark.django_db

LIST, RULES, ADD = "/review/", "/review/rules/", "/review/rules/add/"
REASON = {"reason": "to see what it finds"}
WORDS = REASON | {
    "name": "<b>odd</b>",
    "kind": "words",
    "applies_to": "both",
    "words": f"x\n{PROMPT}",
}


def read_seal(page: str) -> str:
    [seal] = re.findall(r'name="seal" value="([^"]+)"', page)
    return str(seal)


def list_flagged_keys(client: Client, flagged: str) -> list[str]:
    return list_keys(client.get(LIST, {"flagged": flagged}).text)


def flag(conversation: Conversation, rule: ReviewRule) -> Message:
    message = conversation.messages.filter(role="user")[0]
    RuleFinding.objects.create(rule=rule, conversation=conversation, message=message)
    return message


def details(prefix: str) -> list[tuple[str, Any]]:
    events = AuditEvent.objects.filter(action__startswith=prefix).select_related("detail")
    return [(event.action, event.detail.values) for event in events.order_by("sequence")]


@pytest.mark.parametrize(
    ("scope", "why"),
    [
        ("all", ""),
        ("flagged", "that nothing has flagged were not tested"),
        ("nothing", "The policy lets no one read chats under it"),
    ],
)
def test_a_trial_reads_only_what_reviewers_may_and_says_so(
    olives: Client, begin: Begin, scope: str, why: str
) -> None:
    ReviewPolicy.objects.create(scope=scope)
    begin()
    page = " ".join(parse(olives.post(ADD, WORDS).text).text.split())
    assert ("1 of the newest 1" if scope == "all" else "0 of the newest 0") in page
    assert (why in page) if why else ("not tested" not in page)


def test_a_rule_is_tried_before_it_is_saved_and_both_are_recorded(
    olives: Client, begin: Begin
) -> None:
    conversation = begin()
    answer = olives.post(ADD, WORDS)
    assert not ReviewRule.objects.exists()
    assert "1 of the newest 1 chat." in " ".join(parse(answer.text).text.split())
    assert f"{LIST}{conversation.pk}/" in answer.text
    assert not [word for word in (TITLE, ANSWER) if word in answer.text]
    assert "<b>odd" not in answer.text
    seal = read_seal(answer.text)
    changed = olives.post(ADD, WORDS | {"words": "y", "seal": seal})
    assert "0 of the newest" in " ".join(changed.text.split())
    assert not ReviewRule.objects.exists()
    assert olives.post(ADD, WORDS | {"seal": seal}).status_code == 302
    rule = ReviewRule.objects.get()
    assert (rule.text, rule.is_on) == (f"x\n{PROMPT}", True)
    page = olives.get(RULES).text
    assert "&lt;b&gt;odd&lt;/b&gt;" in page
    assert "<b>" not in page
    events = details("reviewrule")
    assert [action for action, _ in events] == [
        *("reviewrule.tried", "reviewrule.matched", "reviewrule.tried", "reviewrule.added")
    ]
    assert events[0][1]["asked"]["looks_for"] == ["x", PROMPT]
    assert events[-1][1]["after"]["looks_for"] == ["x", PROMPT]


def test_changes_switches_and_deletions_are_recorded_with_before_and_after(
    olives: Client, begin: Begin
) -> None:
    rule = ReviewRule.objects.create(name="r", kind="words", applies_to="both", text="x")
    flag(begin(), rule)
    address = f"{RULES}{rule.pk}/"
    assert ">x</textarea>" in "".join(olives.get(address).text.split())
    costly = REASON | {"name": "r", "kind": "cost", "applies_to": "assistant", "cost": "0.5"}
    seal = read_seal(olives.post(address, costly).text)
    assert olives.post(address, costly | {"seal": seal}).status_code == 302
    rule.refresh_from_db()
    assert (rule.least, rule.text) == (5 * 10**8, "")
    assert 'value="0.5"' in olives.get(address).text
    began_at = rule.begins_at
    olives.post(f"{address}switch/", {"off": ""})
    rule.refresh_from_db()
    assert not rule.is_on
    assert RuleFinding.objects.exists()
    olives.post(f"{address}switch/", {"on": ""})
    rule.refresh_from_db()
    assert rule.is_on
    assert rule.begins_at > began_at
    assert olives.post(f"{address}delete/").status_code == 302
    assert not RuleFinding.objects.exists()
    events = details("reviewrule")
    assert [action.partition(".")[2] for action, _ in events] == [
        *("tried", "changed", "changed", "changed", "deleted")
    ]
    assert events[1][1]["before"]["looks_for"] == ["x"]
    assert events[1][1]["after"]["looks_for"] == "at least $0.5"
    assert (events[2][1]["before"]["is_on"], events[2][1]["after"]["is_on"]) == (True, False)
    assert events[4][1]["before"]["kind"] == "cost"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"name": ""}, "required"),
        ({"name": "taken"}, "A rule with this name already exists"),
        ({"words": " \n"}, "Enter what the rule looks for"),
        ({"words": "x\n" * 201}, "at most 200 lines"),
        ({"kind": "pattern", "pattern": "("}, "Correct it"),
        ({"kind": "pattern", "pattern": "x" * 501}, "at most 500"),
        ({"kind": "pattern", "pattern": r"\pL{100}"}, "t valid: "),
        ({"kind": "cost", "cost": "much"}, "Enter a number"),
        ({"kind": "cost", "cost": "1", "pattern": "(", "length": "odd"}, ""),
        ({"kind": "cost", "cost": "1", "applies_to": "user"}, "Only replies have a cost"),
        ({"kind": "length", "length": "0"}, "greater than or equal to 1"),
        ({"kind": "odd"}, "Select a valid choice"),
        ({"words": "a\0b"}, "Null characters"),
    ],
)
def test_an_invalid_rule_shows_the_error_at_its_field(
    olives: Client, wrong: dict[str, str], error: str
) -> None:
    ReviewRule.objects.create(name="taken", kind="words", applies_to="both", text="x")
    page = olives.post(ADD, WORDS | wrong)
    assert page.status_code == 200
    assert ('role="alert"' in page.text) is bool(error)
    assert error in page.text
    assert ReviewRule.objects.count() == 1


def test_reviewers_cannot_manage_rules(ritas: Client) -> None:
    assert ritas.get(RULES).status_code == 403
    assert ritas.post(ADD, WORDS).status_code == 403
    assert not ReviewRule.objects.exists()


def test_an_administrator_who_is_no_reviewer_learns_nothing_about_chats(
    begin: Begin,
) -> None:
    conversation = begin()
    adam = User.objects.create_superuser("adam", password=PASSWORD, reviews=False)
    adams = signed_in(adam, confirmed=True)
    page = adams.get(ADD).text
    assert ">Test<" not in page
    assert "Reason for the test" not in page
    assert adams.post(ADD, WORDS).status_code == 302
    rule = ReviewRule.objects.get()
    flag(conversation, rule)
    page = adams.get(RULES).text
    assert ">Flagged<" not in page
    assert "Only reviewers see how many messages a rule has flagged" in page
    assert [action for action, _ in details("reviewrule")] == ["reviewrule.added"]


def test_a_trial_needs_a_reason(olives: Client, begin: Begin) -> None:
    begin()
    page = olives.post(ADD, WORDS | {"reason": " "}).text
    assert "Enter a reason for the test first." in page
    assert "of the newest" not in page
    assert not AuditEvent.objects.filter(action__startswith="reviewrule").exists()


def test_the_privacy_page_shows_a_trial_that_found_ones_chat(
    olives: Client, alices: Client, bobs: Client, begin: Begin
) -> None:
    begin()
    olives.post(ADD, WORDS | {"words": "nowhere"})
    assert "tried a rule" not in alices.get("/privacy/").text
    olives.post(ADD, WORDS)
    privacy = " ".join(parse(alices.get("/privacy/").text).text.split())
    assert "tried a rule that would flag" in privacy
    assert "to see what it finds" in privacy
    assert "tried a rule" not in bobs.get("/privacy/").text


def test_counts_cover_only_what_reviewers_may_read(olives: Client, begin: Begin) -> None:
    rule = ReviewRule.objects.create(name="odd", kind="words", applies_to="both", text="x")
    flag(begin(), rule)
    flag(trashed := begin(), rule)
    Conversation.objects.filter(pk=trashed.pk).update(trashed_at=timezone.now())
    row = parse(olives.get(RULES).text).find_all("tbody")[0].find_all("tr")[0]
    assert [cell.text for cell in row.find_all("td", class_="number")] == ["1"]


def test_changing_rules_asks_for_the_password(begin: Begin) -> None:
    rule = ReviewRule.objects.create(name="odd", kind="words", applies_to="both", text="x")
    adams = signed_in(User.objects.create_superuser("adam"))
    addresses = [
        ADD,
        f"{RULES}{rule.pk}/",
        f"{RULES}{rule.pk}/switch/",
        f"{RULES}{rule.pk}/delete/",
    ]
    for address in addresses:
        answer = adams.post(address, WORDS)
        assert answer.headers["location"].startswith("/accounts/reauthenticate/"), address
    assert list(ReviewRule.objects.values_list("name", "is_on")) == [("odd", True)]


def test_a_trial_skips_trashed_and_closed_chats(olives: Client, begin: Begin) -> None:
    Conversation.objects.filter(pk=begin().pk).update(trashed_at=timezone.now())
    ReviewPolicy.objects.create(scope="nothing")
    begin()
    assert "0 of the newest 0" in " ".join(olives.post(ADD, WORDS).text.split())


def test_a_row_says_which_sources_flagged_it(ritas: Client, begin: Begin) -> None:
    moderated, thumbed, ruled, plain = begin(is_flagged=True), begin(), begin(), begin()
    reply = thumbed.messages.get(role="assistant")
    Feedback.give(reply, Feedback.Rating.DOWN, None)
    Feedback.give(plain.messages.get(role="assistant"), Feedback.Rating.UP, None)
    rule = ReviewRule.objects.create(name="odd", kind="words", applies_to="both", text="x")
    other = ReviewRule.objects.create(name="other", kind="words", applies_to="both", text="x")
    message = flag(ruled, rule)
    for source, expected in {
        "moderation": [moderated],
        "person": [thumbed],
        "rule": [ruled],
        f"rule-{rule.pk}": [ruled],
        f"rule-{other.pk}": [],
        "any": [ruled, thumbed, moderated],
        "none": [plain],
        "": [plain, ruled, thumbed, moderated],
    }.items():
        assert list_flagged_keys(ritas, source) == [str(chat.pk) for chat in expected], source
    page = ritas.get(LIST, {"show": "all"}).text
    assert "Flagged by moderation" in page
    assert "Thumbs down" in page
    assert "Flagged by the rule odd" in page
    message.deleted_at = reply.deleted_at = timezone.now()
    message.save(update_fields=["deleted_at"])
    reply.save(update_fields=["deleted_at"])
    assert list_flagged_keys(ritas, "any") == [str(moderated.pk)]


def test_the_page_shows_which_message_a_rule_flagged(ritas: Client, begin: Begin) -> None:
    chat = begin()
    rule = ReviewRule.objects.create(name="<b>odd</b>", kind="words", applies_to="both", text="x")
    message = flag(chat, rule)
    page = parse(open_for_review(ritas, chat.pk).text)
    flagged = {
        part.attributes["data-id"]: "Flagged by the rule “<b>odd</b>”" in part.text
        for part in page.find_all("section", class_="review-message")
    }
    assert flagged == {
        str(pk): pk == message.pk for pk in chat.messages.values_list("pk", flat=True)
    }


def test_a_flag_opens_a_chat_and_removing_it_closes_the_chat(ritas: Client, begin: Begin) -> None:
    ReviewPolicy.objects.create(scope="flagged")
    chat = begin()
    address = f"{LIST}{chat.pk}/"
    reply = chat.messages.get(role="assistant")
    rule = ReviewRule.objects.create(name="odd", kind="words", applies_to="both", text="x")
    assert ritas.get(address).status_code == 404
    Feedback.give(reply, Feedback.Rating.DOWN, None)
    assert ritas.get(address).status_code == 200
    Feedback.give(reply, Feedback.Rating.UP, None)
    assert ritas.get(address).status_code == 404
    flag(chat, rule)
    assert ritas.get(address).status_code == 200
    rule.delete()
    assert ritas.get(address).status_code == 404


def test_the_privacy_page_says_what_flags_chats(olives: Client, alices: Client) -> None:
    assert "No rule is on" in alices.get("/privacy/").text
    ReviewRule.objects.create(name="odd", kind="words", applies_to="both", text="x")
    ReviewRule.objects.create(name="o", kind="words", applies_to="both", text="x", is_on=False)
    ReviewPolicy.objects.create(scope="flagged")
    page = " ".join(alices.get("/privacy/").text.split())
    assert "One rule is on" in page
    assert "by your own thumbs-down" in page
    assert "Each search is recorded" in page
    assert RULES in olives.get("/policy/").text
    assert RULES in olives.get(LIST).text
