"""A good installation: all checks through the public address pass."""

import pytest

from chatapp.checks.results import Status
from chatapp.doctor import buffering, forwarding, pages, public, websocket
from chatapp.doctor.forwarding import SeenRequest
from chatapp.doctor.public import Public
from tests.doctor import statuses
from tests.doctor.conftest import HTTPS_PORT
from tests.doctor.relay import Relay, set_header
from tests.support.certificates import Authority
from tests.support.live import Server

pytestmark = pytest.mark.thorough


def test_all_checks_pass_without_a_proxy(direct: Public) -> None:
    seen = forwarding.fetch_seen_request(direct)
    assert isinstance(seen, SeenRequest)
    results = [
        *public.answers(direct),
        *forwarding.check_forwarding(direct, seen),
        *pages.page_headers(direct),
        *public.body_size(direct),
        *buffering.http_buffering(direct),
        *websocket.upgrade(direct),
        *websocket.socket_buffering(direct),
        *websocket.prompt_size(direct),
    ]
    assert [result for result in results if result.status is not Status.OK] == []


def test_all_checks_pass_behind_tls(server: Server, authority: Authority) -> None:
    https, request_id = (
        set_header("X-Forwarded-Proto", "https"),
        set_header("X-Request-ID", "the-proxys"),
    )

    def both(data: bytes) -> bytes:
        return request_id(https(data))

    with (
        Relay(
            server.url,
            lambda data: request_id(https(data)),
            context=authority.context(),
            port=HTTPS_PORT,
        ) as relay,
        Public(relay.url) as outside,
    ):
        seen = forwarding.fetch_seen_request(outside)
        assert isinstance(seen, SeenRequest)
        results = [
            *public.answers(outside),
            *forwarding.check_forwarding(outside, seen),
            *pages.page_headers(outside),
            *websocket.upgrade(outside),
            *websocket.prompt_size(outside),
        ]
    assert [result for result in results if result.status is not Status.OK] == []
    assert "HSTS" in statuses(results)
