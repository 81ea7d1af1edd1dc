"""The viewers of a process, and the conversation that each of them shows."""

import gc
from uuid import UUID, uuid4

import pytest

from chatapp.realtime.viewers import Viewers
from tests.realtime.viewers.doubles import Recorder

SKY, SEA = uuid4(), uuid4()


@pytest.fixture
def viewers() -> Viewers:
    return Viewers()


def add_viewers(viewers: Viewers, *conversations: UUID | None) -> list[Recorder]:
    """Add a viewer of Alice's for each of these conversations."""
    added = []
    for conversation in conversations:
        viewer = Recorder()
        viewers.add(viewer)
        viewers.show(viewer, conversation)
        added.append(viewer)
    return added


def test_viewers_are_found_by_the_conversation_they_show(viewers: Viewers) -> None:
    first, other, _ = add_viewers(viewers, SKY, SKY, SEA)
    assert set(viewers.showing(SKY)) == {first, other}
    assert viewers.get_conversation(first) == SKY
    assert viewers.conversations() == {SKY, SEA}


def test_a_viewer_shows_one_conversation_at_a_time_or_none(viewers: Viewers) -> None:
    [viewer] = add_viewers(viewers, SKY)
    viewers.show(viewer, SEA)
    assert viewers.conversations() == {SEA}
    assert not viewers.showing(SKY)
    viewers.show(viewer, None)
    assert viewers.get_conversation(viewer) is None
    assert viewer in viewers


def test_a_removed_viewer_shows_nothing(viewers: Viewers) -> None:
    first, other = add_viewers(viewers, SKY, SKY)
    viewers.remove(first)
    assert first not in viewers
    assert list(viewers) == [other]
    assert viewers.get_conversation(first) is None
    assert set(viewers.showing(SKY)) == {other}


def test_a_set_of_viewers_that_is_held_stays_up_to_date(viewers: Viewers) -> None:
    showing = viewers.showing(SKY)
    [viewer] = add_viewers(viewers, SKY)
    assert set(showing) == {viewer}
    viewers.remove(viewer)
    gc.collect()
    assert viewers.showing(SKY) is showing


def test_a_persons_viewers_are_counted(viewers: Viewers) -> None:
    first, other = add_viewers(viewers, SKY, None)
    assert (viewers.count_for_user(1), viewers.count_for_user(2), len(viewers)) == (2, 0, 2)
    viewers.remove(first)
    viewers.remove(other)
    assert viewers.count_for_user(1) == 0


def test_viewers_can_be_removed_while_iterating(viewers: Viewers) -> None:
    add_viewers(viewers, SKY, SEA, None)
    for viewer in viewers:
        viewers.remove(viewer)
    assert not viewers
