"""A public address that does not answer properly, or limits what gets through."""

import socket

import pytest

from chatapp.checks.results import Status
from chatapp.doctor import public, websocket
from chatapp.doctor.public import Public
from tests.doctor import only, statuses, through
from tests.doctor.relay import Relay, set_header
from tests.support.live import Server, free_port


@pytest.mark.network
def test_an_address_where_nothing_listens_fails() -> None:
    with Public(f"http://127.0.0.1:{free_port()}") as outside:
        assert only(public.answers(outside)).status is Status.FAILED


def test_a_server_with_a_wrong_clock_is_warned_of(server: Server) -> None:
    wrong = Relay(server.url, tell=set_header("Date", "Tue, 01 Jan 2030 00:00:00 GMT"))
    with wrong, Public(wrong.url) as outside:
        assert statuses(public.answers(outside))["Clock"] is Status.WARNING


def test_a_proxy_that_limits_bodies_fails(server: Server) -> None:
    result = through(Relay(server.url, max_body=100_000), public.body_size)
    assert (result.status, result.finding[-17:]) == (Status.FAILED, "answered with 413")
    assert "a body of 2048 KiB" in result.finding
    assert "client_max_body_size 2m" in result.remedy


@pytest.mark.network
def test_a_server_that_never_answers_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "WAIT_SECONDS", 0.2)
    monkeypatch.setattr(websocket, "WAIT_SECONDS", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Public(f"http://127.0.0.1:{listener.getsockname()[1]}") as outside,
    ):
        assert only(public.answers(outside)).status is Status.FAILED
        assert only(websocket.upgrade(outside)).status is Status.FAILED
