"""Check TLS at the public address: protocol, certificate, and the redirect from plain http."""

import socket
import ssl
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx

from chatapp.checks.phrases import reason
from chatapp.checks.results import CheckResult, failed, ok, skipped, warning

FEW_DAYS = 14
CONNECT_SECONDS = 10.0

# OpenSSL's codes for certificate errors (X509_V_ERR_…).
_EXPIRED, _NOT_YET_VALID, _WRONG_HOST, _WRONG_ADDRESS = 10, 9, 62, 64
_SELF_SIGNED = {18, 19}
_RENEW = (
    "Renew it, and find out why it was not renewed automatically (certbot renew, or Caddy's log)."
)


def verifying_context() -> ssl.SSLContext:
    """Return a context that trusts this machine's authorities, including SSL_CERT_FILE."""
    return ssl.create_default_context()


def unverified_context() -> ssl.SSLContext:
    """Return a context that accepts any certificate, so that the other checks can go on."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def certificate(url: str) -> Iterator[CheckResult]:
    """Check that the certificate is valid for the host, and for how many days."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        yield skipped("TLS", "the address is plain http")
        return
    try:
        with (
            socket.create_connection((host, parts.port or 443), CONNECT_SECONDS) as plain,
            verifying_context().wrap_socket(plain, server_hostname=host) as secured,
        ):
            peer, version = secured.getpeercert(), secured.version()
    except ssl.SSLCertVerificationError as error:
        yield failed(
            "Certificate", f"{error.verify_message} ({host})", _find_remedy(error.verify_code)
        )
        return
    except ssl.SSLError as error:
        yield failed(
            "TLS",
            f"no handshake: {reason(error)}",
            "Configure the proxy for TLS 1.2 or 1.3 on this port.",
        )
        return
    except OSError as error:
        yield failed(
            "TLS",
            f"{host} can't be reached: {reason(error)}",
            "Check the DNS name, the port, the firewall, and that the proxy is running.",
        )
        return
    yield ok("TLS", f"{version}".replace("TLSv", "TLS "))
    assert peer
    yield _validity(host, str(peer["notAfter"]))


def _validity(host: str, until: str) -> CheckResult:
    days = (ssl.cert_time_to_seconds(until) - time.time()) / 86400
    finding = f"valid for {host}, {days:.0f} days left"
    return (
        warning("Certificate", finding, _RENEW) if days < FEW_DAYS else ok("Certificate", finding)
    )


def _find_remedy(code: int) -> str:
    if code in (_EXPIRED, _NOT_YET_VALID):
        return f"{_RENEW} If its dates are right, this machine's clock is wrong."
    if code in (_WRONG_HOST, _WRONG_ADDRESS):
        return "Get a certificate for this host name, or set --url to the name it is for."
    if code in _SELF_SIGNED:
        return (
            "Get one from a public authority. If you have an authority of your own, set "
            "SSL_CERT_FILE to its certificate."
        )
    return "Configure the proxy to send the whole chain: the certificate and all intermediate ones."


def redirect(plain_url: str, url: str) -> Iterator[CheckResult]:
    """Check that `plain_url` redirects to https; skip the check if it is ""."""
    if not plain_url:
        yield skipped("Plain http", "not checked, because the address has a port")
        return
    try:
        response = httpx.get(plain_url, timeout=CONNECT_SECONDS, trust_env=False)
    except httpx.TransportError:
        yield ok("Plain http", "is not answered")
        return
    target = response.headers.get("location", "")
    if response.is_redirect and target.startswith("https://"):
        yield ok("Plain http", f"is redirected ({response.status_code})")
    else:
        yield warning(
            "Plain http",
            f"is answered with {response.status_code} instead of a redirect",
            f"Configure the proxy to redirect {plain_url} to {url}.",
        )
