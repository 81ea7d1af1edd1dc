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


def shown(viewers: Viewers, *conversations: UUID | None) -> list[Recorder]:
    """Add a viewer of Alice's for each of these conversations."""
    added = []
    for conversation in conversations:
        viewer = Recorder()
        viewers.add(viewer)
        viewers.show(viewer, conversation)
        added.append(viewer)
    return added


def test_viewers_are_found_by_the_conversation_they_show(viewers: Viewers) -> None:
    one, other, _ = shown(viewers, SKY, SKY, SEA)
    assert set(viewers.showing(SKY)) == {one, other}
    assert viewers.shown_by(one) == SKY
    assert viewers.conversations() == {SKY, SEA}


def test_a_viewer_shows_one_conversation_at_a_time_or_none(viewers: Viewers) -> None:
    [viewer] = shown(viewers, SKY)
    viewers.show(viewer, SEA)
    assert viewers.conversations() == {SEA}
    assert not viewers.showing(SKY)
    viewers.show(viewer, None)
    assert viewers.shown_by(viewer) is None
    assert viewer in viewers


def test_a_removed_viewer_shows_nothing(viewers: Viewers) -> None:
    one, other = shown(viewers, SKY, SKY)
    viewers.remove(one)
    assert one not in viewers
    assert list(viewers) == [other]
    assert viewers.shown_by(one) is None
    assert set(viewers.showing(SKY)) == {other}


def test_a_set_of_viewers_that_is_held_stays_up_to_date(viewers: Viewers) -> None:
    showing = viewers.showing(SKY)
    [viewer] = shown(viewers, SKY)
    assert set(showing) == {viewer}
    viewers.remove(viewer)
    gc.collect()
    assert viewers.showing(SKY) is showing


def test_a_persons_viewers_are_counted(viewers: Viewers) -> None:
    one, other = shown(viewers, SKY, None)
    assert (viewers.of(1), viewers.of(2), len(viewers)) == (2, 0, 2)
    viewers.remove(one)
    viewers.remove(other)
    assert viewers.of(1) == 0


def test_viewers_can_be_removed_while_iterating(viewers: Viewers) -> None:
    shown(viewers, SKY, SEA, None)
    for viewer in viewers:
        viewers.remove(viewer)
    assert not viewers
