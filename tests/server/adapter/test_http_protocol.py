"""Requests and bytes that arrive before a response on the same connection is complete."""

from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from chatapp.server.adapter.http_protocol import IDLE_SECONDS, BoundedFactory, BoundedRequest

GET, HEAD = (
    b"%s /page HTTP/1.1\r\nHost: localhost\r\n\r\n" % method for method in (b"GET", b"HEAD")
)


@dataclass
class App:
    """A fake of Daphne's server: it keeps the requests, to be answered by a test."""

    requests: list[BoundedRequest] = field(default_factory=list)
    proxy_forwarded_address_header: None = None
    root_path: str = ""
    server_name: str = ""
    request_buffer_size: int = 8192

    def protocol_connected(self, protocol: Any) -> None: ...
    def protocol_disconnected(self, protocol: Any) -> None: ...
    def log_action(self, *details: Any) -> None: ...

    def create_application(self, request: BoundedRequest, _: Any) -> "SimpleQueue[Any]":
        self.requests.append(request)
        return SimpleQueue()


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def transport() -> StringTransport:
    peer = IPv4Address("TCP", "127.0.0.1", 9)
    return StringTransport(peerAddress=peer)  # type: ignore[no-untyped-call]


@pytest.fixture
def channel(app: App, clock: Clock, transport: StringTransport) -> Any:
    channel = BoundedFactory(app, lambda *_: 1000).buildProtocol(None)
    channel.callLater = clock.callLater
    channel.makeConnection(transport)
    return channel


def begin(request: BoundedRequest, length: int | None = 4) -> None:
    headers = [] if length is None else [(b"Content-Length", b"%d" % length)]
    request.handle_reply({"type": "http.response.start", "status": 200, "headers": headers})


def send(request: BoundedRequest, body: bytes = b"", *, more: bool = True) -> None:
    request.handle_reply({"type": "http.response.body", "body": body, "more_body": more})


@pytest.mark.parametrize(("head", "body"), [(GET, b"page"), (HEAD, b"")])
def test_a_request_is_answered_that_arrives_before_a_complete_response_is_finished(
    app: App, channel: Any, transport: StringTransport, clock: Clock, head: bytes, body: bytes
) -> None:
    channel.dataReceived(head)
    begin(app.requests[0])
    send(app.requests[0], body)
    channel.dataReceived(GET)  # the client has all of the response
    assert len(app.requests) == 1
    send(app.requests[0], more=False)
    assert len(app.requests) == 2
    clock.advance(2 * IDLE_SECONDS)  # the app takes its time
    begin(app.requests[1])
    send(app.requests[1], b"next", more=False)
    assert transport.value().endswith(b"next")  # type: ignore[no-untyped-call]
    assert not transport.disconnecting


@pytest.mark.parametrize("length", [None, 5])
def test_a_request_that_arrives_before_a_response_is_complete_closes_the_connection(
    app: App, channel: Any, transport: StringTransport, length: int | None
) -> None:
    channel.dataReceived(GET)
    begin(app.requests[0], length)
    send(app.requests[0], b"page")
    channel.dataReceived(GET)
    send(app.requests[0], b"!", more=False)
    assert len(app.requests) == 1
    assert transport.disconnecting


def test_of_several_requests_only_the_first_is_answered(
    app: App, channel: Any, transport: StringTransport
) -> None:
    channel.dataReceived(GET)
    begin(app.requests[0])
    send(app.requests[0], b"page")
    channel.dataReceived(GET + GET + GET)
    send(app.requests[0], more=False)
    begin(app.requests[1])
    send(app.requests[1], b"next", more=False)
    assert len(app.requests) == 2
    assert transport.disconnecting
