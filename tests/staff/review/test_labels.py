"""Review labels: administrators add and delete them."""

import pytest
from django.test import Client

from chatapp.models import AuditEvent, Conversation, ReviewLabel
from tests.staff.review.conftest import Begin, get_or_create_review

pytestmark = pytest.mark.django_db

LABELS = "/review/labels/"


def test_labels_are_added_shown_and_deleted_and_each_is_recorded(
    olives: Client,
    begin: Begin,
) -> None:
    assert "No labels yet" in olives.get(LABELS).text
    assert olives.post(LABELS, {"name": "<b>odd</b>"}).status_code == 302
    label = ReviewLabel.objects.get()
    page = olives.get(LABELS).text
    assert "&lt;b&gt;odd&lt;/b&gt;" in page
    assert "<b>" not in page
    conversation = begin()
    get_or_create_review(conversation).label([label])
    assert "on 1 chat" in olives.get(LABELS).text
    assert olives.post(f"{LABELS}{label.pk}/delete/").status_code == 302
    assert not ReviewLabel.objects.exists()
    assert Conversation.objects.filter(review__isnull=False).exists()
    actions = AuditEvent.objects.filter(action__startswith="reviewlabel")
    assert [event.action for event in actions] == ["reviewlabel.deleted", "reviewlabel.added"]


@pytest.mark.parametrize("name", ["", "odd", "x" * 41])
def test_an_invalid_or_existing_name_is_refused(olives: Client, name: str) -> None:
    ReviewLabel.objects.create(name="odd")
    page = olives.post(LABELS, {"name": name})
    assert (page.status_code, 'role="alert"' in page.text) == (200, True)
    assert ReviewLabel.objects.count() == 1


def test_reviewers_cannot_manage_labels(ritas: Client) -> None:
    assert ritas.get(LABELS).status_code == 403
    assert ritas.post(LABELS, {"name": "odd"}).status_code == 403
    assert not ReviewLabel.objects.exists()


def test_administrators_find_a_link_to_the_labels(olives: Client, ritas: Client) -> None:
    assert LABELS in olives.get("/review/").text
    assert LABELS in olives.get("/policy/").text
    assert "An administrator can add some" in ritas.get("/review/").text
