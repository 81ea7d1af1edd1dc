"""Messages between workers over an in-memory layer."""

import asyncio
import time
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest
from channels.layers import InMemoryChannelLayer

from chatapp.realtime.cluster import layer as module
from chatapp.realtime.cluster.bus import BusRecovered
from chatapp.realtime.cluster.layer import ECHO_SECONDS, MAX_WAITING, LayerBus, post_from_outside
from chatapp.realtime.cluster.messages import (
    Batch,
    Frame,
    Gone,
    Leave,
    Message,
    PeopleChanged,
    Running,
    TurnBegan,
    encode,
)

REPLY = uuid4()


class Box:
    """A worker that keeps the messages it receives."""

    def __init__(self) -> None:
        self.worker = uuid4()
        self.heard: asyncio.Queue[Message | BusRecovered] = asyncio.Queue()
        self.bus = LayerBus(self.worker)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.bus.run())
            tasks.create_task(self._receive())

    async def next(self) -> Message | BusRecovered:
        async with asyncio.timeout(10):
            return await self.heard.get()

    async def until_it_hears(self) -> None:
        """Wait until it has joined its groups: earlier messages would be lost."""
        number = 0
        async with asyncio.timeout(10):
            while self.heard.empty():
                number += 1
                self.bus.post(self.worker, build_frame(number))
                await asyncio.sleep(0.001)
        while await self.next() != build_frame(number):
            pass

    async def _receive(self) -> None:
        async for arrival in self.bus.receive_messages():
            self.heard.put_nowait(arrival if isinstance(arrival, BusRecovered) else arrival.message)


class Layer(InMemoryChannelLayer):  # type: ignore[misc]
    """A layer that can be down."""

    is_away = False

    async def group_send(self, group: str, message: dict[str, object]) -> None:
        if not self.is_away:
            await super().group_send(group, message)


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> Layer:
    layer = Layer()
    monkeypatch.setattr(module, "get_channel_layer", lambda: layer)
    return layer


@pytest.fixture
async def boxes(layer: Layer) -> AsyncIterator[tuple[Box, Box]]:
    boxes = Box(), Box()
    tasks = [asyncio.create_task(box.run()) for box in boxes]
    for box in boxes:
        await box.until_it_hears()
    yield boxes
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def build_frame(sequence: int) -> Frame:
    return Frame(REPLY, sequence, "")


async def test_messages_arrive_in_order(boxes: tuple[Box, Box]) -> None:
    first, other = boxes
    for number in range(5):
        first.bus.post(other.worker, build_frame(number))
    assert [await other.next() for _ in range(5)] == [build_frame(number) for number in range(5)]


async def test_workers_with_a_viewer_of_the_person_get_their_messages(
    boxes: tuple[Box, Box],
) -> None:
    first, other = boxes
    began = TurnBegan(uuid4())
    await other.bus.subscribe(7)
    await other.bus.subscribe(7)
    first.bus.post_to_user(7, began)
    assert await other.next() == began
    other.bus.unsubscribe(7)
    first.bus.post_to_user(7, began)
    assert await other.next() == began
    other.bus.unsubscribe(7)
    await other.bus.subscribe(8)  # this also leaves the pending groups
    first.bus.post_to_user(7, began)
    first.bus.post_to_user(8, Gone(REPLY))
    assert await other.next() == Gone(REPLY)


async def test_a_broadcast_reaches_every_worker_from_inside_and_outside(
    boxes: tuple[Box, Box],
) -> None:
    boxes[0].bus.post_to_all(PeopleChanged(frozenset({1, 2})))
    for box in boxes:
        assert await box.next() == PeopleChanged(frozenset({1, 2}))
    await post_from_outside(PeopleChanged(None))
    for box in boxes:
        assert await box.next() == PeopleChanged(None)


@pytest.mark.parametrize("bad", [Running({REPLY: 10**30}), Frame(REPLY, 1, "\ud800")])
async def test_a_message_that_cannot_be_sent_does_not_block_others(
    boxes: tuple[Box, Box], bad: Message
) -> None:
    first, other = boxes
    for what in (build_frame(1), bad, build_frame(2)):
        first.bus.post(other.worker, what)
    assert [await other.next(), await other.next()] == [build_frame(1), build_frame(2)]


async def test_frames_are_dropped_first_if_too_much_is_queued(boxes: tuple[Box, Box]) -> None:
    first, other = boxes
    first.bus.post(other.worker, Gone(REPLY))
    for number in range(MAX_WAITING):
        first.bus.post(other.worker, build_frame(number))
    first.bus.post(other.worker, Leave(REPLY, 0.0))
    assert await other.next() == Gone(REPLY)
    last = await other.next()
    while isinstance(last, Frame):
        assert last == build_frame(MAX_WAITING - 1)
        last = await other.next()
    assert last == Leave(REPLY, 0.0)


async def test_a_layer_that_loses_everything_is_detected_within_two_seconds(
    boxes: tuple[Box, Box], layer: Layer
) -> None:
    box, _ = boxes
    layer.is_away = True
    async with asyncio.timeout(2):
        while box.bus.answers:  # noqa: ASYNC110 - time passes
            await asyncio.sleep(0.01)
    back_at = time.monotonic()
    layer.is_away = False
    async with asyncio.timeout(2):
        assert await box.next() == BusRecovered()
    assert box.bus.answers
    assert box.bus.answers_since >= back_at


@pytest.mark.thorough
async def test_a_busy_event_loop_is_not_mistaken_for_an_outage(boxes: tuple[Box, Box]) -> None:
    box, _ = boxes
    for _ in range(5):
        time.sleep(3 * ECHO_SECONDS)  # noqa: ASYNC251 - blocks the loop on purpose
        await asyncio.sleep(0)
        assert box.bus.answers


async def test_messages_of_another_version_are_logged_once_and_skipped(
    boxes: tuple[Box, Box], layer: Layer, caplog: pytest.LogCaptureFixture
) -> None:
    box, _ = boxes
    newer = encode(Batch(uuid4(), [build_frame(1)])).replace(b"Frame", b"Fumes")
    for batch in (newer, newer, b"no msgpack", b""):
        await send(layer, box.worker, batch)
    await send(layer, box.worker, encode(Batch(uuid4(), [Gone(REPLY)])))
    assert await box.next() == Gone(REPLY)
    logged = [record.getMessage() for record in caplog.records]
    assert len([text for text in logged if "of another version" in text]) == 1
    assert len([text for text in logged if "Could not read" in text]) == 2


async def test_this_version_and_0_3_do_not_receive_each_others_messages(
    boxes: tuple[Box, Box], layer: Layer
) -> None:
    """0.3 uses other group names, so neither gets messages it cannot read."""
    box, _ = boxes
    await box.bus.subscribe(7)
    old: dict[str, object] = {"type": "mail", "sender": "0", "letters": [["people", None]]}
    for group in ("processes", f"process.{box.worker.hex}", "user.7"):
        await layer.group_send(group, old)
        assert group not in layer.groups
    box.bus.post_to_user(7, Gone(REPLY))
    assert await box.next() == Gone(REPLY)


async def send(layer: Layer, worker: UUID, batch: bytes) -> None:
    await layer.group_send(f"worker.{worker.hex}", {"type": "bus", "batch": batch})
