"""The preferences page."""

import pytest
from django.test import Client

from chatapp.models import Installation, User

PREFERENCES = "/preferences/"


@pytest.mark.parametrize("wants", [True, False])
def test_people_choose_whether_replies_finish(alice: User, alices: Client, wants: bool) -> None:
    User.objects.filter(pk=alice.pk).update(finishes_replies=not wants)
    answer = alices.post(PREFERENCES, {"finishes_replies": "on"} if wants else {}, follow=True)
    assert "Saved. This applies to your next prompts." in answer.text
    alice.refresh_from_db()
    assert alice.finishes_replies is wants


@pytest.mark.parametrize(
    ("closing", "sentence"), [("finish", "Replies are finished"), ("stop", "A reply stops")]
)
def test_an_administrators_choice_is_stated_and_cannot_be_changed(
    alices: Client, closing: str, sentence: str
) -> None:
    Installation(pk=1, closing=closing).save()
    page = alices.get(PREFERENCES).text
    assert sentence in page
    assert 'name="finishes_replies"' not in page


def test_saving_preferences_keeps_a_role_given_meanwhile(alice: User, alices: Client) -> None:
    alices.get(PREFERENCES)
    User.objects.filter(pk=alice.pk).update(reviews=True)
    alices.post(PREFERENCES, {"finishes_replies": "on", "reviews": "", "is_superuser": "on"})
    alice.refresh_from_db()
    assert (alice.finishes_replies, alice.reviews, alice.is_superuser) == (True, True, False)
