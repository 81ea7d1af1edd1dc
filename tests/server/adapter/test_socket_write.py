"""Writing frames straight to the socket, and when the transport must write them."""

from typing import Any

import pytest
from twisted.internet.testing import StringTransport

from chatapp.server.adapter.socket_protocol import FRAME_BYTES, SocketProtocol


class Socket:
    """Accepts at most `takes` bytes per call."""

    def __init__(self) -> None:
        self.takes: int | OSError = 1_000_000
        self.sent = b""

    def send(self, data: bytes) -> int:
        if isinstance(self.takes, OSError):
            raise self.takes
        taken = data[: self.takes]
        self.sent += taken
        return len(taken)


class Transport(StringTransport):
    """A Twisted transport, and its own reactor; `later` is what it would write."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.socket = Socket()
        self.reactor = self

    def is_writing(self, _transport: object) -> bool:
        return bool(self.later)

    def unregisterProducer(self) -> None:
        """Do nothing: `StringTransport` fails if there is none."""

    @property
    def later(self) -> bytes:
        data: bytes = self.value()  # type: ignore[no-untyped-call]
        return data


@pytest.fixture
def transport() -> Transport:
    return Transport()


@pytest.fixture
def protocol(transport: Transport) -> Any:
    from daphne.ws_protocol import WebSocketFactory

    protocol: Any = SocketProtocol()
    protocol.factory = WebSocketFactory(None)
    protocol.makeConnection(transport)
    protocol.state = protocol.STATE_OPEN
    return protocol


def parse_frames(data: bytes) -> list[str]:
    """Return the texts of complete frames."""
    texts = []
    while data:
        size, start = data[1], 2
        assert data[0] == 0x81
        if size == 126:
            size, start = int.from_bytes(data[2:4], "big"), 4
        elif size == 127:
            size, start = int.from_bytes(data[2:10], "big"), 10
        texts.append(data[start : start + size].decode())
        assert len(data) >= start + size
        data = data[start + size :]
    return texts


@pytest.mark.parametrize("size", [1, 125, 126, 127, 255, 256, 65535, 65536, 70_000])
def test_a_text_of_any_size_is_one_frame(protocol: Any, transport: Transport, size: int) -> None:
    text = "ö" + "x" * (size - 2) if size > 1 else "x"
    protocol.write(text)
    assert parse_frames(transport.socket.sent + transport.later) == [text]


@pytest.mark.parametrize("takes", [0, 1, 3, 100, BlockingIOError(), ConnectionResetError()])
def test_the_transport_writes_what_the_socket_did_not_take_in_order(
    protocol: Any, transport: Transport, takes: int | OSError
) -> None:
    transport.socket.takes = takes
    texts = ["a" * 200, "b", "c" * FRAME_BYTES, "d"]
    protocol.write(texts[0])
    transport.socket.takes = 1_000_000
    for text in texts[1:]:
        protocol.write(text)
    assert parse_frames(transport.socket.sent + transport.later) == texts


def test_nothing_overtakes_frames_queued_for_a_slow_client(
    protocol: Any, transport: Transport
) -> None:
    protocol.pauseProducing()
    texts = ["a", "b" * 1000]
    for text in texts:
        protocol.write(text)
    assert transport.socket.sent == transport.later == b""
    protocol.resumeProducing()
    protocol.write("c")
    assert parse_frames(transport.socket.sent + transport.later) == [*texts, "c"]


@pytest.mark.parametrize("state", ["CONNECTING", "CLOSING", "CLOSED"])
def test_nothing_is_written_to_a_connection_that_is_not_open(
    protocol: Any, transport: Transport, state: str
) -> None:
    protocol.state = getattr(protocol, f"STATE_{state}")
    protocol.write("a")
    assert transport.socket.sent == transport.later == b""
