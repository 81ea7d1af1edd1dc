"""Proxies that change what the app sees, most of them with a real `Relay`."""

import pytest
from django.conf import settings

from chatapp.checks.results import CheckResult, Status
from chatapp.doctor import forwarding, websocket
from chatapp.doctor.forwarding import SeenRequest
from chatapp.doctor.public import Public
from tests.doctor import only, statuses
from tests.doctor.relay import Relay, set_header
from tests.support.certificates import Authority
from tests.support.live import Server, Site


def seen_through(relay: Relay) -> dict[str, CheckResult]:
    with relay, Public(relay.url) as outside:
        seen = forwarding.fetch_seen_request(outside)
        assert isinstance(seen, SeenRequest)
        return {result.what: result for result in forwarding.check_forwarding(outside, seen)}


@pytest.mark.thorough
def test_a_host_name_that_the_app_refuses_is_reported(site: Site) -> None:
    server = site.server(SECRET_KEY=settings.SECRET_KEY).start()
    relay = Relay(server.url, set_header("Host", "chat.example"))
    try:
        with relay, Public(relay.url) as outside:
            result = forwarding.fetch_seen_request(outside)
    finally:
        server.stop()  # it logged the refused host
    assert isinstance(result, CheckResult)
    assert result.finding.endswith("answers 400")
    assert "ALLOWED_HOSTS" in result.remedy


@pytest.mark.thorough
def test_an_installation_with_another_secret_key_is_reported(site: Site) -> None:
    with site.server() as other, Public(other.url) as outside:
        result = forwarding.fetch_seen_request(outside)
        assert isinstance(result, CheckResult)
        assert "SECRET_KEY" in result.remedy
        assert "SECRET_KEY" in only(websocket.upgrade(outside)).remedy


def test_a_proxy_that_changes_the_host_fails(server: Server) -> None:
    result = seen_through(Relay(server.url, set_header("Host", "127.0.0.1")))["Host"]
    assert (result.status, result.finding) == (Status.FAILED, "the app sees 127.0.0.1")


def test_a_proxy_that_does_not_forward_the_scheme_fails(
    server: Server, authority: Authority
) -> None:
    result = seen_through(Relay(server.url, context=authority.context()))["Scheme"]
    assert result.status is Status.FAILED
    assert "X-Forwarded-Proto $scheme" in result.remedy


def test_an_app_that_does_not_trust_the_forwarded_scheme_fails(
    site: Site, authority: Authority
) -> None:
    with Public("https://chat.example") as outside:
        seen = SeenRequest("http", "chat.example", "10.0.0.9", "10.0.0.9", "https", "10.0.0.9")
        scheme = {result.what: result for result in forwarding.check_forwarding(outside, seen)}[
            "Scheme"
        ]
    assert scheme.status is Status.FAILED
    assert "CSRF_TRUSTED_ORIGINS=https://chat.example" in scheme.remedy


@pytest.mark.parametrize(
    ("client", "forwarded_for", "from_here", "status"),
    [
        ("127.0.0.1", "", "127.0.0.1", Status.OK),
        ("203.0.113.9", "203.0.113.9", "10.0.0.7", Status.OK),  # behind NAT
        ("127.0.0.1", "203.0.113.9", "203.0.113.9", Status.WARNING),  # not trusted
        ("172.17.0.1", "", "9.9.9.9", Status.WARNING),  # not even sent
        ("203.0.113.9", "", "10.0.0.7", Status.OK),  # NAT, and no proxy
    ],
)
def test_the_client_address_is_judged(
    client: str, forwarded_for: str, from_here: str, status: Status
) -> None:
    seen = SeenRequest("http", "chat.example", client, forwarded_for, "", from_here)
    with Public("http://chat.example") as outside:
        assert statuses(forwarding.check_forwarding(outside, seen))["Client address"] is status


def test_an_app_that_trusts_any_forwarded_address_fails() -> None:
    seen = SeenRequest("http", "chat.example", "198.51.100.4", "", "", "198.51.100.4", True)
    with Public("http://chat.example") as outside:
        client_address = {
            result.what: result for result in forwarding.check_forwarding(outside, seen)
        }["Client address"]
    assert client_address.status is Status.FAILED


def test_a_forged_address_is_tried_unless_this_machine_is_a_trusted_proxy(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "CHATAPP_TRUSTED_PROXIES", [], raising=False)
    with (
        Relay(server.url, set_header("X-Forwarded-For", forwarding.FORGED)) as relay,
        Public(relay.url) as outside,
    ):
        seen = forwarding.fetch_seen_request(outside)
    assert isinstance(seen, SeenRequest)
    assert seen.trusts_forged_headers is (seen.client == forwarding.FORGED)
    assert seen.forwarded_for in ("", forwarding.FORGED)


def test_a_proxy_that_passes_on_a_clients_request_id_is_warned_of(server: Server) -> None:
    result = seen_through(Relay(server.url, set_header("X-Forwarded-Proto", "http")))["Request id"]
    assert result.status is Status.WARNING
    assert "X-Request-ID $request_id" in result.remedy
    result = seen_through(Relay(server.url, set_header("X-Request-ID", "the-proxys")))["Request id"]
    assert result.status is Status.OK
