"""Certificates that are valid, expiring, expired, for another host, or not trusted."""

import ssl
from collections.abc import Callable, Iterator

import pytest

from chatapp.checks.results import Status
from chatapp.doctor import tls
from chatapp.doctor.tls import certificate, redirect
from tests.doctor import only, statuses
from tests.doctor.relay import Relay, set_header
from tests.support.certificates import Authority
from tests.support.live import Server, free_port

Context = Callable[[Authority], ssl.SSLContext]


@pytest.fixture
def speaking(server: Server, authority: Authority) -> Iterator[Callable[[Context], str]]:
    """A function that starts a proxy with the given certificate and returns its URL."""
    relays: list[Relay] = []

    def speak(context: Context) -> str:
        relays.append(Relay(server.url, context=context(authority)).__enter__())
        return relays[-1].url

    yield speak
    for relay in relays:
        relay.__exit__(None, None, None)


def test_a_good_certificate_passes(speaking: Callable[[Context], str]) -> None:
    protocol, result = certificate(speaking(lambda authority: authority.context()))
    assert (protocol.status, protocol.finding) == (Status.OK, "TLS 1.3")
    assert (result.status, result.finding) == (Status.OK, "valid for localhost, 90 days left")


def test_a_certificate_that_expires_soon_is_warned_of(speaking: Callable[[Context], str]) -> None:
    _, result = certificate(speaking(lambda authority: authority.context(days=5)))
    assert (result.status, result.finding) == (Status.WARNING, "valid for localhost, 5 days left")


@pytest.mark.parametrize(
    ("context", "words", "remedy"),
    [
        (lambda authority: authority.context(days=-1), "certificate has expired", "Renew it"),
        (
            lambda authority: authority.context("other.example"),
            "mismatch",
            "Get a certificate for this host",
        ),
        (lambda authority: authority.self_signed(), "self-signed certificate", "SSL_CERT_FILE"),
    ],
)
def test_bad_certificates_fail(
    speaking: Callable[[Context], str], context: Context, words: str, remedy: str
) -> None:
    result = only(certificate(speaking(context)))
    assert (result.what, result.status) == ("Certificate", Status.FAILED)
    assert words.lower() in result.finding.lower()
    assert remedy in result.remedy


def test_a_certificate_by_an_unknown_authority_fails(
    speaking: Callable[[Context], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = speaking(lambda authority: authority.context())
    monkeypatch.delenv("SSL_CERT_FILE")
    result = only(certificate(url))
    assert result.status is Status.FAILED
    assert "chain" in result.remedy


def test_a_port_without_tls_fails(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "CONNECT_SECONDS", 0.3)  # Daphne waits for a line to end
    result = only(certificate(server.url.replace("http:", "https:")))
    assert (result.what, result.status) == ("TLS", Status.FAILED)


@pytest.mark.network
def test_an_unreachable_host_fails() -> None:
    result = only(certificate(f"https://127.0.0.1:{free_port()}"))
    assert (result.what, result.status) == ("TLS", Status.FAILED)


def test_plain_http_is_skipped() -> None:
    assert only(certificate("http://localhost")).status is Status.SKIPPED


def test_plain_http_must_redirect(server: Server) -> None:
    def check_redirect(url: str) -> Status:
        return statuses(redirect(url, "https://chat.example"))["Plain http"]

    assert check_redirect("") is Status.SKIPPED
    assert check_redirect(f"http://127.0.0.1:{free_port()}") is Status.OK
    assert check_redirect(f"{server.url}/healthz") is Status.WARNING
    with Relay(server.url, tell=set_header("Location", "https://chat.example/")) as relay:
        assert check_redirect(f"{relay.url}/") is Status.OK
