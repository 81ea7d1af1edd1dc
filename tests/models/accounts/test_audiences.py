"""The people whom a person who shares something may see and name."""

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError

from chatapp.accounts.people_fields import MAX_PEOPLE, PeopleField, suggested_people
from chatapp.models import User
from chatapp.models.accounts.audiences import find_colleagues, person_to_share_with

pytestmark = pytest.mark.django_db


@pytest.fixture
def team(alice: User, bob: User) -> Group:
    team = Group.objects.create(name="team")
    team.user_set.add(alice, bob)
    return team


def test_only_members_of_common_groups_are_suggested(
    alice: User, bob: User, olive: User, team: Group
) -> None:
    Group.objects.create(name="other").user_set.add(alice, bob)
    assert suggested_people(alice) == [bob]
    assert suggested_people(olive) == [alice, bob]  # administrators know everybody
    team.user_set.remove(alice)
    bob.is_active = False
    bob.save()
    assert not find_colleagues(alice)


def test_a_person_is_found_by_an_exact_name_or_address_only(alice: User, bob: User) -> None:
    bob.email = "bob@example.org"
    bob.save()
    assert person_to_share_with("BOB") == person_to_share_with("bob@example.org") == bob
    assert person_to_share_with("bo") is None
    assert person_to_share_with("") is None
    bob.is_active = False
    bob.save()
    assert person_to_share_with("bob") is None


def test_several_people_are_named_at_once(alice: User, bob: User, olive: User) -> None:
    field = PeopleField(by=alice)
    assert field.clean("bob, olive bob,") == [bob, olive]


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ("bob, bo", "Nobody here signs in as “bo”"),
        ("alice", "your own account"),
        (" ".join(map(str, range(MAX_PEOPLE + 1))), "at most"),
        ("\0", "Null characters"),
        ("", "required"),
    ],
)
def test_other_people_are_refused_with_a_sentence(
    alice: User, bob: User, names: str, problem: str
) -> None:
    with pytest.raises(ValidationError, match=problem):
        PeopleField(by=alice).clean(names)
