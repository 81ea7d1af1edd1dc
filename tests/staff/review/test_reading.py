"""Opening a conversation takes a reason, lasts for a while and is recorded."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from chatapp.models import (
    AuditEvent,
    Conversation,
    Message,
    Opening,
    ReplyImage,
    ReviewPolicy,
    Upstream,
    Usage,
    User,
)
from chatapp.staff.review.reading import history, reading
from tests.staff.review.conftest import ANSWER, PROMPT, TITLE, Begin
from tests.support.page import parse
from tests.support.reviewer import address, open_for_review
from tests.support.stored import build_reply, end

pytestmark = pytest.mark.django_db

MARKUP = '<img src=x onerror="alert(1)">'


@pytest.fixture
def conversation(begin: Begin) -> Conversation:
    return begin(cost=2_000_000_000)


def test_without_an_opening_the_page_shows_figures_and_no_text(
    ritas: Client, conversation: Conversation
) -> None:
    page = ritas.get(address(conversation.pk)).text
    assert "$2.00" in page
    assert not [word for word in (TITLE, PROMPT, ANSWER) if word in page]
    assert not AuditEvent.objects.filter(action="conversation.opened").exists()


def test_an_opening_shows_every_branch_and_its_reason(
    ritas: Client, conversation: Conversation, saved_upstream: Upstream
) -> None:
    prompt = conversation.messages.get(role="user")
    conversation.answer(prompt, saved_upstream, "other-model", uuid4())  # still streaming
    page = open_for_review(ritas, conversation.pk, f"Why {MARKUP}").text
    assert PROMPT in page
    assert ANSWER in page
    assert "other-model" in page
    assert "(reported)" in page
    assert "not saved yet" in page
    assert parse(page).find_all("img", src="x") == []
    assert f"Why {MARKUP}" in parse(page).text
    event = AuditEvent.objects.get(action="conversation.opened")
    assert (event.target, event.person) == (str(conversation.pk), conversation.user_id)
    assert event.detail.values["reason"] == f"Why {MARKUP}"


def test_each_message_names_its_branch_and_its_parent(
    ritas: Client, conversation: Conversation, saved_upstream: Upstream
) -> None:
    first, reply = conversation.messages.order_by("sequence")
    prompts = [first, reply]
    for parent in (reply.pk, None, reply.pk):
        prompt, answer = conversation.ask(uuid4(), "Else?", parent, saved_upstream, "one", uuid4())
        end(answer, build_reply(ANSWER))
        prompts.append(prompt)
    page = parse(open_for_review(ritas, conversation.pk).text)
    labels = {
        section.attributes["data-id"]: " ".join(
            label.text.strip() for label in section.find_all("p", class_="review-label")
        )
        for section in page.find_all("section", class_="review-message")
    }
    prompt_labels = [labels[str(shown_prompt.pk)] for shown_prompt in prompts]
    assert prompt_labels == [
        *("Branch 1 of 2", "", "Branch 1 of 2 after an earlier message", "Branch 2 of 2"),
        "Branch 2 of 2 after an earlier message",
    ]
    assert f'href="#m-{reply.pk}"' in open_for_review(ritas, conversation.pk).text


def test_an_opening_ends_after_half_an_hour(ritas: Client, conversation: Conversation) -> None:
    assert PROMPT in open_for_review(ritas, conversation.pk).text
    opening = Opening.objects.get()
    assert opening.ends_at - opening.opened_at >= timedelta(minutes=29)
    Opening.objects.update(ends_at=timezone.now())
    page = ritas.get(address(conversation.pk)).text
    assert PROMPT not in page
    assert "Why are you opening this chat?" in page


def test_an_opening_is_for_one_reviewer_and_one_conversation(
    ritas: Client, olives: Client, begin: Begin
) -> None:
    opened_chat, other = begin(), begin()
    open_for_review(ritas, opened_chat.pk)
    assert PROMPT not in ritas.get(address(other.pk)).text
    assert PROMPT not in olives.get(address(opened_chat.pk)).text


@pytest.mark.parametrize("reason", ["", "   ", "x" * 501])
def test_an_invalid_reason_opens_nothing(
    ritas: Client, conversation: Conversation, reason: str
) -> None:
    answer = ritas.post(f"{address(conversation.pk)}open/", {"reason": reason}, follow=True)
    assert PROMPT not in answer.text
    assert "Enter a reason first." in answer.text or "at most 500 characters" in answer.text
    assert not Opening.objects.exists()


def test_a_chat_closed_by_its_policy_is_not_found(ritas: Client, begin: Begin) -> None:
    ReviewPolicy.objects.create(scope="nothing")
    closed = begin()
    assert ritas.get(address(closed.pk)).status_code == 404
    answer = ritas.post(f"{address(closed.pk)}open/", {"reason": "x"})
    assert answer.status_code == 404
    assert not Opening.objects.exists()
    assert ritas.get(f"{address(closed.pk)}changes/").status_code == 404


def test_a_message_as_json_is_shown_while_the_chat_is_open(
    ritas: Client, conversation: Conversation, begin: Begin
) -> None:
    reply = conversation.messages.get(role="assistant")
    raw = f"{address(conversation.pk)}messages/{reply.pk}/"
    redirected = ritas.get(raw, follow=True)
    assert redirected.redirect_chain == [(address(conversation.pk), 302)]
    assert "Open the chat first, with a reason." in redirected.text
    assert ANSWER not in redirected.text
    assert f'href="{raw}"' in open_for_review(ritas, conversation.pk).text
    stored = ritas.get(raw).json()
    assert (stored["message"]["content"], stored["message"]["ending"]) == (ANSWER, "complete")
    assert stored["usage"]["cost"] == 2_000_000_000
    elsewhere = begin().messages.get(role="assistant").pk
    assert ritas.get(f"{address(conversation.pk)}messages/{elsewhere}/").status_code == 404


def test_images_are_shown_while_the_chat_is_open(ritas: Client, conversation: Conversation) -> None:
    reply = conversation.messages.get(role="assistant")
    ReplyImage.objects.create(message=reply, position=0, media_type="image/gif", data=b"GIF89a")
    image = f"/replies/{reply.pk}/images/0/"
    assert ritas.get(image).status_code == 404
    open_for_review(ritas, conversation.pk)
    assert ritas.get(image).status_code == 200
    Opening.objects.update(ends_at=timezone.now())
    assert ritas.get(image).status_code == 404


def test_totals_say_what_is_estimated_and_what_is_unknown(ritas: Client, begin: Begin) -> None:
    conversation = begin(replies=2)
    first, second = Message.objects.filter(role="assistant").order_by("created_at")
    estimated = Usage.Provenance.ESTIMATED
    Usage.objects.filter(pk=first.pk).update(
        provenance=estimated, upper_prompt_tokens=0, upper_completion_tokens=1100
    )
    page = " ".join(parse(ritas.get(address(conversation.pk)).text).text.split())
    assert "2,000, 1,000 of them estimated (at most 1,100)" in page
    Usage.objects.filter(pk=second.pk).update(provenance=Usage.Provenance.UNKNOWN)
    page = " ".join(parse(ritas.get(address(conversation.pk)).text).text.split())
    assert "2, 1 with unknown usage" in page


def test_newer_and_older_links_lead_to_neighbours_even_if_times_are_equal(
    ritas: Client, begin: Begin
) -> None:
    made = [begin() for _ in range(4)]
    Conversation.objects.filter(pk__in=[chat.pk for chat in made[1:3]]).update(
        updated_at=made[1].updated_at
    )
    trashed = made[3]
    Conversation.objects.filter(pk=trashed.pk).update(trashed_at=timezone.now())
    newest_first = Conversation.objects.exclude(pk=trashed.pk).values_list("pk", flat=True)
    keys = list(newest_first.order_by("-updated_at", "-id"))
    for newer, key, older in zip([None, *keys], keys, [*keys[1:], None], strict=False):
        links = parse(ritas.get(address(key)).text).find_all(".tabs a[rel]")
        leads_to = {link.attributes["rel"]: link.attributes["href"] for link in links}
        expected = {"prev": newer, "next": older}
        assert {name: f"{address(pk)}" for name, pk in expected.items() if pk} == {
            name: str(path) for name, path in leads_to.items()
        }


def test_a_deleted_reviewers_steps_stay_in_the_history(
    ritas: Client, olives: Client, conversation: Conversation
) -> None:
    open_for_review(ritas, conversation.pk)
    User.objects.get(username="rita").delete()
    page = olives.get(address(conversation.pk)).text
    assert "Someone whose account was deleted" in page


def test_a_truncated_history_says_where_the_rest_is(
    ritas: Client, olives: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (history, reading):
        monkeypatch.setattr(module, "MAX_STEPS", 3)
    page = address(conversation.pk)
    for _ in range(3):
        open_for_review(olives, conversation.pk)
    assert "Showing the newest" not in olives.get(page).text
    open_for_review(olives, conversation.pk)
    history_section = parse(olives.get(page).text).find(
        "section", **{"aria-labelledby": "history-title"}
    )
    assert len(history_section.find_all("li")) == 3
    assert "Showing the newest 3." in history_section.text
    link = f"/audit/?about={conversation.pk}"
    assert [anchor.attributes["href"] for anchor in history_section.find_all("a")] == [link]
    assert olives.get(link).text.count("opened a chat") >= 4
    assert link not in ritas.get(page).text
    assert "audit log, which administrators can read" in ritas.get(page).text
