"""The head of a request: its length, and ambiguities that could smuggle a second request."""

import pytest

from tests.security.wire import Wire, head
from tests.support.live import Server, Site

MIB = 1024 * 1024
HOST = b"Host: localhost"
POST = (b"POST /accounts/login/ HTTP/1.1", HOST)
CHUNKED = b"Transfer-Encoding: chunked"
# What the kernels at both ends buffer, and what is dropped after a refusal.
UNREAD = 24 * MIB


def test_a_long_address_is_refused(wire: Wire) -> None:
    answer = wire.ask(b"GET /?" + b"x" * 9000 + b" HTTP/1.1", HOST)
    assert (answer.status, answer.text) == (414, "The address is longer than 8192 bytes.\n")


def test_an_address_without_an_end_is_refused(wire: Wire) -> None:
    wire.write(b"GET /?")
    assert wire.write_until_refused(b"x" * 1000, 100 * MIB) < UNREAD
    assert wire.read_to_the_end().status == 414


@pytest.mark.parametrize(
    "headers",
    [
        [b"X: " + b"x" * 9000],
        [b"X: " + b"x" * 4000] * 5,
        [b"X: x"] * 101,
    ],
)
def test_headers_that_are_too_long_or_too_many_are_refused(
    wire: Wire, headers: list[bytes]
) -> None:
    answer = wire.ask(b"GET /healthz HTTP/1.1", HOST, *headers)
    assert answer.status == 431
    assert "Delete this site's cookies" in answer.text


def test_headers_up_to_the_limit_are_accepted(wire: Wire) -> None:
    headers = [b"X: " + b"x" * 100] * 97
    answer = wire.ask(b"GET /healthz HTTP/1.1", HOST, b"Connection: close", *headers)
    assert answer.status == 200


# What two parsers could take for different requests


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ([b"Content-Length: 5", CHUNKED], b"0\r\n\r\n"),
        ([CHUNKED, b"Content-Length: 5"], b"0\r\n\r\n"),
        ([b"Content-Length: 5", b"Content-Length: 6"], b"abcdef"),
        ([b"Content-Length: 5", b"Content-Length: 5"], b"abcde"),
        ([b"Content-Length: 5, 5"], b"abcde"),
        ([b"Content-Length: +5"], b"abcde"),
        ([b"Content-Length: -5"], b"abcde"),
        ([b"Content-Length: 0x5"], b"abcde"),
        ([b"Content-Length: 5 5"], b"abcde"),
        ([b"Content-Length:"], b""),
        ([b"Content-Length: " + b"9" * 5000], b""),
        ([b"Content-Length : 5"], b"abcde"),
        ([b"Transfer-Encoding: identity", b"Content-Length: 5"], b"abcde"),
        ([CHUNKED, b"Transfer-Encoding: identity"], b"0\r\n\r\n"),
        ([b"Transfer-Encoding: identity", CHUNKED], b"0\r\n\r\n"),
        ([b"Transfer-Encoding: gzip, chunked"], b"0\r\n\r\n"),
        ([b"Transfer-Encoding: xchunked"], b"0\r\n\r\n"),
        ([b"Transfer-Encoding: \x0bchunked"], b"0\r\n\r\n"),
        ([b"Transfer-Encoding : chunked"], b"0\r\n\r\n"),
        ([CHUNKED], b"-1\r\n\r\n"),
        ([CHUNKED], b"0x5\r\nabcde\r\n0\r\n\r\n"),
        ([CHUNKED], b"5_0\r\n"),
        ([CHUNKED], b"g\r\n"),
        ([CHUNKED], b"\r\n"),
        ([CHUNKED], b"5\r\nabcdeXX0\r\n\r\n"),
        ([CHUNKED], b"5;" + b"x" * 2000),
        ([CHUNKED], b"5;\x00\r\nabcde\r\n0\r\n\r\n"),
        ([CHUNKED], b"0\r\n" + b"X: y\r\n" * 20_000),
        ([b"Host: evil.example"], b""),
        ([b" X: y"], b""),
        ([b"X: y", b" folded"], b""),
        ([b"X"], b""),
        ([b"X\x00: y"], b""),
        ([b"X: y\x00z"], b""),
        ([b": y"], b""),
        ([b"X Y: z"], b""),
    ],
)
def test_an_ambiguous_request_is_refused_and_the_rest_is_dropped(
    server: Server, wire: Wire, headers: list[bytes], body: bytes
) -> None:
    answer = wire.ask(*POST, *headers, body=body + SMUGGLED)
    assert (answer.status, answer.raw.count(b"HTTP/1.1 ")) == (400, 1), answer.raw
    assert answer.text == "This server can't understand the request.\n"
    assert "smuggled" not in server.log


@pytest.mark.parametrize(
    "line",
    [
        b"GET",
        b"GET /",
        b"GET / HTTP/0.9",
        b"GET / HTTP/2.0",
        b"GET  / HTTP/1.1",
        b"GET / x HTTP/1.1",
        b"G(T / HTTP/1.1",
        b"GET /\x00 HTTP/1.1",
        b"GET /\xff HTTP/1.1",
        b"\x16\x03\x01\x02\x00\x01",  # TLS
        b"PRI * HTTP/2.0",
    ],
)
def test_an_invalid_request_line_is_refused(wire: Wire, line: bytes) -> None:
    answer = wire.ask(line, HOST)
    assert (answer.status, answer.headers["connection"]) == (400, "close")


def test_a_chunked_body_in_http_1_0_is_refused(wire: Wire) -> None:
    answer = wire.ask(b"POST / HTTP/1.0", HOST, CHUNKED, body=b"0\r\n\r\n")
    assert answer.status == 400


@pytest.mark.parametrize("length", [(b"Content-Length: 40", b"x" * 40), (CHUNKED, b"0\r\n\r\n")])
def test_a_handshake_with_a_body_is_refused(wire: Wire, length: tuple[bytes, bytes]) -> None:
    answer = wire.ask(
        b"GET /ws/ HTTP/1.1",
        HOST,
        b"Upgrade: websocket",
        b"Connection: Upgrade",
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        b"Sec-WebSocket-Version: 13",
        length[0],
        body=length[1],
    )
    assert answer.status == 400


def test_a_pipelined_request_is_dropped(server: Server, wire: Wire) -> None:
    answer = wire.ask(b"GET /healthz HTTP/1.1", HOST, body=SMUGGLED)
    assert (answer.status, answer.raw.count(b"HTTP/1.1 ")) == (200, 1)
    assert "smuggled" not in server.log


def test_a_line_end_after_a_form_is_ignored(wire: Wire) -> None:
    """Old browsers send one."""
    wire.write(head(*POST, b"Content-Length: 1") + b"x\r\n")
    assert wire.read().startswith(b"HTTP/1.1 403")
    answer = wire.ask(b"GET /healthz HTTP/1.1", HOST, b"Connection: close")
    assert answer.raw.endswith(b"ok")


def test_a_server_stops_while_a_request_is_incomplete(site: Site) -> None:
    with site.server() as server, Wire(server.url) as wire:
        wire.write(b"GET / HTTP/1.1\r\n")
        with server.visit() as client:
            client.get("/healthz")  # so the server has read the line
        assert server.stop() == 0
