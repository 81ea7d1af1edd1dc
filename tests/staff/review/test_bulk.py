"""Many conversations decided about at once: each on record, and none that somebody else changed."""

import pytest
from django.test import Client

from chatapp.models import AuditEvent, Conversation, Review, ReviewLabel, User
from tests.conftest import signed_in
from tests.staff.review.conftest import Begin, review_of
from tests.staff.review.told import told_by

pytestmark = pytest.mark.django_db

BULK = "/review/bulk/"


@pytest.fixture
def three(begin: Begin) -> list[Conversation]:
    return [begin() for _ in range(3)]


def do(client: Client, act: str, ticked: list[Conversation], version: int = 0, **more: str) -> str:
    """What is told then."""
    rows = [f"{one.pk} {version}" for one in ticked]
    answer = client.post(BULK, {"act": act, "rows": rows, **more}, follow=True)
    assert answer.redirect_chain[0][1] == 302
    return told_by(answer.text)


def test_all_are_decided_about_and_each_is_on_record(
    ritas: Client, three: list[Conversation]
) -> None:
    assert do(ritas, "verdict fine", three) == "3 done."
    assert [one.verdict for one in Review.objects.all()] == ["fine"] * 3
    events = AuditEvent.objects.filter(action="review.decided")
    assert {event.target for event in events} == {str(one.pk) for one in three}
    assert all(event.detail.said["in_bulk"] is True for event in events)
    assert events[0].detail.said["after"] == {"verdict": "fine"}


def test_they_are_claimed_and_let_go(ritas: Client, three: list[Conversation]) -> None:
    assert do(ritas, "claim", three[:2]) == "2 done."
    assert [str(review_of(one).claimant) for one in three] == ["rita", "rita", "None"]
    assert do(ritas, "release", three[:2], version=1) == "2 done."
    assert Review.objects.filter(claimed_by=None).count() == 3


def test_what_a_colleague_is_at_or_has_changed_is_left_alone(
    ritas: Client, three: list[Conversation]
) -> None:
    first, second, third = three
    bob = signed_in(User.objects.create_user("bob", is_staff=True, reviews=True))
    assert do(bob, "claim", [first]) == "1 done."
    told = do(ritas, "verdict fine", three)
    assert told == "2 done. 1 left alone: somebody changed it meanwhile."
    assert review_of(first).verdict == ""
    rows = [f"{first.pk} 1", f"{second.pk} 1", f"{third.pk} 0"]
    answer = ritas.post(BULK, {"act": "claim", "rows": rows}, follow=True)
    told = told_by(answer.text)
    assert told.startswith("1 done. 1 left alone: bob has claimed this chat until ")
    assert told.endswith("1 left alone: somebody changed it meanwhile.")


def test_a_label_is_added_and_taken_off_beside_others(
    ritas: Client, three: list[Conversation]
) -> None:
    odd, kept = (ReviewLabel.objects.create(name=name) for name in ("odd", "kept"))
    review_of(three[0]).label([kept])
    assert do(ritas, "label", three[:1], version=1, label=str(odd.pk)) == "1 done."
    assert {one.name for one in review_of(three[0]).labels.all()} == {"odd", "kept"}
    assert do(ritas, "unlabel", three[:1], version=2, label=str(odd.pk)) == "1 done."
    assert [one.name for one in review_of(three[0]).labels.all()] == ["kept"]
    assert do(ritas, "label", three, label="") == "Choose the label first."


def test_what_makes_no_sense_does_nothing(ritas: Client, three: list[Conversation]) -> None:
    assert "There is no such verdict" in do(ritas, "verdict <b>", three)
    assert "choose what is to be done" in do(ritas, "drop", three)
    assert do(ritas, "claim", []).startswith("Tick the conversations first")
    answer = ritas.post(BULK, {"act": "claim", "rows": "\0 0"}, follow=True)
    assert "these are no conversations" in answer.text
    assert "50 at once are the most" in do(ritas, "claim", [Conversation() for _ in range(51)])
    assert do(ritas, "claim", [Conversation()]) == "0 done. 1 left alone: it is not here any more."
    assert not Review.objects.exclude(version=0).exists()


def test_the_list_is_shown_again_as_it_was_narrowed(
    ritas: Client, three: list[Conversation]
) -> None:
    asked = "model=one&verdict=none&next=//evil.example&csrfmiddlewaretoken=x"
    rows = [f"{three[0].pk} 0"]
    answer = ritas.post(BULK, {"act": "claim", "rows": rows, "asked": asked})
    assert answer.headers["Location"] == "/review/?model=one&verdict=none"


def test_who_may_not_review_changes_nothing(alices: Client, three: list[Conversation]) -> None:
    rows = [f"{one.pk} 0" for one in three]
    assert alices.post(BULK, {"act": "verdict fine", "rows": rows}).status_code in (302, 403, 404)
    assert not Review.objects.exists()
