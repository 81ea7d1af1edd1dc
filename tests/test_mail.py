"""What processes post to each other, over a layer in memory."""

import asyncio
import time
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest
from channels.layers import InMemoryChannelLayer

from chatapp.generation import mail as module
from chatapp.generation.mail import ECHO_SECONDS, MOST_WAITING, Letter, Mail


class Box:
    """A process that keeps the letters it gets."""

    def __init__(self) -> None:
        self.process = uuid4()
        self.letters: asyncio.Queue[Letter] = asyncio.Queue()
        self.mail = Mail(self.process, self._take, lambda: None)

    async def _take(self, _sender: UUID, letter: Letter) -> None:
        self.letters.put_nowait(letter)

    async def next(self) -> Letter:
        async with asyncio.timeout(10):
            return await self.letters.get()


class Strict(InMemoryChannelLayer):  # type: ignore[misc]
    """Refuses what Redis' layer can't write."""

    async def group_send(self, group: str, message: dict[str, object]) -> None:
        if any(10**30 in letter for letter in message["letters"]):  # type: ignore[attr-defined]
            raise OverflowError
        await super().group_send(group, message)


@pytest.fixture
async def boxes(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Box, Box]]:
    layer = Strict()
    monkeypatch.setattr(module, "get_channel_layer", lambda: layer)
    boxes = Box(), Box()
    tasks = [asyncio.create_task(box.mail.run()) for box in boxes]
    await joined(boxes)
    yield boxes
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def joined(boxes: tuple[Box, ...]) -> None:
    async with asyncio.timeout(10):
        while any(box.mail._unjoined or not box.mail._channel for box in boxes):  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_letters_arrive_in_their_order(boxes: tuple[Box, Box]) -> None:
    one, other = boxes
    for number in range(5):
        one.mail.post(other.process, "count", number)
    assert [await other.next() for _ in range(5)] == [("count", number) for number in range(5)]


async def test_whoever_has_a_tab_of_the_person_hears_of_them(boxes: tuple[Box, Box]) -> None:
    one, other = boxes
    await other.mail.follow(7)
    one.mail.post_to_user(7, "turn")
    assert await other.next() == ("turn",)
    other.mail.unfollow(7)
    await other.mail._settle_groups()
    one.mail.post_to_user(7, "turn")
    one.mail.post(other.process, "last")
    assert await other.next() == ("last",)


async def test_a_letter_that_can_not_be_sent_holds_up_no_other(boxes: tuple[Box, Box]) -> None:
    one, other = boxes
    for what in (1, 10**30, 2):
        one.mail.post(other.process, "count", what)
    assert [await other.next(), await other.next()] == [("count", 1), ("count", 2)]


async def test_where_too_much_waits_frames_are_dropped_first(boxes: tuple[Box, Box]) -> None:
    one, other = boxes
    one.mail.post(other.process, "stop")
    for number in range(MOST_WAITING):
        one.mail.post(other.process, "frame", number)
    one.mail.post(other.process, "leave")
    assert await other.next() == ("stop",)
    last = await other.next()
    while last[0] == "frame":
        assert last[1] == MOST_WAITING - 1
        last = await other.next()
    assert last == ("leave",)


def test_nothing_is_kept_before_there_is_anybody_to_write_to() -> None:
    box = Box()
    box.mail.post(uuid4(), "frame")
    assert not box.mail._waiting


async def test_a_layer_that_loses_everything_is_known_within_two_seconds(
    boxes: tuple[Box, Box], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = boxes
    sent = one.mail._layer.group_send

    async def lose(group: str, message: object) -> None: ...

    monkeypatch.setattr(one.mail._layer, "group_send", lose)
    async with asyncio.timeout(2):
        while one.mail.answers:  # noqa: ASYNC110 - time passes
            await asyncio.sleep(0.01)
    monkeypatch.setattr(one.mail._layer, "group_send", sent)
    async with asyncio.timeout(2):
        while not one.mail.answers:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_busy_loop_is_not_taken_for_a_layer_that_is_away(boxes: tuple[Box, Box]) -> None:
    one, _ = boxes
    for _ in range(5):
        time.sleep(3 * ECHO_SECONDS)  # noqa: ASYNC251 - holds the loop, as too much work would
        await asyncio.sleep(0)
        assert one.mail.answers
