"""Certificates that are right, end soon, have ended, are for someone else, or by nobody."""

import ssl
from collections.abc import Callable, Iterator

import pytest

from chatapp.checks.results import Verdict
from chatapp.doctor import tls
from chatapp.doctor.tls import certificate, redirect
from tests.doctor import only, verdicts
from tests.doctor.relay import Relay, saying
from tests.support.certificates import Authority
from tests.support.live import Server, free_port

Context = Callable[[Authority], ssl.SSLContext]


@pytest.fixture
def speaking(server: Server, authority: Authority) -> Iterator[Callable[[Context], str]]:
    """The address of a proxy with the certificate that is asked for."""
    relays: list[Relay] = []

    def speak(context: Context) -> str:
        relays.append(Relay(server.url, context=context(authority)).__enter__())
        return relays[-1].url

    yield speak
    for relay in relays:
        relay.__exit__(None, None, None)


def test_a_good_certificate(speaking: Callable[[Context], str]) -> None:
    protocol, found = certificate(speaking(lambda authority: authority.context()))
    assert (protocol.verdict, protocol.found) == (Verdict.OK, "TLS 1.3")
    assert (found.verdict, found.found) == (Verdict.OK, "valid for localhost, 90 days left")


def test_one_that_ends_soon(speaking: Callable[[Context], str]) -> None:
    _, found = certificate(speaking(lambda authority: authority.context(days=5)))
    assert (found.verdict, found.found) == (Verdict.WARNING, "valid for localhost, 5 days left")


@pytest.mark.parametrize(
    ("context", "said", "cure"),
    [
        (lambda one: one.context(days=-1), "certificate has expired", "Renew it"),
        (lambda one: one.context("other.example"), "mismatch", "Get a certificate for this host"),
        (lambda one: one.self_signed(), "self-signed certificate", "SSL_CERT_FILE"),
    ],
)
def test_bad_ones(
    speaking: Callable[[Context], str], context: Context, said: str, cure: str
) -> None:
    found = only(certificate(speaking(context)))
    assert (found.what, found.verdict) == ("Certificate", Verdict.FAILED)
    assert said.lower() in found.found.lower()
    assert cure in found.cure


def test_one_by_an_authority_that_nobody_knows(
    speaking: Callable[[Context], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = speaking(lambda authority: authority.context())
    monkeypatch.delenv("SSL_CERT_FILE")
    found = only(certificate(url))
    assert found.verdict is Verdict.FAILED
    assert "chain" in found.cure


def test_a_port_that_speaks_no_tls(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "CONNECT_SECONDS", 0.3)  # Daphne waits for the end of a line
    found = only(certificate(server.url.replace("http:", "https:")))
    assert (found.what, found.verdict) == ("TLS", Verdict.FAILED)


@pytest.mark.network
def test_a_host_that_is_away() -> None:
    found = only(certificate(f"https://127.0.0.1:{free_port()}"))
    assert (found.what, found.verdict) == ("TLS", Verdict.FAILED)


def test_plain_http_has_none() -> None:
    assert only(certificate("http://localhost")).verdict is Verdict.SKIPPED


def test_where_plain_http_leads(server: Server) -> None:
    def judged(url: str) -> Verdict:
        return verdicts(redirect(url, "https://chat.example"))["Plain http"]

    assert judged("") is Verdict.SKIPPED
    assert judged(f"http://127.0.0.1:{free_port()}") is Verdict.OK
    assert judged(f"{server.url}/healthz") is Verdict.WARNING
    with Relay(server.url, tell=saying("Location", "https://chat.example/")) as relay:
        assert judged(f"{relay.url}/") is Verdict.OK
