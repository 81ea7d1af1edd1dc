"""Check what the app sees of a request through the public URL: scheme, host, client, id."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

import httpx
from django.conf import settings

from chatapp.checks.phrases import reason
from chatapp.checks.results import CheckResult, failed, ok, warning
from chatapp.doctor.public import Public, remedy_for

# An address reserved for documentation (RFC 5737): an app that believes it believes any.
FORGED = "192.0.2.77"
FORGED_ID = "forged-by-the-doctor"


@dataclass(frozen=True)
class SeenRequest:
    """One request by the doctor, as the app saw it."""

    scheme: str
    host: str
    client: str
    forwarded_for: str
    forwarded_proto: str
    local_address: str = ""  # the local address that the request was sent from
    trusts_forged_headers: bool = False
    trusts_forged_request_id: bool = False


def fetch_seen_request(public: Public) -> SeenRequest | CheckResult:
    """Return what the app sees of a request from here, or a result that says why it is unknown."""
    try:
        response = public.http.get("/probe/seen", headers=public.headers)
        answer = response.json() if response.status_code == 200 else None
        local_address = str(response.extensions["network_stream"].get_extra_info("client_addr")[0])
        if isinstance(answer, dict):
            return SeenRequest(
                **answer,
                local_address=local_address,
                trusts_forged_headers=_trusts_forged_headers(public, local_address),
                trusts_forged_request_id=_trusts_forged_request_id(public),
            )
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        return failed("Probe", reason(error), "Look at the proxy's log.")
    return failed(
        "Probe",
        f"the doctor's own page answers {response.status_code}",
        remedy_for(response)
        if response.status_code != 404
        else "Run doctor where the app runs, with its environment. The app there has another "
        "version or another SECRET_KEY, or the proxy drops unknown headers or paths.",
    )


def _trusts_forged_headers(public: Public, local_address: str) -> bool:
    """Return whether the app trusts a forged client address.

    Always False if this machine is a trusted proxy: then the app has to trust it.
    """
    if _is_trusted(local_address):
        return False
    forged = public.headers | {"X-Forwarded-For": FORGED}
    return bool(public.http.get("/probe/seen", headers=forged).json()["client"] == FORGED)


def _trusts_forged_request_id(public: Public) -> bool:
    """Return whether the app uses a request id chosen by the client."""
    response = public.http.get("/probe/seen", headers=public.headers | {"X-Request-ID": FORGED_ID})
    return bool(response.headers.get("X-Request-ID") == FORGED_ID)


def _is_trusted(address: str) -> bool:
    trusted = getattr(settings, "CHATAPP_TRUSTED_PROXIES", ["127.0.0.1", "::1"])
    return any(ip_address(address) in ip_network(network) for network in trusted)


def check_forwarding(public: Public, seen: SeenRequest) -> Iterator[CheckResult]:
    """Check the scheme, host, client address and request id that the app sees."""
    yield _scheme(public, seen)
    yield _host(public, seen)
    yield _client(seen)
    yield _request_id(seen)


def _scheme(public: Public, seen: SeenRequest) -> CheckResult:
    expected = "https" if public.is_https else "http"
    if seen.scheme == expected:
        return ok("Scheme", f"the app sees {seen.scheme}")
    if seen.forwarded_proto == expected == "https":
        return failed(
            "Scheme",
            "the app sees http, although X-Forwarded-Proto says https",
            f"Set CSRF_TRUSTED_ORIGINS={public.origin}, add the proxy to CHATAPP_TRUSTED_PROXIES, "
            "and restart.",
        )
    return failed(
        "Scheme",
        f"the app sees {seen.scheme}, X-Forwarded-Proto is {seen.forwarded_proto or 'missing'}",
        "Configure the proxy to set it (nginx: proxy_set_header X-Forwarded-Proto $scheme).",
    )


def _host(public: Public, seen: SeenRequest) -> CheckResult:
    if seen.host == public.host:
        return ok("Host", f"the app sees {seen.host}")
    return failed(
        "Host",
        f"the app sees {seen.host}",
        "Configure the proxy to keep it (nginx: proxy_set_header Host $http_host).",
    )


def _client(seen: SeenRequest) -> CheckResult:
    forwarded_addresses = [part.strip() for part in seen.forwarded_for.split(",") if part.strip()]
    if seen.trusts_forged_headers:
        return failed(
            "Client address",
            "the app believes an X-Forwarded-For header from anyone",
            "List only your proxies in CHATAPP_TRUSTED_PROXIES, and configure the proxy to add the "
            "address of its client (nginx: $proxy_add_x_forwarded_for).",
        )
    if seen.client == seen.local_address or seen.client in forwarded_addresses:
        return ok("Client address", f"the app sees {seen.client}")
    if forwarded_addresses:
        return warning(
            "Client address",
            f"the app sees {seen.client}, the proxy's address, for everyone",
            f"Set CHATAPP_TRUSTED_PROXIES={seen.client} and restart.",
        )
    if _is_private(seen.client) and not _is_private(seen.local_address):
        return warning(
            "Client address",
            f"the app sees {seen.client} for everyone, and the proxy sends no client address",
            "Configure the proxy to send it (nginx: proxy_set_header X-Forwarded-For "
            "$proxy_add_x_forwarded_for).",
        )
    return ok("Client address", f"the app sees {seen.client}")


def _request_id(seen: SeenRequest) -> CheckResult:
    has_proxy = bool(seen.forwarded_for or seen.forwarded_proto)
    if seen.trusts_forged_request_id and (has_proxy or not _is_trusted(seen.local_address)):
        return warning(
            "Request id",
            "a client can choose the id of its request in the log by sending X-Request-ID",
            "Configure the proxy to set it (nginx: proxy_set_header X-Request-ID $request_id).",
        )
    if seen.trusts_forged_request_id:
        return ok("Request id", "is accepted from this machine, where a proxy may run")
    return ok("Request id", "is set by the app or its proxy")


def _is_private(address: str) -> bool:
    try:
        return ip_address(address).is_private
    except ValueError:
        return True  # a Unix socket has no address
