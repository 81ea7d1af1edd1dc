"""What comes over a connection: read by a task, or given to somebody in the turn it came in."""

import asyncio
from contextvars import ContextVar

import httpx
import pytest

from chatapp.upstream import connection
from chatapp.upstream.connection import Stream

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"

reply: ContextVar[str] = ContextVar("reply", default="none")


class Line(asyncio.Transport):
    """One that keeps what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def pause_reading(self) -> None:
        """Nothing is read from it."""

    def resume_reading(self) -> None:
        """Nothing is read from it."""


@pytest.fixture
async def stream() -> Stream:
    stream = Stream(asyncio.get_running_loop())
    stream.connection_made(Line())
    return stream


async def offering(stream: Stream, taken: list[bytes], most: int = 1000) -> asyncio.Task[bool]:
    """Offers what comes until it is so many; the task that waits for the end of that."""

    def take(data: bytes) -> bool:
        taken.append(data)
        return len(taken) < most

    offered = asyncio.create_task(stream.offer(take, None))
    await asyncio.sleep(0)
    return offered


async def test_what_comes_is_given_before_the_loop_turns(stream: Stream) -> None:
    taken: list[bytes] = []
    offered = await offering(stream, taken, most=2)
    stream.data_received(b"one")
    assert taken == [b"one"]
    stream.data_received(b"two")
    stream.data_received(b"three")  # no more was wanted
    assert taken == [b"one", b"two"]
    assert await offered
    assert await stream.read(100) == b"three"


async def test_what_is_much_is_to_be_read(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_MAX_AT_ONCE", 3)
    taken: list[bytes] = []
    offered = await offering(stream, taken)
    stream.data_received(b"three")
    stream.data_received(b"two")  # behind it, and so not before it
    assert not await offered
    assert taken == []
    assert await stream.read(100) == b"threetwo"


async def test_what_came_before_is_to_be_read(stream: Stream) -> None:
    stream.data_received(b"one")
    assert not await stream.offer(lambda _: True, None)
    await stream.read(100)
    stream.connection_lost(None)
    assert not await stream.offer(lambda _: True, None)


async def test_who_takes_does_so_where_it_was_offered(stream: Stream) -> None:
    """Or its log lines would name whatever reply opened the connection."""
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


async def test_an_error_in_taking_is_raised_where_it_was_offered(stream: Stream) -> None:
    offered = asyncio.create_task(stream.offer(lambda _: bool(1 / 0), None))
    await asyncio.sleep(0)
    stream.data_received(b"one")
    with pytest.raises(ZeroDivisionError):
        await offered


async def test_what_comes_after_a_cancelling_is_given_to_nobody(stream: Stream) -> None:
    taken: list[bytes] = []
    offered = await offering(stream, taken)
    offered.cancel()
    stream.data_received(b"one")  # before the task has heard of it
    with pytest.raises(asyncio.CancelledError):
        await offered
    assert taken == []


async def test_a_silence_is_counted_from_what_was_given_last(stream: Stream) -> None:
    given = 0

    def take(_data: bytes) -> bool:
        nonlocal given
        given += 1
        if given < 4:
            asyncio.get_running_loop().call_later(0.06, stream.data_received, b"x")
        return True

    asyncio.get_running_loop().call_later(0.06, stream.data_received, b"x")
    with pytest.raises(httpx.ReadTimeout):
        await stream.offer(take, 0.1)
    assert given == 4


@pytest.mark.parametrize("before", [b"", EARLY], ids=["", "after hints"])
async def test_of_a_response_the_head_is_read_alone_however_it_is_cut(
    stream: Stream, before: bytes
) -> None:
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


async def test_of_a_head_without_end_is_read_what_there_is(stream: Stream) -> None:
    stream.data_received(b"x" * 20)
    assert await stream.read_head(15) == b"x" * 20
    stream.data_received(b"HTTP/1.1 200")
    stream.connection_lost(None)
    assert await stream.read_head(1000) == b"HTTP/1.1 200"
    assert await stream.read_head(1000) == b""
