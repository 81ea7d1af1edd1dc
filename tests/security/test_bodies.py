"""Bodies of requests before signing in: how much, for how long, and in which form."""

import asyncio
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.security.hasty import SECONDS
from tests.security.wire import Wire, head
from tests.support.counting import seconds_to_count
from tests.support.live import Server, Site, listeners, run
from tests.support.profile import sample_params
from tests.support.program import WAIT_SECONDS
from tests.support.visitor import visit

MIB = 1024 * 1024
LIMIT = 2 * MIB
HOST = b"Host: localhost"
POST = (b"POST /accounts/login/ HTTP/1.1", HOST)
CHUNKED = b"Transfer-Encoding: chunked"
# What the kernels at both ends buffer, and what is dropped after a refusal.
UNREAD = 24 * MIB


class Hasty(Server):
    def command(self) -> list[str]:
        return [sys.executable, "-m", "tests.security.hasty"]


@pytest.fixture(scope="module")
def hasty(site: Site) -> Iterator[Server]:
    """A server whose timeouts are all half a second."""
    with Hasty(site.copy()) as server:
        yield server


# Size


def test_a_body_over_the_limit_is_refused_by_its_length_before_it_is_sent(wire: Wire) -> None:
    answer = wire.ask(*POST, b"Content-Length: 2097153")
    assert answer.status == 413
    assert answer.text == "The request is larger than the 2,097,152 bytes allowed here.\n"
    assert answer.headers["connection"] == "close"


def test_a_body_announced_as_too_large_is_not_requested(wire: Wire) -> None:
    answer = wire.ask(*POST, b"Content-Length: 1000000000", b"Expect: 100-continue")
    assert answer.status == 413
    assert b"100 Continue" not in answer.raw


@pytest.mark.parametrize("length", [b"Content-Length: 1200000000", CHUNKED])
def test_1_2_gb_are_neither_spooled_nor_held_in_memory(
    server: Server, wire: Wire, length: bytes
) -> None:
    before, spooled = measure_memory(server), count_spooled_bytes(server)
    wire.write(head(*POST, length))
    piece = b"x" * 64 * 1024
    if length is CHUNKED:
        piece = b"%x\r\n%s\r\n" % (len(piece), piece)
    assert wire.write_until_refused(piece, 1_200_000_000) < LIMIT + UNREAD
    assert wire.read_to_the_end().status == 413
    assert measure_memory(server) - before < 16 * MIB
    assert count_spooled_bytes(server) <= spooled


def test_a_browser_that_sends_too_much_gets_an_explanation(server: Server) -> None:
    with server.visit() as client:
        answer = client.post("/accounts/login/", content=b"x" * (LIMIT + 1))
    assert answer.status_code == 413
    assert "2,097,152 bytes" in answer.text


@pytest.mark.parametrize("chunk", [b"1\r\nx\r\n", b"1;name=value\r\nx\r\n"])
def test_a_body_in_tiny_chunks_is_refused(server: Server, chunk: bytes) -> None:
    """A connection that sent them delayed everybody else by more than a second."""
    with Wire(server.url) as wire:
        wire.write(head(*POST, CHUNKED))
        wire.write_until_refused(chunk * 1000, 4 * MIB)
        answer = wire.read_to_the_end()
    assert answer.status in (413, 0)  # 0 if it was reset while data was in transit
    with Wire(server.url) as wire:
        answer = wire.ask(*POST, CHUNKED, body=chunk * 1100)
    assert answer.status == 413
    assert answer.text == "The request body has too many chunks. Send larger ones.\n"


def test_a_body_in_small_chunks_is_accepted(server: Server) -> None:
    with server.visit() as client:
        pieces = (b"x" * 1400 for _ in range(LIMIT // 1400))
        assert client.post("/accounts/login/", content=pieces).status_code == 403


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_at_the_limit_is_accepted(server: Server, is_chunked: bool) -> None:
    content = b"login=" + b"x" * (LIMIT - 6)
    with server.visit() as client:
        client.get("/accounts/login/")
        answer = client.post(
            "/accounts/login/",
            content=iter([content]) if is_chunked else content,
            headers={
                "Content-Type": "application/x-www-form-urlencoded",
                "X-CSRFToken": client.cookies["csrftoken"],
            },
        )
    assert answer.status_code == 200  # the form again, with its errors


@pytest.mark.thorough
def test_an_operator_can_set_the_limit(site: Site) -> None:
    with site.server(CHATAPP_MAX_BODY_BYTES="1000") as server, Wire(server.url) as wire:
        assert wire.ask(*POST, b"Content-Length: 1001").status == 413


@pytest.mark.server
def test_an_invalid_limit_prevents_the_start(tmp_path: Path) -> None:
    environment = {"DATA_DIR": str(tmp_path), "CHATAPP_MAX_BODY_BYTES": "2m"}
    failed = run(environment, "manage.py", "check", check=False)
    sentence = 'CHATAPP_MAX_BODY_BYTES="2m" is not a number of bytes, for example 2097152'
    assert sentence in failed.stderr


def test_the_demo_port_has_its_own_limit(server: Server) -> None:
    page_port = int(server.url.rpartition(":")[2])
    [demo_port] = {port for _, port in listeners(server.pid)} - {page_port}
    chat = (b"POST /v1/chat/completions HTTP/1.1", HOST)
    for length, status in ((b"67108865", 413), (b"2097153", 401)):
        with Wire(f"http://127.0.0.1:{demo_port}") as wire:
            wire.write(head(*chat, b"Connection: close", b"Content-Length: " + length))
            if status == 401:
                wire.write(b"x" * int(length))
            assert wire.read_to_the_end().status == status


def test_a_form_with_many_parts_delays_nobody(server: Server) -> None:
    """Twisted would parse them in the event loop, even those of strangers."""
    part = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'
    body = part * (LIMIT // len(part) - 1) + b"--b--\r\n"
    before = event_loop_seconds(server)
    with Wire(server.url) as wire:
        kind = b"Content-Type: multipart/form-data; boundary=b"
        wire.write(head(*POST, b"Connection: close", kind, b"Content-Length: %d" % len(body)))
        wire.write(body)
        assert wire.read_to_the_end().status in (400, 403)
    assert event_loop_seconds(server) - before < seconds_to_count(25_000_000)


def event_loop_seconds(server: Server) -> float:
    """Return the processor time of the server's main thread, which runs the event loop."""
    stat = Path(f"/proc/{server.pid}/task/{server.pid}/stat").read_text()
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


# Responses that are never read


# a 500th of its response's size
SCRIPT = head(b"GET /static/vendor/htmx-4.0.1/htmx.min.js HTTP/1.1", HOST)


@pytest.mark.thorough
@pytest.mark.usefixtures("warm")
def test_requests_are_not_answered_while_their_responses_are_not_read(server: Server) -> None:
    before = measure_memory(server)
    with Wire(server.url, receive_bytes=4096) as wire, server.visit() as other:
        for _ in range(800):
            wire.write_until_stuck(SCRIPT, 1)
            other.get("/healthz")  # until it has been read
        assert measure_memory(server) - before < 8 * MIB


@pytest.mark.usefixtures("warm")
def test_many_pipelined_requests_are_not_answered_at_once(server: Server) -> None:
    before = measure_memory(server)
    with Wire(server.url, receive_bytes=4096) as wire:
        wire.write_until_stuck(SCRIPT * 100, 4 * MIB)
        assert measure_memory(server) - before < 8 * MIB


# Time


def test_a_silent_connection_is_closed(hasty: Server) -> None:
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(hasty.url)) for _ in range(200)]
        began = time.monotonic()
        for wire in wires:
            assert wire.read_to_the_end().raw == b""
        assert time.monotonic() - began < 10 * SECONDS
    assert count_sockets(hasty) < 100


@pytest.mark.parametrize(
    "start",
    sample_params(
        [
            b"",
            b"GET / HTTP/1.1\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
            b"GET /ws/ HTTP/1.1\r\nHost: localhost\r\n"
            b"Upgrade: websocket\r\nConnection: Upgrade\r\nX: ",
            head(*POST, b"Content-Length: 1000"),
            head(*POST, CHUNKED) + b"3e8\r\n",
        ],
        2,
    ),
)
def test_a_slow_request_is_aborted(hasty: Server, start: bytes) -> None:
    with Wire(hasty.url) as wire:
        wire.write(start)
        began = time.monotonic()
        answer = wire.drip(b"x", SECONDS / 10)
        assert answer.status == 408
        assert time.monotonic() - began < 4 * SECONDS


def test_an_idle_keep_alive_connection_is_closed(hasty: Server) -> None:
    with Wire(hasty.url) as wire:
        answer = wire.ask(b"GET /healthz HTTP/1.1", HOST)
        assert (answer.status, answer.raw.count(b"HTTP/1.1")) == (200, 1)


def test_a_connection_reused_in_time_is_kept(hasty: Server) -> None:
    with Wire(hasty.url) as wire:
        for _ in range(4):
            wire.write(head(b"GET /healthz HTTP/1.1", HOST))
            assert b"200 OK" in wire.read()
            time.sleep(SECONDS / 2)  # this silence is what is tested


async def test_an_open_socket_is_not_closed(hasty: Server, site: Site) -> None:
    async with visit(hasty, site.person()) as visitor:
        await asyncio.sleep(4 * SECONDS)  # this silence is what is tested
        async with asyncio.timeout(WAIT_SECONDS):
            await (await visitor.socket.ping())


def test_a_response_that_is_not_read_is_aborted(hasty: Server) -> None:
    before = count_sockets(hasty)
    with ExitStack() as stack:
        # The kernels of both processes buffer some 200 KB.
        for request in (SCRIPT, SCRIPT.replace(HOST, HOST + b"\r\nConnection: close")):
            for _ in range(20):
                stack.enter_context(Wire(hasty.url, receive_bytes=2048)).write(request)
        give_up_at = time.monotonic() + 20 * SECONDS
        while count_sockets(hasty) > before:
            assert time.monotonic() < give_up_at
            time.sleep(0.05)


# What the system knows about a server


@pytest.fixture
def warm(server: Server) -> None:
    """Use the server first, so that its memory then grows only by what requests leave."""
    with Wire(server.url) as wire, server.visit() as other:
        wire.write(SCRIPT)
        wire.read()
        for _ in range(50):
            other.get("/healthz")


def measure_memory(server: Server) -> int:
    """Return the resident memory of the process that is not shared, in bytes."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    match = re.search(r"RssAnon:\s*(\d+) kB", status)
    assert match
    return int(match[1]) * 1024


def count_spooled_bytes(server: Server) -> int:
    """Return the bytes in deleted files that the process has open."""
    total = 0
    for link in Path(f"/proc/{server.pid}/fd").iterdir():
        try:
            if str(link.readlink()).endswith("(deleted)"):
                total += link.stat().st_size
        except FileNotFoundError:
            continue  # closed meanwhile
    return total


def count_sockets(server: Server) -> int:
    links = Path(f"/proc/{server.pid}/fd").iterdir()
    return sum(1 for link in links if _is_socket(link))


def _is_socket(link: Path) -> bool:
    try:
        return str(link.readlink()).startswith("socket:")
    except FileNotFoundError:
        return False
