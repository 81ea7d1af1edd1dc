"""Attached files in the review: under the policy of their chat, each view recorded."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from chatapp.models import Attachment, AuditEvent, Conversation, Opening, ReviewPolicy, User
from tests.staff.review.conftest import Begin
from tests.support.attaching import attach_file
from tests.support.reviewer import open_for_review

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation(begin: Begin) -> Conversation:
    return begin()


@pytest.fixture
def report(conversation: Conversation) -> Attachment:
    return attach_file(conversation.messages.get(role="user"), "report.txt", b"Sales fell")


def views() -> int:
    return AuditEvent.objects.filter(action="file.opened").count()


def test_a_file_is_served_while_the_chat_is_open_and_each_view_is_recorded(
    ritas: Client, alices: Client, conversation: Conversation, report: Attachment
) -> None:
    text = f"/files/{report.pk}/text/"
    assert alices.get(text).status_code == 200
    assert ritas.get(text).status_code == 404
    assert views() == 0
    open_for_review(ritas, conversation.pk)
    assert "Sales fell" in ritas.get(text).text
    assert ritas.get(f"/files/{report.pk}/").status_code == 200
    assert views() == 2
    event = AuditEvent.objects.filter(action="file.opened").latest("sequence")
    assert (event.target, event.person) == (str(conversation.pk), report.user_id)
    assert "viewed a file in" in alices.get("/privacy/").text
    Opening.objects.update(ends_at=timezone.now())
    assert ritas.get(text).status_code == 404


def test_a_reviewer_does_not_see_files_of_drafts_and_of_deleted_prompts(
    ritas: Client, conversation: Conversation, report: Attachment
) -> None:
    draft = attach_file(conversation.messages.get(role="user"), "draft.txt")
    Attachment.objects.filter(pk=draft.pk).update(message=None, conversation=conversation)
    open_for_review(ritas, conversation.pk)
    assert ritas.get(f"/files/{draft.pk}/text/").status_code == 404
    conversation.messages.update(deleted_at=timezone.now())
    assert ritas.get(f"/files/{report.pk}/text/").status_code == 404


def test_a_reviewer_changes_no_file(
    ritas: Client, conversation: Conversation, report: Attachment
) -> None:
    open_for_review(ritas, conversation.pk)
    for action in ("describe", "remove", "pages", "retry"):
        assert ritas.post(f"/files/{report.pk}/{action}/", {"alt": "x"}).status_code == 404


def test_a_policy_that_hides_names_keeps_originals_from_reviewers(
    ritas: Client, alices: Client, conversation: Conversation, report: Attachment
) -> None:
    """A document may name its author in its metadata; an image has none left."""
    image = attach_file(conversation.messages.get(role="user"), "photo.png", b"pixels")
    began = conversation.created_at - timedelta(days=1)
    ReviewPolicy.objects.create(scope="all", hides_names=True, begins_at=began)
    open_for_review(ritas, conversation.pk)
    answer = ritas.get(f"/files/{report.pk}/")
    assert (answer.status_code, "may name its author" in answer.text) == (403, True)
    assert "Sales fell" in ritas.get(f"/files/{report.pk}/text/").text
    assert ritas.get(f"/files/{image.pk}/").status_code == 200
    assert alices.get(f"/files/{report.pk}/").status_code == 200
    ritas.post(f"/review/{conversation.pk}/reveal/", {"reason": "A matter"})
    assert ritas.get(f"/files/{report.pk}/").status_code == 200


def test_a_person_who_no_longer_reviews_sees_no_file(
    ritas: Client, conversation: Conversation, report: Attachment
) -> None:
    open_for_review(ritas, conversation.pk)
    User.objects.filter(username="rita").update(reviews=False)
    assert ritas.get(f"/files/{report.pk}/text/").status_code == 404
