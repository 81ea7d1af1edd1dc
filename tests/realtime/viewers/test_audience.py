"""The viewers who get a reply's frames, and when nobody waits for it any more."""

import asyncio

import pytest

from chatapp.realtime.viewers import Audience, show_to
from tests.realtime.viewers.doubles import Recorder

INF = float("inf")


@pytest.fixture
def showing() -> set[Recorder]:
    return set()


@pytest.fixture
def audience(showing: set[Recorder]) -> Audience:
    return Audience(showing)


async def test_viewers_that_show_the_reply_get_all_frames_and_those_elsewhere_only_its_end(
    audience: Audience, showing: set[Recorder]
) -> None:
    here, elsewhere, worker = Recorder(), Recorder(), Recorder()
    showing.add(here)
    for viewer in (here, elsewhere):
        audience.join(viewer)
    audience.follow(worker)
    await audience.show("text")
    await audience.show_everywhere("end")
    assert here.frames == worker.frames == ["text", "end"]
    assert elsewhere.frames == ["end"]
    assert audience.sequence == 2


@pytest.mark.parametrize("is_followed", [False, True])
async def test_a_reply_is_watched_if_shown_here_or_in_another_worker(
    audience: Audience, showing: set[Recorder], is_followed: bool
) -> None:
    viewer = Recorder()
    audience.join(viewer)  # it shows something else
    assert not audience.is_watching
    if is_followed:
        audience.follow(viewer)
    else:
        showing.add(viewer)
    assert audience.is_watching


async def test_the_audience_is_gone_when_the_last_viewer_leaves(audience: Audience) -> None:
    first, last = Recorder(), Recorder()
    audience.join(first)
    audience.join(last)
    audience.leave(first, 0.0)
    audience.leave(first, 0.0)  # it has left already
    assert not audience.is_gone.is_set()
    audience.leave(last, 0.0)
    assert audience.is_gone.is_set()


async def test_a_viewer_that_never_waited_ends_nothing_by_leaving(audience: Audience) -> None:
    audience.leave(Recorder(), 0.0)
    assert not audience.is_gone.is_set()


async def test_the_audience_is_gone_only_after_the_grace_period(audience: Audience) -> None:
    viewer = Recorder()
    audience.join(viewer)
    audience.leave(viewer, 0.01)
    assert not audience.is_gone.is_set()
    async with asyncio.timeout(5):
        await audience.is_gone.wait()


@pytest.mark.parametrize("graces", [(0.01, INF), (INF, 0.01), (INF, 0.0)])
async def test_the_longest_grace_of_those_who_left_applies(
    audience: Audience, graces: tuple[float, float]
) -> None:
    viewers = Recorder(), Recorder()
    for viewer in viewers:
        audience.join(viewer)
    for viewer, grace in zip(viewers, graces, strict=True):
        audience.leave(viewer, grace)
    await asyncio.sleep(0.03)
    assert not audience.is_gone.is_set()


@pytest.mark.parametrize("is_read", [True, False])
async def test_the_grace_of_those_who_left_can_be_ended_early(
    audience: Audience, is_read: bool
) -> None:
    first, reader = Recorder(), Recorder()
    audience.join(first)
    if is_read:
        audience.join(reader)
    audience.leave(first, INF)
    audience.forget_who_left()
    assert audience.is_gone.is_set() is not is_read
    audience.leave(reader, 0.0)
    assert audience.is_gone.is_set()


@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_viewer_that_returns_in_time_keeps_the_audience(
    audience: Audience, comes_back: bool
) -> None:
    viewer = Recorder()
    audience.join(viewer)
    audience.leave(viewer, 0.01)
    if comes_back:
        audience.join(Recorder())
    else:
        audience.close()  # the reply has ended meanwhile
    await asyncio.sleep(0.03)
    assert not audience.is_gone.is_set()


async def test_each_watcher_gets_a_frame_once() -> None:
    viewers = [Recorder() for _ in range(3)]
    await show_to(viewers, "frame")
    assert [viewer.frames for viewer in viewers] == [["frame"]] * 3


async def test_the_audience_of_a_reply_that_finishes_is_gone_only_once_it_is_forgotten() -> None:
    audience, viewer = Audience(set(), finishes=True), Recorder()
    audience.join(viewer)
    audience.leave(viewer, 0.0)
    assert not audience.is_gone.is_set()
    audience.forget_who_left()
    assert audience.is_gone.is_set()


async def test_followers_get_all_frames_and_keep_nothing_running() -> None:
    viewer, follower, worker = Recorder(), Recorder(), Recorder()
    audience = Audience({viewer}, followers={follower})
    audience.join(viewer)
    audience.follow(worker, waits=False)
    assert audience.direct_writers() is None
    await audience.show("text")
    assert viewer.frames == follower.frames == worker.frames == ["text"]
    audience.leave(viewer, 0.0)
    assert audience.is_gone.is_set()
    assert audience.is_watching
