"""Proxies that break WebSockets, each with a real `Relay`."""

from chatapp.checks.results import Status
from chatapp.doctor import websocket
from chatapp.doctor.public import Public
from tests.doctor import through
from tests.doctor.relay import Relay, refusing_upgrades, saying
from tests.support.live import Server


def test_an_origin_that_the_app_refuses_is_reported(server: Server) -> None:
    with (
        Relay(server.url, saying("Host", "127.0.0.1")) as relay,
        Public(relay.url) as outside,
    ):
        opens, found = websocket.upgrade(outside)
    assert (opens.status, found.status) == (Status.OK, Status.FAILED)
    assert "CSRF_TRUSTED_ORIGINS=http://localhost:" in found.remedy


def test_a_proxy_that_refuses_upgrades_fails(server: Server) -> None:
    for check in (websocket.upgrade, websocket.socket_buffering, websocket.prompt_size):
        assert through(Relay(server.url, refusing_upgrades), check).status is Status.FAILED
    found = through(Relay(server.url, refusing_upgrades), websocket.upgrade)
    assert "Upgrade $http_upgrade" in found.remedy


def test_a_redirect_fails_and_is_not_followed(server: Server) -> None:
    """Following it would send the doctor's token to another address."""

    def redirecting(data: bytes) -> bytes:
        moved = f"HTTP/1.1 301 Moved\r\nLocation: {server.url}/ws/probe/\r\nContent-Length: 0"
        return data.replace(b"HTTP/1.1 101 Switching Protocols", moved.encode())

    found = through(Relay(server.url, tell=redirecting), websocket.upgrade)
    assert found.status is Status.FAILED
    assert found.found == "the upgrade is answered with 301"


def test_a_proxy_that_limits_messages_fails(server: Server) -> None:
    found = through(Relay(server.url, max_message=100_000), websocket.prompt_size)
    assert found.status is Status.FAILED


def test_a_proxy_that_closes_idle_sockets_fails(server: Server) -> None:
    with (
        Relay(server.url, idle_seconds=0.3) as relay,
        Public(relay.url) as outside,
        websocket.QuietSocket(outside, 5) as quiet,
    ):
        found = quiet.wait()
    assert found.status is Status.FAILED
    assert found.found.startswith("was closed after")


def test_a_socket_that_stays_open_while_idle_passes(direct: Public) -> None:
    left: list[float] = []
    with websocket.QuietSocket(direct, 0.2) as quiet:
        found = quiet.wait(left.append)
    assert (found.status, found.found) == (Status.OK, "still open after 0.2 s of silence")
    assert left


def test_leaving_a_quiet_socket_early_does_not_wait(direct: Public) -> None:
    with websocket.QuietSocket(direct, 3600):
        pass


def test_a_quiet_socket_fails_without_upgrades(server: Server) -> None:
    with (
        Relay(server.url, refusing_upgrades) as relay,
        Public(relay.url) as outside,
        websocket.QuietSocket(outside, 5) as quiet,
    ):
        assert quiet.wait().status is Status.FAILED
