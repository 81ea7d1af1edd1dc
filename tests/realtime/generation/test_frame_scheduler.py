"""Frames: the first at once, later ones no faster than the pace, and everything at the end."""

import asyncio
import time

import pytest

from chatapp.concurrency.event_loop import FairLock
from chatapp.models import Message
from chatapp.realtime.generation import FlushRate
from chatapp.realtime.generation.frame_scheduler import FrameScheduler
from chatapp.realtime.viewers import Audience
from chatapp.rendering.fragments import LiveReply
from tests.realtime.viewers.doubles import Recorder


class Slow(FlushRate):
    """A pace that keeps 50 ms between frames."""

    def interval(self, rendering: float) -> float:
        return 0.05


class Gate:
    """A lock that the test opens for one flush at a time."""

    def __init__(self) -> None:
        self.may_pass = asyncio.Semaphore(0)
        self.is_waiting = asyncio.Semaphore(0)

    async def __aenter__(self) -> None:
        self.is_waiting.release()
        await self.may_pass.acquire()

    async def __aexit__(self, *_error: object) -> None:
        pass


class Gated(FlushRate):
    """A pace without an interval; the test admits each flush."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = self.one_at_a_time = Gate()  # type: ignore[assignment]

    def interval(self, rendering: float) -> float:
        return 0.0


class Writing:
    def __init__(self, pace: FlushRate) -> None:
        self.live = LiveReply(Message(role="assistant", ending=Message.STREAMING, model="m"))
        self.viewer = Recorder()
        self.showing = {self.viewer}
        self.frames = FrameScheduler(self.live, Audience(self.showing), pace)
        self.read_at = (
            time.monotonic()
        )  # one time for all, so that a busy machine makes no difference

    async def write(self, text: str) -> None:
        self.live.append("answer", text)
        self.frames.soon(self.read_at)

    @property
    def frames_text(self) -> str:
        return "".join(self.viewer.frames)


@pytest.fixture
def writing() -> Writing:
    return Writing(Slow())


async def test_the_first_delta_is_shown_at_once_and_the_following_together(
    writing: Writing,
) -> None:
    for word in ("One ", "two ", "three"):
        await writing.write(word)
    assert len(writing.viewer.frames) == 1
    assert "One" in writing.frames_text
    async with asyncio.timeout(10):
        while "three" not in writing.frames_text:  # noqa: ASYNC110 - time passes
            await asyncio.sleep(0.001)
    assert len(writing.viewer.frames) == 2


async def test_now_flushes_without_waiting(writing: Writing) -> None:
    await writing.write("One ")
    await writing.write("two")
    await writing.frames.now()
    assert "two" in writing.frames_text
    writing.frames.close()


async def test_nothing_is_rendered_while_nobody_watches(writing: Writing) -> None:
    writing.showing.clear()
    await writing.write("One")
    assert writing.frames_text == ""
    writing.showing.add(writing.viewer)
    await writing.write(" two")
    assert "One two" in writing.frames_text


async def test_nothing_is_shown_after_close(writing: Writing) -> None:
    await writing.write("One ")
    await writing.write("two")
    writing.frames.close()
    await asyncio.sleep(0.1)
    assert "two" not in writing.frames_text


async def test_the_last_flush_shows_everything(writing: Writing) -> None:
    await writing.write("One ")
    await writing.write("two\n\n```python\nx = 1\n```\n")
    await writing.frames.last()
    assert "two" in writing.frames_text
    assert not writing.live.is_behind
    assert not writing.live.has_jobs


async def test_deltas_wait_their_turn_while_a_reply_is_behind() -> None:
    pace = Gated()
    writing = Writing(pace)
    frames = writing.viewer.frames
    await writing.write("Some words of a paragraph.\n\n" * 10_000)
    for turn in range(1, 4):
        await pace.gate.is_waiting.acquire()
        await writing.write("More.\n\n")
        await asyncio.sleep(0)
        assert len(frames) == turn
        assert writing.live.is_behind
        pace.gate.may_pass.release()
    pace.one_at_a_time = FairLock()
    pace.gate.may_pass.release()
    await writing.frames.last()
    assert writing.frames_text.count("More.") == 3


class Far(Recorder):
    """A tab that takes its fragments when the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.may_take = asyncio.Event()

    write = None  # type: ignore[assignment]

    async def show(self, frame: str) -> None:
        await self.may_take.wait()
        self.frames.append(frame)


async def test_deltas_that_arrive_while_a_fragment_is_being_sent_are_shown_after_it(
    writing: Writing,
) -> None:
    far = Far()
    writing.showing.add(far)
    await writing.write("One ")
    await asyncio.sleep(0)
    await writing.write("two ")
    await writing.write("three")  # and nothing more comes
    far.may_take.set()
    async with asyncio.timeout(10):
        while "three" not in "".join(far.frames):  # noqa: ASYNC110 - time passes
            await asyncio.sleep(0.001)
    assert writing.viewer.frames == far.frames


async def test_a_few_tabs_are_written_to_in_the_same_turn_of_the_loop(writing: Writing) -> None:
    others = [Recorder() for _ in range(3)]
    writing.showing.update(others)
    writing.live.append("answer", "One")
    writing.frames.soon(time.monotonic())
    for viewer in (writing.viewer, *others):
        assert "One" in "".join(viewer.frames)
