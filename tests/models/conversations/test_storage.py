"""Storage that people use without asking a model is bounded, in total and per hour."""

import pytest
from pytest_django import Settings

from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.models import Conversation, Feedback, Preset, Project, Refused, Upstream, User
from chatapp.models.conversations.messages.storage import charge_quota
from tests.support.stored import fork_conversation, store_turn

pytestmark = pytest.mark.django_db

LIMIT = 10_000


@pytest.fixture(autouse=True)
def small(settings: Settings) -> None:
    settings.CHATAPP_STORED_BYTES_PER_PERSON = LIMIT


def ample() -> TokenBucket:
    return TokenBucket(0, 10**9)


def test_projects_count_in_bytes(carol: User) -> None:
    Project.objects.create(user=carol, name="Sky", instructions="\N{PILE OF POO}" * 1000)
    charge_quota(carol, LIMIT - 4003, ample())
    with pytest.raises(Refused, match=r"presets and notes take up 3\.9\xa0KB of the 9\.8\xa0KB"):
        charge_quota(carol, LIMIT - 4002, ample())


def test_replaced_text_frees_its_bytes(carol: User) -> None:
    Project.objects.create(user=carol, name="", instructions="x" * LIMIT)
    charge_quota(carol, LIMIT, ample(), in_place_of=LIMIT)
    with pytest.raises(Refused):
        charge_quota(carol, LIMIT + 1, ample(), in_place_of=LIMIT)


def test_a_person_over_the_limit_can_still_shorten_text(carol: User) -> None:
    Project.objects.create(user=carol, name="", instructions="x" * 2 * LIMIT)
    charge_quota(carol, LIMIT + 1, ample(), in_place_of=2 * LIMIT)


def test_forks_and_notes_count_until_they_are_deleted(
    carol: User, conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = store_turn(conversation, gateway, "Why?")
    Feedback.give(reply, Feedback.Rating.UP, "é" * 500)
    charge_quota(carol, LIMIT - 1000, ample())
    with pytest.raises(Refused):
        charge_quota(carol, LIMIT - 999, ample())
    Feedback.give(reply, Feedback.Rating.DOWN, None)  # keeps the note
    Feedback.give(reply, Feedback.Rating.DOWN, "x")
    charge_quota(carol, LIMIT - 1, ample())
    fork = fork_conversation(carol, reply.pk)
    with pytest.raises(Refused):
        charge_quota(carol, LIMIT - 1, ample())
    fork.erase()
    Feedback.give(reply, None, None)
    charge_quota(carol, LIMIT, ample())


def test_a_note_older_than_the_quota_can_be_removed(
    conversation: Conversation, gateway: Upstream
) -> None:
    _, reply = store_turn(conversation, gateway, "Why?")
    Feedback.give(reply, Feedback.Rating.UP, "x" * 500)
    Conversation.objects.filter(pk=conversation.pk).update(stored_bytes=0)
    Feedback.give(reply, None, None)
    conversation.refresh_from_db()
    assert conversation.stored_bytes == 0


def test_nobody_can_store_more_than_a_part_of_the_quota_per_hour(carol: User) -> None:
    hourly = TokenBucket(0, 1000)
    charge_quota(carol, 600, hourly)
    with pytest.raises(Refused, match="within an hour"):
        charge_quota(carol, 600, hourly)
    charge_quota(carol, 400, hourly)


def test_each_person_has_their_own_quota(carol: User) -> None:
    dave = User.objects.create_user("dave")
    Project.objects.create(user=carol, name="", instructions="x" * LIMIT)
    charge_quota(dave, LIMIT, ample())


def test_versions_of_presets_count_in_bytes(carol: User) -> None:
    preset = Preset.start(carol, name="A", system_prompt="é" * 1000, parameters={"seed": 1})
    preset.change(carol, 1, system_prompt="é" * 1500)
    with pytest.raises(Refused, match=r"take up 4\.9\xa0KB"):
        charge_quota(carol, LIMIT - 5000, ample())
    charge_quota(carol, LIMIT - 5100, ample())
