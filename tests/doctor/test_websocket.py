"""Proxies that break WebSockets, each with a real `Relay`."""

from chatapp.checks.results import Status
from chatapp.doctor import websocket
from chatapp.doctor.public import Public
from tests.doctor import through
from tests.doctor.relay import Relay, refuse_upgrades, set_header
from tests.support.live import Server


def test_an_origin_that_the_app_refuses_is_reported(server: Server) -> None:
    with (
        Relay(server.url, set_header("Host", "127.0.0.1")) as relay,
        Public(relay.url) as outside,
    ):
        opens, result = websocket.upgrade(outside)
    assert (opens.status, result.status) == (Status.OK, Status.FAILED)
    assert "CSRF_TRUSTED_ORIGINS=http://localhost:" in result.remedy


def test_a_proxy_that_refuses_upgrades_fails(server: Server) -> None:
    for check in (websocket.upgrade, websocket.socket_buffering, websocket.prompt_size):
        assert through(Relay(server.url, refuse_upgrades), check).status is Status.FAILED
    result = through(Relay(server.url, refuse_upgrades), websocket.upgrade)
    assert "Upgrade $http_upgrade" in result.remedy


def test_a_redirect_fails_and_is_not_followed(server: Server) -> None:
    """Following it would send the doctor's token to another address."""

    def redirecting(data: bytes) -> bytes:
        moved = f"HTTP/1.1 301 Moved\r\nLocation: {server.url}/ws/probe/\r\nContent-Length: 0"
        return data.replace(b"HTTP/1.1 101 Switching Protocols", moved.encode())

    result = through(Relay(server.url, tell=redirecting), websocket.upgrade)
    assert result.status is Status.FAILED
    assert result.finding == "the upgrade is answered with 301"


def test_a_proxy_that_limits_messages_fails(server: Server) -> None:
    result = through(Relay(server.url, max_message=100_000), websocket.prompt_size)
    assert result.status is Status.FAILED


def test_a_proxy_that_closes_idle_sockets_fails(server: Server) -> None:
    with (
        Relay(server.url, idle_seconds=0.3) as relay,
        Public(relay.url) as outside,
        websocket.QuietSocket(outside, 5) as quiet,
    ):
        result = quiet.wait()
    assert result.status is Status.FAILED
    assert result.finding.startswith("was closed after")


def test_a_socket_that_stays_open_while_idle_passes(direct: Public) -> None:
    with websocket.QuietSocket(direct, 0.2) as quiet:
        result = quiet.wait()
    assert (result.status, result.finding) == (Status.OK, "still open after 0.2 s of silence")


def test_leaving_a_quiet_socket_early_does_not_wait(direct: Public) -> None:
    with websocket.QuietSocket(direct, 3600):
        pass


def test_a_quiet_socket_fails_without_upgrades(server: Server) -> None:
    with (
        Relay(server.url, refuse_upgrades) as relay,
        Public(relay.url) as outside,
        websocket.QuietSocket(outside, 5) as quiet,
    ):
        assert quiet.wait().status is Status.FAILED
