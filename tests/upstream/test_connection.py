"""Data of a connection: read by a task, or passed on in the same iteration of the loop."""

import asyncio
from contextvars import ContextVar

import httpx
import pytest

from chatapp.upstream import connection
from chatapp.upstream.connection import Stream

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"

reply: ContextVar[str] = ContextVar("reply", default="none")


class RecordingTransport(asyncio.Transport):
    """A transport that records writes."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def pause_reading(self) -> None:
        """Do nothing: there is no peer."""

    def resume_reading(self) -> None:
        """Do nothing: there is no peer."""


@pytest.fixture
async def stream() -> Stream:
    stream = Stream(asyncio.get_running_loop())
    stream.connection_made(RecordingTransport())
    return stream


async def offer_data(
    stream: Stream, taken: list[bytes], max_pieces: int = 1000
) -> asyncio.Task[bool]:
    """Return a task that offers data and takes at most `max_pieces` of it."""

    def take(data: bytes) -> bool:
        taken.append(data)
        return len(taken) < max_pieces

    offered = asyncio.create_task(stream.offer(take, None))
    await asyncio.sleep(0)
    return offered


async def test_data_is_passed_on_in_the_same_iteration_of_the_loop(stream: Stream) -> None:
    taken: list[bytes] = []
    offered = await offer_data(stream, taken, max_pieces=2)
    stream.data_received(b"one")
    assert taken == [b"one"]
    stream.data_received(b"two")
    stream.data_received(b"three")  # after `take` has declined
    assert taken == [b"one", b"two"]
    assert await offered
    assert await stream.read(100) == b"three"


async def test_large_data_must_be_read(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_MAX_AT_ONCE", 3)
    taken: list[bytes] = []
    offered = await offer_data(stream, taken)
    stream.data_received(b"three")
    stream.data_received(b"two")  # must stay in order
    assert not await offered
    assert taken == []
    assert await stream.read(100) == b"threetwo"


async def test_data_received_earlier_must_be_read(stream: Stream) -> None:
    stream.data_received(b"one")
    assert not await stream.offer(lambda _: True, None)
    await stream.read(100)
    stream.connection_lost(None)
    assert not await stream.offer(lambda _: True, None)


async def test_data_is_taken_in_the_context_of_the_offer(stream: Stream) -> None:
    """Otherwise its log lines would name the reply that opened the connection."""
    names = []

    def take(_data: bytes) -> bool:
        names.append(reply.get())
        return True

    reply.set("mine")
    offered = asyncio.create_task(stream.offer(take, None))
    await asyncio.sleep(0)
    reply.set("another")
    stream.data_received(b"one")
    assert names == ["mine"]
    offered.cancel()


async def test_an_error_while_taking_is_raised_in_the_offering_task(stream: Stream) -> None:
    offered = asyncio.create_task(stream.offer(lambda _: bool(1 / 0), None))
    await asyncio.sleep(0)
    stream.data_received(b"one")
    with pytest.raises(ZeroDivisionError):
        await offered


async def test_nothing_is_passed_on_after_a_cancellation(stream: Stream) -> None:
    taken: list[bytes] = []
    offered = await offer_data(stream, taken)
    offered.cancel()
    stream.data_received(b"one")  # before the task is cancelled
    with pytest.raises(asyncio.CancelledError):
        await offered
    assert taken == []


async def test_the_silence_timeout_restarts_with_each_piece(stream: Stream) -> None:
    piece_count = 0

    def take(_data: bytes) -> bool:
        nonlocal piece_count
        piece_count += 1
        if piece_count < 4:
            asyncio.get_running_loop().call_later(0.06, stream.data_received, b"x")
        return True

    asyncio.get_running_loop().call_later(0.06, stream.data_received, b"x")
    with pytest.raises(httpx.ReadTimeout):
        await stream.offer(take, 0.1)
    assert piece_count == 4


@pytest.mark.parametrize("before", [b"", EARLY], ids=["", "after hints"])
async def test_exactly_the_head_is_read_at_every_split(stream: Stream, before: bytes) -> None:
    data = before + HEAD + b"5\r\nHello\r\n"
    for cut in range(len(data)):
        stream.data_received(data[:cut])
        asyncio.get_running_loop().call_soon(stream.data_received, data[cut:])
        if before:
            assert await stream.read_head(1000) == before
        assert await stream.read_head(1000) == HEAD
        body = b""
        while len(body) < 10:
            body += await stream.read(1000)
        assert body == b"5\r\nHello\r\n"


async def test_an_incomplete_head_is_returned_as_it_is(stream: Stream) -> None:
    stream.data_received(b"x" * 20)
    assert await stream.read_head(15) == b"x" * 20
    stream.data_received(b"HTTP/1.1 200")
    stream.connection_lost(None)
    assert await stream.read_head(1000) == b"HTTP/1.1 200"
    assert await stream.read_head(1000) == b""
