"""The conversations that a reviewer has opened."""

import pytest

from chatapp.models import Opening, User

pytestmark = pytest.mark.django_db


def test_an_opening_counts_for_the_reviewer_who_opened_the_conversation(
    alice: User, bob: User, olive: User
) -> None:
    opened, other = (alice.conversations.create(title=title) for title in ("Opened", "Other"))
    Opening.begin(olive, opened, "A matter")
    keys = [opened.pk, other.pk]
    assert Opening.opened_among(keys, olive) == {opened.pk}
    assert Opening.opened_among(keys, bob) == set()
