"""Connections that clients reset, whatever they were doing, leave nothing open."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.security.wire import Wire, handshake
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Server, Site

TIMES = 60
FEW = 10  # files that the server may open for its database and threads meanwhile
PINGS = (b"\x89\xfd" + bytes(4 + 125)) * 60
MESSAGES = b"\x81\x82\x00\x00\x00\x00{}" * 20
ASKS = [
    b"GET /static/vendor/htmx-4.0.1/htmx.min.js HTTP/1.1",
    b"GET /healthz HTTP/1.1",
    b"POST /accounts/login/ HTTP/1.1",
]


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Server]:
    with (
        FakeUpstream() as upstream,
        site.server(
            OPENAI_BASE_URL=upstream.base_url,
            CHATAPP_ACTIONS_PER_SECOND="1000",
            CHATAPP_TABS_PER_PERSON="1000",  # also raises the bound of concurrent actions
        ) as server,
    ):
        yield server
        assert "the handler is closed" not in server.log


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.visit() as client:
        yield client


def count_open_files(server: Server) -> int:
    return len(list(Path(f"/proc/{server.pid}/fd").iterdir()))


@pytest.mark.parametrize("sent", [b"", PINGS, MESSAGES], ids=["nothing", "pings", "messages"])
def test_a_socket_is_closed_after_a_reset(
    server: Server, site: Site, client: httpx.Client, sent: bytes
) -> None:
    person = site.person()

    def use(wire: Wire) -> None:
        wire.write(handshake(server.url, person.cookie_header))
        assert wire.read().startswith(b"HTTP/1.1 101 ")
        wire.write(sent)

    assert_nothing_stays(server, client, use)


@pytest.mark.parametrize("line", ASKS)
def test_a_request_is_dropped_after_a_reset(
    server: Server, client: httpx.Client, line: bytes
) -> None:
    def use(wire: Wire) -> None:
        host = wire.host.encode()
        wire.write(line + b"\r\nHost: " + host + b"\r\nContent-Length: 100000\r\n\r\n")
        with suppress(OSError):
            wire.write(b"x" * 70_000)

    assert_nothing_stays(server, client, use)


def assert_nothing_stays(server: Server, client: httpx.Client, use: Callable[[Wire], None]) -> None:
    """Open connections, reset each after use, and wait until the server has as few open files as
    before."""
    client.get("/healthz")
    before = count_open_files(server)
    for _ in range(TIMES):
        with Wire(server.url) as wire:
            use(wire)
            wire.reset()
    for _ in range(1000):
        client.get("/healthz")
        if count_open_files(server) <= before + FEW:
            return
    pytest.fail(f"{count_open_files(server) - before} of {TIMES} connections stay open")
