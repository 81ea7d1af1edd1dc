"""The settings of the installation."""

import pytest

from chatapp.models import Installation, User


@pytest.mark.parametrize(
    ("closing", "wants", "finishes"),
    [
        (None, False, False),
        (None, True, True),
        ("choose", False, False),
        ("choose", True, True),
        ("stop", True, False),
        ("finish", False, True),
    ],
)
def test_people_choose_whether_replies_finish_unless_an_administrator_decides(
    alice: User, closing: str | None, wants: bool, finishes: bool
) -> None:
    if closing:
        Installation(pk=1, closing=closing).save()
    alice.finishes_replies = wants
    assert Installation.load().finishes(alice) is finishes
