"""Alice's prompt is open to those whom she shares it with, and to nobody else."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.utils import timezone

from chatapp.models import (
    AuditEvent,
    Installation,
    LegalHold,
    PromptGrant,
    Refused,
    SavedPrompt,
    User,
)
from chatapp.models.library.sharing import Level, groups_to_share_with
from chatapp.realtime.worker.housekeeping import clean_up

pytestmark = pytest.mark.django_db


@pytest.fixture
def team(alice: User, bob: User) -> Group:
    team = Group.objects.create(name="team")
    team.user_set.add(alice, bob)
    return team


@pytest.fixture
def prompt(alice: User) -> SavedPrompt:
    return SavedPrompt.start(alice, title="Stand-up", command="standup", text="Summarise")


def open_to(user: User, level: Level = Level.USE) -> list[SavedPrompt]:
    return list(SavedPrompt.objects.open_to(user, level))


def test_what_is_not_shared_is_open_to_its_owner_only(
    prompt: SavedPrompt, alice: User, bob: User, olive: User
) -> None:
    assert open_to(alice, Level.EDIT) == [prompt]
    assert prompt.find_level(alice) == Level.EDIT
    for other in (bob, olive):
        assert open_to(other) == []
        assert prompt.find_level(other) is None


@pytest.mark.parametrize("level", Level)
def test_a_grant_opens_its_level_and_those_below(
    prompt: SavedPrompt, alice: User, bob: User, team: Group, level: Level
) -> None:
    prompt.share(team, level, alice)
    assert prompt.find_level(bob) == level
    assert {other_level for other_level in Level if open_to(bob, other_level)} == {
        other_level for other_level in Level if other_level <= level
    }
    assert list(SavedPrompt.objects.shared_with(bob)) == [prompt]
    assert list(SavedPrompt.objects.shared_with(alice)) == []


def test_the_highest_of_several_grants_counts_and_each_item_is_found_once(
    prompt: SavedPrompt, alice: User, bob: User, team: Group
) -> None:
    other = Group.objects.create(name="others")
    other.user_set.add(alice, bob)
    prompt.share(team, Level.EDIT, alice)
    prompt.share(other, Level.USE, alice)
    prompt.share(None, Level.READ, alice)
    assert open_to(bob) == open_to(bob, Level.EDIT) == [prompt]
    assert prompt.find_level(bob) == Level.EDIT


def test_rights_end_with_the_grant_the_membership_or_the_group(
    prompt: SavedPrompt, alice: User, bob: User, team: Group
) -> None:
    prompt.share(team, Level.USE, alice)
    bob.groups.remove(team)
    assert (open_to(bob), prompt.find_level(bob)) == ([], None)
    bob.groups.add(team)
    assert open_to(bob) == [prompt]
    prompt.unshare(team, alice)
    assert open_to(bob) == []
    prompt.share(team, Level.USE, alice)
    team.delete()
    assert open_to(bob) == []


def test_a_deleted_item_is_open_to_nobody_until_it_is_restored(
    prompt: SavedPrompt, alice: User, bob: User
) -> None:
    prompt.share(None, Level.EDIT, alice)
    prompt.discard()
    assert open_to(alice) == open_to(bob) == []
    assert list(SavedPrompt.objects.deleted_by(alice)) == [prompt]
    assert list(SavedPrompt.objects.deleted_by(bob)) == []
    prompt.restore()
    assert open_to(bob, Level.EDIT) == [prompt]


@pytest.mark.django_db(transaction=True)
def test_housekeeping_deletes_for_good_what_was_deleted_a_month_ago(
    prompt: SavedPrompt, alice: User, olive: User
) -> None:
    recent_prompt = SavedPrompt.start(alice, title="Kept", text="Text")
    recent_prompt.discard()
    SavedPrompt.objects.filter(pk=prompt.pk).update(deleted_at=timezone.now() - timedelta(days=31))
    assert list(SavedPrompt.objects.deleted_by(alice)) == [recent_prompt]
    hold = LegalHold.begin(alice, None, "a matter", olive)
    clean_up()
    assert SavedPrompt.objects.count() == 2
    hold.end(olive)
    clean_up()
    assert list(SavedPrompt.objects.all()) == [recent_prompt]


def test_only_the_owner_shares_and_an_administrator_can_end_it(
    prompt: SavedPrompt, alice: User, bob: User, olive: User
) -> None:
    prompt.share(None, Level.EDIT, alice)
    for other in (bob, olive):
        with pytest.raises(Refused, match="Only the owner"):
            prompt.share(None, Level.READ, other)
    with pytest.raises(Refused, match="Only the owner"):
        prompt.unshare(None, bob)
    prompt.unshare(None, olive)
    assert not PromptGrant.objects.exists()


def test_people_share_with_their_own_groups_and_administrators_with_all(
    prompt: SavedPrompt, alice: User, team: Group, olive: User
) -> None:
    other = Group.objects.create(name="others")
    with pytest.raises(Refused, match="groups that you belong to"):
        prompt.share(other, Level.USE, alice)
    assert list(groups_to_share_with(alice)) == [team]
    assert list(groups_to_share_with(olive)) == [other, team]


@pytest.mark.parametrize(
    ("who", "member", "may"),
    [
        ("everyone", False, True),
        ("groups", False, False),
        ("groups", True, True),
        ("administrators", True, False),
    ],
)
def test_administrators_decide_who_may_share(
    prompt: SavedPrompt, alice: User, team: Group, olive: User, who: str, member: bool, may: bool
) -> None:
    installation = Installation(pk=1, who_shares=who)
    installation.save()
    if member:
        installation.sharing_groups.add(team)
    assert installation.lets_share(alice) == may
    assert installation.lets_share(olive)
    if not may:
        with pytest.raises(Refused, match="an administrator has decided"):
            prompt.share(None, Level.USE, alice)


def test_what_is_shared_stays_shared_when_the_right_to_share_is_revoked(
    prompt: SavedPrompt, alice: User, bob: User
) -> None:
    prompt.share(None, Level.USE, alice)
    Installation(pk=1, who_shares="administrators").save()
    assert open_to(bob) == [prompt]
    prompt.unshare(None, alice)
    assert open_to(bob) == []


def test_sharing_is_recorded_without_the_text(
    prompt: SavedPrompt, alice: User, team: Group
) -> None:
    prompt.share(team, Level.READ, alice)
    prompt.unshare(team, alice)
    prompt.unshare(team, alice)
    shared, unshared = AuditEvent.objects.order_by("sequence")
    assert (shared.action, shared.actor, shared.person) == ("item.shared", alice.pk, alice.pk)
    assert shared.target == str(prompt.pk)
    assert shared.detail.values == {"with": "team", "right": "Can use and read it"}
    assert (unshared.action, unshared.detail.values) == ("item.unshared", {"with": "team"})


def test_a_group_and_everyone_have_one_grant_each(
    prompt: SavedPrompt, alice: User, team: Group
) -> None:
    for group in (team, None):
        prompt.share(group, Level.USE, alice)
        prompt.share(group, Level.EDIT, alice)
        with pytest.raises(IntegrityError), transaction.atomic():
            PromptGrant.objects.create(target=prompt, group=group, level=Level.USE)
    assert [str(grant) for grant in prompt.grants.order_by("pk")] == [
        "team: Can use, read and change it",
        "Everyone: Can use, read and change it",
    ]
