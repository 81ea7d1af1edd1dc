"""What the app sees of a request that came through the public URL: scheme, host, client, id."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

import httpx
from django.conf import settings

from chatapp.checks.results import Finding, failed, ok, warning
from chatapp.doctor.public import Public, cure_of
from chatapp.doctor.report import reason

# An address that no machine has (RFC 5737): whoever believes it believes anything.
FORGED = "192.0.2.77"
FORGED_ID = "forged-by-the-doctor"


@dataclass(frozen=True)
class Sight:
    """What the app saw of one request."""

    scheme: str
    host: str
    client: str
    forwarded_for: str
    forwarded_proto: str
    from_here: str = ""  # the address that the request left this machine by
    believes_forged: bool = False
    believes_forged_id: bool = False


def sight(public: Public) -> Sight | Finding:
    """What the app sees of a request from here; or why it is not known."""
    try:
        response = public.http.get("/probe/seen", headers=public.headers)
        told = response.json() if response.status_code == 200 else None
        here = str(response.extensions["network_stream"].get_extra_info("client_addr")[0])
        if isinstance(told, dict):
            return Sight(
                **told,
                from_here=here,
                believes_forged=_believes_forged(public, here),
                believes_forged_id=_believes_forged_id(public),
            )
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        return failed("Probe", reason(error), "See what the proxy's log says.")
    return failed(
        "Probe",
        f"the doctor's own page answers {response.status_code}",
        cure_of(response)
        if response.status_code != 404
        else "Run doctor where the app runs, with its environment: the app there is another "
        "version or has another SECRET_KEY, or the proxy drops unknown headers or paths.",
    )


def _believes_forged(public: Public, here: str) -> bool:
    """Whether the app takes an address that we made up. From where a proxy of its own may be, it
    has to."""
    if _is_trusted(here):
        return False
    forged = public.headers | {"X-Forwarded-For": FORGED}
    return bool(public.http.get("/probe/seen", headers=forged).json()["client"] == FORGED)


def _believes_forged_id(public: Public) -> bool:
    """Whether the app gives a request the id that whoever sends it made up."""
    response = public.http.get("/probe/seen", headers=public.headers | {"X-Request-ID": FORGED_ID})
    return bool(response.headers.get("X-Request-ID") == FORGED_ID)


def _is_trusted(address: str) -> bool:
    trusted = getattr(settings, "CHATAPP_TRUSTED_PROXIES", ["127.0.0.1", "::1"])
    return any(ip_address(address) in ip_network(network) for network in trusted)


def judged(public: Public, seen: Sight) -> Iterator[Finding]:
    """Scheme, host and client address as the app sees them."""
    yield _scheme(public, seen)
    yield _host(public, seen)
    yield _client(seen)
    yield _request_id(seen)


def _scheme(public: Public, seen: Sight) -> Finding:
    expected = "https" if public.is_https else "http"
    if seen.scheme == expected:
        return ok("Scheme", f"the app sees {seen.scheme}")
    if seen.forwarded_proto == expected == "https":
        return failed(
            "Scheme",
            "the app sees http, though X-Forwarded-Proto says https",
            f"Set CSRF_TRUSTED_ORIGINS={public.origin}, let CHATAPP_TRUSTED_PROXIES name the "
            "proxy, and restart.",
        )
    return failed(
        "Scheme",
        f"the app sees {seen.scheme}, X-Forwarded-Proto is {seen.forwarded_proto or 'missing'}",
        "Let the proxy set it (nginx: proxy_set_header X-Forwarded-Proto $scheme).",
    )


def _host(public: Public, seen: Sight) -> Finding:
    if seen.host == public.host:
        return ok("Host", f"the app sees {seen.host}")
    return failed(
        "Host",
        f"the app sees {seen.host}",
        "Let the proxy keep it (nginx: proxy_set_header Host $http_host).",
    )


def _client(seen: Sight) -> Finding:
    named = [part.strip() for part in seen.forwarded_for.split(",") if part.strip()]
    if seen.believes_forged:
        return failed(
            "Client address",
            "the app believes an X-Forwarded-For that anybody can send",
            "Let CHATAPP_TRUSTED_PROXIES name your proxies alone, and let the proxy add the "
            "address of its own client (nginx: $proxy_add_x_forwarded_for).",
        )
    if seen.client == seen.from_here or seen.client in named:
        return ok("Client address", f"the app sees {seen.client}")
    if named:
        return warning(
            "Client address",
            f"the app sees {seen.client}, the proxy's, for everyone",
            f"Set CHATAPP_TRUSTED_PROXIES={seen.client} and restart.",
        )
    if _is_private(seen.client) and not _is_private(seen.from_here):
        return warning(
            "Client address",
            f"the app sees {seen.client} for everyone, and the proxy names no client",
            "Let the proxy set it (nginx: proxy_set_header X-Forwarded-For "
            "$proxy_add_x_forwarded_for).",
        )
    return ok("Client address", f"the app sees {seen.client}")


def _request_id(seen: Sight) -> Finding:
    has_proxy = bool(seen.forwarded_for or seen.forwarded_proto)
    if seen.believes_forged_id and (has_proxy or not _is_trusted(seen.from_here)):
        return warning(
            "Request id",
            "whoever sends an X-Request-ID chooses what the log calls the request",
            "Let the proxy set it (nginx: proxy_set_header X-Request-ID $request_id).",
        )
    if seen.believes_forged_id:
        return ok("Request id", "is taken from this machine, where a proxy may be")
    return ok("Request id", "is given by the app or its proxy")


def _is_private(address: str) -> bool:
    try:
        return ip_address(address).is_private
    except ValueError:
        return True  # a socket in the file system has no address
