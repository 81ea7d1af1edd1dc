"""What a proxy does to requests and answers; each fault is one that a relay really makes."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from chatapp.doctor import public, websocket
from chatapp.doctor.public import Public, Sight
from chatapp.doctor.report import Finding, Verdict
from tests.doctor import only, verdicts
from tests.doctor.certificates import Authority
from tests.doctor.conftest import HTTPS_PORT
from tests.doctor.relay import Relay, dropping, refusing_upgrades, saying
from tests.live import Server, Site, free_port


@pytest.fixture
def direct(server: Server) -> Iterator[Public]:
    with Public(server.url) as direct:
        yield direct


def through(relay: Relay, check: Any) -> Finding:
    with relay, Public(relay.url) as outside:
        return only(check(outside))


def seen_through(relay: Relay) -> dict[str, Finding]:
    with relay, Public(relay.url) as outside:
        seen = public.sight(outside)
        assert isinstance(seen, Sight)
        return {found.what: found for found in public.forwarding(outside, seen)}


def test_all_is_well_without_a_proxy(direct: Public) -> None:
    seen = public.sight(direct)
    assert isinstance(seen, Sight)
    found = [
        *public.answers(direct),
        *public.forwarding(direct, seen),
        *public.page_headers(direct),
        *public.body_size(direct),
        *public.http_buffering(direct),
        *websocket.upgrade(direct),
        *websocket.socket_buffering(direct),
        *websocket.prompt_size(direct),
    ]
    assert [one for one in found if one.verdict is not Verdict.OK] == []


def test_all_is_well_behind_tls(server: Server, authority: Authority) -> None:
    https, named = saying("X-Forwarded-Proto", "https"), saying("X-Request-ID", "the-proxys")

    def both(data: bytes) -> bytes:
        return named(https(data))

    with (
        Relay(
            server.url,
            lambda data: named(https(data)),
            context=authority.context(),
            port=HTTPS_PORT,
        ) as relay,
        Public(relay.url) as outside,
    ):
        seen = public.sight(outside)
        assert isinstance(seen, Sight)
        found = [
            *public.answers(outside),
            *public.forwarding(outside, seen),
            *public.page_headers(outside),
            *websocket.upgrade(outside),
            *websocket.prompt_size(outside),
        ]
    assert [one for one in found if one.verdict is not Verdict.OK] == []
    assert "HSTS" in verdicts(found)


def test_an_address_where_nobody_is() -> None:
    with Public(f"http://127.0.0.1:{free_port()}") as outside:
        assert only(public.answers(outside)).verdict is Verdict.FAILED


def test_a_host_name_that_the_app_refuses(site: Site) -> None:
    server = site.server(SECRET_KEY=settings.SECRET_KEY).start()
    relay = Relay(server.url, saying("Host", "chat.example"))
    try:
        with relay, Public(relay.url) as outside:
            found = public.sight(outside)
    finally:
        server.stop()  # which logged what it refused
    assert isinstance(found, Finding)
    assert found.found.endswith("answers 400")
    assert "ALLOWED_HOSTS" in found.cure


def test_an_installation_with_another_secret_key(site: Site) -> None:
    with site.server() as other, Public(other.url) as outside:
        found = public.sight(outside)
        assert isinstance(found, Finding)
        assert "SECRET_KEY" in found.cure
        assert "SECRET_KEY" in only(websocket.upgrade(outside)).cure


def test_a_proxy_that_changes_the_host(server: Server) -> None:
    found = seen_through(Relay(server.url, saying("Host", "127.0.0.1")))["Host"]
    assert (found.verdict, found.found) == (Verdict.FAILED, "the app sees 127.0.0.1")


def test_a_page_whose_origin_the_app_does_not_know(server: Server) -> None:
    with (
        Relay(server.url, saying("Host", "127.0.0.1")) as relay,
        Public(relay.url) as outside,
    ):
        opens, found = websocket.upgrade(outside)
    assert (opens.verdict, found.verdict) == (Verdict.OK, Verdict.FAILED)
    assert "CSRF_TRUSTED_ORIGINS=http://localhost:" in found.cure


def test_a_proxy_that_does_not_say_https(server: Server, authority: Authority) -> None:
    found = seen_through(Relay(server.url, context=authority.context()))["Scheme"]
    assert found.verdict is Verdict.FAILED
    assert "X-Forwarded-Proto $scheme" in found.cure


def test_an_app_that_does_not_believe_https(site: Site, authority: Authority) -> None:
    with Public("https://chat.example") as outside:
        seen = Sight("http", "chat.example", "10.0.0.9", "10.0.0.9", "https", "10.0.0.9")
        found = {one.what: one for one in public.forwarding(outside, seen)}["Scheme"]
    assert found.verdict is Verdict.FAILED
    assert "CSRF_TRUSTED_ORIGINS=https://chat.example" in found.cure


@pytest.mark.parametrize(
    ("client", "forwarded_for", "from_here", "verdict"),
    [
        ("127.0.0.1", "", "127.0.0.1", Verdict.OK),
        ("203.0.113.9", "203.0.113.9", "10.0.0.7", Verdict.OK),  # behind NAT
        ("127.0.0.1", "203.0.113.9", "203.0.113.9", Verdict.WARNING),  # not believed
        ("172.17.0.1", "", "9.9.9.9", Verdict.WARNING),  # not even named
        ("203.0.113.9", "", "10.0.0.7", Verdict.OK),  # NAT, and no proxy
    ],
)
def test_client_addresses(
    client: str, forwarded_for: str, from_here: str, verdict: Verdict
) -> None:
    seen = Sight("http", "chat.example", client, forwarded_for, "", from_here)
    with Public("http://chat.example") as outside:
        assert verdicts(public.forwarding(outside, seen))["Client address"] is verdict


def test_an_app_that_believes_any_forwarded_address() -> None:
    seen = Sight("http", "chat.example", "198.51.100.4", "", "", "198.51.100.4", True)
    with Public("http://chat.example") as outside:
        found = {one.what: one for one in public.forwarding(outside, seen)}["Client address"]
    assert found.verdict is Verdict.FAILED


def test_a_forged_address_is_tried_from_where_no_proxy_is(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "CHATAPP_TRUSTED_PROXIES", [], raising=False)
    with (
        Relay(server.url, saying("X-Forwarded-For", public.FORGED)) as relay,
        Public(relay.url) as outside,
    ):
        seen = public.sight(outside)
    assert isinstance(seen, Sight)
    assert seen.believes_forged is (seen.client == public.FORGED)
    assert seen.forwarded_for in ("", public.FORGED)


def test_a_proxy_that_passes_on_a_clients_request_id(server: Server) -> None:
    found = seen_through(Relay(server.url, saying("X-Forwarded-Proto", "http")))["Request id"]
    assert found.verdict is Verdict.WARNING
    assert "X-Request-ID $request_id" in found.cure
    found = seen_through(Relay(server.url, saying("X-Request-ID", "the-proxys")))["Request id"]
    assert found.verdict is Verdict.OK


def test_a_proxy_that_caches(server: Server) -> None:
    cached = Relay(server.url, tell=saying("Age", "17"))
    assert through(cached, public.page_headers).found == "pages come from a cache (age is sent)"
    stripped = Relay(server.url, tell=dropping("Cache-Control"))
    assert through(stripped, public.page_headers).verdict is Verdict.FAILED


def test_a_server_whose_clock_is_wrong(server: Server) -> None:
    wrong = Relay(server.url, tell=saying("Date", "Tue, 01 Jan 2030 00:00:00 GMT"))
    with wrong, Public(wrong.url) as outside:
        assert verdicts(public.answers(outside))["Its clock"] is Verdict.WARNING


def test_a_proxy_that_limits_bodies(server: Server) -> None:
    found = through(Relay(server.url, max_body=100_000), public.body_size)
    assert (found.verdict, found.found[-17:]) == (Verdict.FAILED, "answered with 413")
    assert "a body of 2048 KiB" in found.found
    assert "client_max_body_size 2m" in found.cure


def test_a_proxy_that_buffers(server: Server) -> None:
    found = through(Relay(server.url, lump_seconds=0.8), public.http_buffering)
    assert found.verdict is Verdict.WARNING
    assert "proxy_buffering off" in found.cure
    found = through(Relay(server.url, lump_seconds=0.8), websocket.socket_buffering)
    assert found.verdict is Verdict.FAILED


def test_a_proxy_that_refuses_upgrades(server: Server) -> None:
    for check in (websocket.upgrade, websocket.socket_buffering, websocket.prompt_size):
        assert through(Relay(server.url, refusing_upgrades), check).verdict is Verdict.FAILED
    found = through(Relay(server.url, refusing_upgrades), websocket.upgrade)
    assert "Upgrade $http_upgrade" in found.cure


def test_a_proxy_that_limits_messages(server: Server) -> None:
    found = through(Relay(server.url, max_message=100_000), websocket.prompt_size)
    assert found.verdict is Verdict.FAILED


def test_a_proxy_that_drops_what_is_silent(server: Server) -> None:
    with (
        Relay(server.url, idle_seconds=0.3) as relay,
        Public(relay.url) as outside,
        websocket.QuietSocket(outside, 5) as quiet,
    ):
        found = quiet.wait()
    assert found.verdict is Verdict.FAILED
    assert found.found.startswith("was closed after")


def test_a_socket_that_may_be_silent(direct: Public) -> None:
    left: list[float] = []
    with websocket.QuietSocket(direct, 0.2) as quiet:
        found = quiet.wait(left.append)
    assert (found.verdict, found.found) == (Verdict.OK, "still open after 0.2 s of silence")
    assert left


def test_a_silence_that_is_not_waited_for_ends_at_once(direct: Public) -> None:
    with websocket.QuietSocket(direct, 3600):
        pass


def test_a_proxy_that_refuses_upgrades_gets_no_silence(server: Server) -> None:
    with (
        Relay(server.url, refusing_upgrades) as relay,
        Public(relay.url) as outside,
        websocket.QuietSocket(outside, 5) as quiet,
    ):
        assert quiet.wait().verdict is Verdict.FAILED


def test_a_listener_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "WAIT_SECONDS", 0.2)
    monkeypatch.setattr(websocket, "WAIT_SECONDS", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Public(f"http://127.0.0.1:{listener.getsockname()[1]}") as outside,
    ):
        assert only(public.answers(outside)).verdict is Verdict.FAILED
        assert only(websocket.upgrade(outside)).verdict is Verdict.FAILED


def test_lateness_is_what_the_slowest_piece_took_longer() -> None:
    assert public.lateness([(0.0, 7.0), (0.1, 7.15), (0.2, 7.2)]) == pytest.approx(0.05)
    assert public.is_buffered(public.lateness([(0.1 * n, 9.0) for n in range(10)]))
    assert public.lateness([]) == 0.0
