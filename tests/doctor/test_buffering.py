"""A proxy that buffers streams."""

import pytest

from chatapp.checks.results import Status
from chatapp.doctor import buffering, websocket
from chatapp.doctor.buffering import Arrivals
from tests.doctor import through
from tests.doctor.relay import Relay
from tests.support.live import Server


@pytest.mark.thorough
def test_a_buffering_proxy_is_found(server: Server) -> None:
    result = through(Relay(server.url, lump_seconds=0.8), buffering.http_buffering)
    assert result.status is Status.WARNING
    assert "proxy_buffering off" in result.remedy
    result = through(Relay(server.url, lump_seconds=0.8), websocket.socket_buffering)
    assert result.status is Status.FAILED


def test_lateness_is_the_extra_time_of_the_slowest_piece() -> None:
    assert Arrivals([(0.0, 7.0), (0.1, 7.15), (0.2, 7.2)]).lateness == pytest.approx(0.05)
    assert Arrivals([(0.1 * n, 9.0) for n in range(10)]).are_buffered
    assert Arrivals().lateness == 0.0
